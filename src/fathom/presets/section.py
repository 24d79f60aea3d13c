"""A table of settings."""

from pydantic import BaseModel, ConfigDict, ValidationError


class Section(BaseModel):
    """A frozen table of settings that refuses unknown keys, and numbers that are not finite."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def first_fault(error: ValidationError) -> tuple[str, object, str]:
    """The first thing wrong with a table: its dotted key, the value, what was expected of it."""
    first = error.errors()[0]
    message = first["msg"]
    key = ".".join(str(part) for part in first["loc"] if part != "[key]")
    return key, first["input"], message[:1].lower() + message[1:]
