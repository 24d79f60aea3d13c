"""A table of settings."""

from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

Share = Annotated[float, Field(ge=0, le=1)]
"""A share of something, in [0, 1]."""


class Section(BaseModel):
    """A frozen table of settings that refuses unknown keys, and numbers that are not finite."""

    # Validators are built when a table is first made: an import needs none.
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    _RECORDED: ClassVar[frozenset[str] | None] = None
    """The keys that can change an answer, which traces keep; `None` for all."""

    def recorded(self) -> dict[str, Any]:
        """The values that a trace keeps, as JSON; empty where none can change an answer."""
        values = self.model_dump(mode="json")
        kept = self._RECORDED
        return {key: value for key, value in values.items() if kept is None or key in kept}


def first_fault(error: ValidationError) -> tuple[str, object, str]:
    """The first thing wrong with a table: its dotted key, the value, what was expected of it."""
    first = error.errors()[0]
    message = first["msg"].removeprefix("Value error, ")
    key = ".".join(str(part) for part in first["loc"] if part != "[key]")
    return key, first["input"], message[:1].lower() + message[1:]
