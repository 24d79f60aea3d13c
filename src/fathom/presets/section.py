"""A table of settings."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A frozen table of settings that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")
