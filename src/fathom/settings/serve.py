"""The settings of `fathom serve`."""

from typing import ClassVar

from pydantic import Field

from fathom.settings.section import Section, constant


class ServeSettings(Section):
    """The settings of `fathom serve`."""

    PAGE: ClassVar[str] = "docs/api.md"
    # None of these settings changes an answer.
    _RECORDED: ClassVar[frozenset[str]] = frozenset()

    public_url: str = ""
    """The address of the page from outside, such as `https://ask.example.org`, for a server behind
    a proxy."""
    allowed_hosts: tuple[str, ...] = ()
    """The host names under which the server answers, besides that of `public_url` and those of this
    machine."""
    running: int = Field(default=4, ge=1, le=1024)
    """The largest number of questions that are answered at the same time."""
    waiting: int = constant(256, ge=0, le=100_000)
    """The largest number of waiting questions; further ones are refused at once."""
    patience_s: float = constant(10.0, gt=0, le=3600)
    """The longest wait in seconds; a question that would wait longer is refused at once."""
    drain_s: float = constant(3.5, ge=0, le=3600)
    """The seconds that running questions have left when the server shuts down."""
    upload_mb: int = Field(default=512, ge=1, le=1 << 20)
    """The largest size of one upload in MiB, all files together."""
    body_mb: int = constant(4, ge=1, le=1024)
    """The largest size of any other request in MiB."""
    body_s: float = constant(30.0, gt=0, le=3600)
    """The longest time for sending the body of a request, and the longest pause in an upload, in
    seconds."""
    upload_s: float = constant(3600.0, gt=0, le=86_400)
    """The longest time for sending an upload, in seconds."""
    fetch_urls: bool = False
    """If true, documents may be named by web addresses; private addresses are never fetched."""
    tokens_per_day: int | None = Field(default=None, ge=0, le=10**12)
    """The largest number of tokens of language models a day, for each workspace; `None` is no
    limit."""
    usd_per_day: float | None = Field(default=None, ge=0)
    """The largest cost of language models a day in USD, for each workspace; `None` is no limit."""
