"""How `fathom serve` shares one machine among those who ask."""

from typing import ClassVar

from pydantic import Field

from fathom.settings.section import Section


class ServeSettings(Section):
    """How `fathom serve` shares one machine among those who ask."""

    _RECORDED: ClassVar[frozenset[str]] = frozenset()

    public_url: str = ""
    """Where the page is found from outside, as `https://ask.example.org`; behind a proxy."""
    allowed_hosts: tuple[str, ...] = ()
    """Names under which the server may be asked, beside `public_url`; those of this machine always
    are."""
    running: int = Field(default=4, ge=1, le=1024)
    """So many questions are worked at at once."""
    waiting: int = Field(default=256, ge=0, le=100_000)
    """So many more may wait; others are told at once to come again later."""
    patience_s: float = Field(default=10.0, gt=0, le=3600)
    """Who would have to wait longer is told so at once."""
    drain_s: float = Field(default=3.5, ge=0, le=3600)
    """Questions that are at work when the server is to end have so long."""
    upload_mb: int = Field(default=512, ge=1, le=1 << 20)
    """Of one upload, all files together."""
    body_mb: int = Field(default=4, ge=1, le=1024)
    """Of any other request."""
    fetch_urls: bool = False
    """Whether documents may be named by addresses of the web; private ones are never asked."""
    tokens_per_day: int | None = Field(default=None, ge=0)
    """Of language models, for each workspace; `None` is no limit."""
    usd_per_day: float | None = Field(default=None, ge=0)
    """Likewise."""
