"""The base class of the tables of settings."""

from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

Share = Annotated[float, Field(ge=0, le=1)]
"""A share, in [0, 1]."""


class Section(BaseModel):
    """A frozen table of settings that refuses unknown keys, and numbers that are not finite."""

    # Validators are built when a table is first made, because an import needs none.
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    _RECORDED: ClassVar[frozenset[str] | None] = None
    """The keys that can change an answer, which traces record; `None` for all."""

    def to_record(self) -> dict[str, Any]:
        """Return the values that a trace records, as JSON; empty if none can change an answer."""
        values = self.model_dump(mode="json")
        keys = self._RECORDED
        return {key: value for key, value in values.items() if keys is None or key in keys}


def find_first_fault(error: ValidationError) -> tuple[str, object, str]:
    """Return the first fault of a table: its dotted key, the value, and the expected value."""
    first = error.errors()[0]
    # pydantic puts this prefix before messages of our own validators.
    message = first["msg"].removeprefix("Value error, ")
    key = ".".join(str(part) for part in first["loc"] if part != "[key]")
    return key, first["input"], message[:1].lower() + message[1:]
