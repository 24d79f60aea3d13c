"""The settings of `fathom serve`."""

from typing import ClassVar

from pydantic import Field

from fathom.settings.section import Section, constant


class ServeSettings(Section):
    """The settings of `fathom serve`, which shares one machine among its users."""

    PAGE: ClassVar[str] = "docs/api.md"
    # A server's load never changes an answer.
    _RECORDED: ClassVar[frozenset[str]] = frozenset()

    public_url: str = ""
    """The address of the page from outside, such as `https://ask.example.org`; for servers behind a
    proxy."""
    allowed_hosts: tuple[str, ...] = ()
    """The host names under which the server answers, beside `public_url` and those of this
    machine."""
    running: int = Field(default=4, ge=1, le=1024)
    """The most questions that are answered at the same time."""
    waiting: int = constant(256, ge=0, le=100_000)
    """The most questions that wait; further ones are told at once to come again later."""
    patience_s: float = constant(10.0, gt=0, le=3600)
    """A question that would have to wait longer is refused at once."""
    drain_s: float = constant(3.5, ge=0, le=3600)
    """The time that running questions get when the server shuts down."""
    upload_mb: int = Field(default=512, ge=1, le=1 << 20)
    """The size of one upload, all files together."""
    body_mb: int = constant(4, ge=1, le=1024)
    """The size of any other request."""
    body_s: float = constant(30.0, gt=0, le=3600)
    """The time for sending the body of a request, and the longest silence during an upload."""
    upload_s: float = constant(3600.0, gt=0, le=86_400)
    """The time for sending an upload."""
    fetch_urls: bool = False
    """If true, documents may be named by web addresses; private addresses are never fetched."""
    tokens_per_day: int | None = Field(default=None, ge=0, le=10**12)
    """The tokens of language models a day, for each workspace; `None` is no limit."""
    usd_per_day: float | None = Field(default=None, ge=0)
    """The money for language models a day, for each workspace; `None` is no limit."""
