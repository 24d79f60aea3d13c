"""The addresses in pages and sitemaps, of which each page has exactly one form.

Pages are untrusted. So they are read by parsers that are written in Python, and only up to a number
of links.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser
from posixpath import normpath
from urllib.parse import (
    SplitResult,
    quote,
    quote_plus,
    unquote,
    unquote_plus,
    urljoin,
    urlsplit,
)

from typing_extensions import override

MOST_LINKS = 5_000
"""The number of links of a page after which the others are not read."""
_TRACKING = re.compile(r"utm_\w+|fbclid|gclid|msclkid|mc_[ce]id|ref_src")
"""The names of parameters that track visitors and do not change the page."""
_PARAMETER = re.compile(r"([&;]?)([^&;]+)")
_DIRECTIVE = re.compile(r"no(?:index|follow)|none")
# The number of blanks is limited: two unlimited runs side by side would be tried in all the ways to
# divide a long run of blanks between them.
_BLANKS = r"\s{0,99}"
_LOCATION = re.compile(
    rf"<loc>{_BLANKS}(?:<!\[CDATA\[)?{_BLANKS}([^<\s]{{1,2000}}?){_BLANKS}(?:\]\]>)?{_BLANKS}</loc>"
)


def canonicalize_url(url: str, base: str = "") -> str:
    """Return the form of a web address that is the same for all ways to write it.

    Scheme and host are in small letters; default ports, fragments and tracking parameters are left
    out; `.` and `..` in the path are resolved.

    Args:
        url: The address, perhaps relative.
        base: The address that it is relative to.

    Returns:
        The address; empty if it is no address of http or https, or has a user name.
    """
    try:
        parts = urlsplit(urljoin(base, url.strip()))
        host, port = (parts.hostname or "").encode("idna").decode(), parts.port
    except (ValueError, UnicodeError):
        return ""
    if parts.scheme not in {"http", "https"} or not host or parts.username is not None:
        return ""
    default = {"http": 80, "https": 443}[parts.scheme]
    shown = f"[{host}]" if ":" in host else host
    netloc = shown if port in {None, default} else f"{shown}:{port}"
    return SplitResult(
        parts.scheme, netloc, _normalize_path(parts.path), _normalize_query(parts.query), ""
    ).geturl()


def _normalize_path(path: str) -> str:
    """Return a path with resolved dots in which only the necessary characters are quoted."""
    # Unquoted before the dots are resolved, because a server reads `%2e%2e` as `..` too. Bytes that
    # are not UTF-8 stay as they are, because old sites have such names.
    segments = [unquote(part, errors="surrogateescape") for part in path.split("/")]
    plain = "/".join(
        quote(part, safe="!$&'()*+,;=:@~-._", errors="surrogateescape") for part in segments
    )
    normal = normpath(f"/{plain.lstrip('/')}")
    ends_open = plain.endswith(("/", "/.", "/.."))
    return f"{normal}/" if ends_open and normal != "/" else normal


def _normalize_query(query: str) -> str:
    """Return a query without tracking parameters, the others in their order."""
    normal = ""
    # Some servers separate parameters by semicolons, and a parameter may have no equals sign.
    for mark, parameter in _PARAMETER.findall(query):
        name, equals, value = parameter.partition("=")
        if not _TRACKING.fullmatch(unquote_plus(name)):
            fields = f"{_normalize_field(name)}{equals}{_normalize_field(value)}"
            normal += f"{mark if normal else ''}{fields}"
    return normal


def _normalize_field(text: str) -> str:
    """Return a name or value of a parameter in which only the necessary characters are quoted."""
    return quote_plus(unquote_plus(text, errors="surrogateescape"), errors="surrogateescape")


@dataclass(slots=True)
class PageLinks:
    """The addresses that a page names.

    Attributes:
        links: The addresses to which it links, each once, in their order.
        canonical: The address that the page names as its own; empty if it names none.
        directives: What the page tells robots: `noindex`, `nofollow`, or `none` for both.
    """

    links: dict[str, None] = field(default_factory=dict)
    canonical: str = ""
    directives: set[str] = field(default_factory=set)

    @property
    def is_indexed(self) -> bool:
        """False if the page asks robots not to index it."""
        return not self.directives & {"noindex", "none"}

    @property
    def is_followed(self) -> bool:
        """False if the page asks robots not to follow its links."""
        return not self.directives & {"nofollow", "none"}


class _LinkParser(HTMLParser):
    """A parser that collects the addresses of one page in `page`."""

    def __init__(self, url: str) -> None:
        """Create the parser of the page at an address."""
        super().__init__(convert_charrefs=True)
        self.page = PageLinks()
        self._base = url
        self._tried = 0

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in reversed(attrs)}
        match tag:
            case "base" if values.get("href"):
                self._base = canonicalize_url(values["href"], self._base) or self._base
            case "a" | "area" if "nofollow" not in values.get("rel", "").lower().split():
                self._add(values.get("href", ""))
            case "link" if "canonical" in values.get("rel", "").lower().split():
                self.page.canonical = canonicalize_url(values.get("href", ""), self._base)
            case "meta" if values.get("name", "").lower() in {"robots", "fathom"}:
                self.page.directives |= read_directives(values.get("content", ""))

    @override
    def parse_marked_section(self, i: int, report: bool = True) -> int:
        # Browsers skip these declarations; the library raises an error at most of them.
        return self.parse_bogus_comment(i)

    def _add(self, href: str) -> None:
        """Add a link if it is a web address and the page has not too many."""
        self._tried += 1
        url = canonicalize_url(href, self._base) if href and self._tried <= MOST_LINKS else ""
        if url:
            self.page.links[url] = None


def read_links(text: str, url: str) -> PageLinks:
    """Return the addresses that a page names.

    Args:
        text: The HTML of the page, or its beginning.
        url: The address of the page, to which its links are relative.
    """
    parser = _LinkParser(url)
    try:
        parser.feed(text)
    except ValueError:  # malformed declarations
        return parser.page
    return parser.page


def read_directives(text: str) -> set[str]:
    """Return the directives for robots in a value of a `meta` element or a header."""
    return set(_DIRECTIVE.findall(text.lower()))


def iterate_locations(text: str) -> Iterator[str]:
    """Yield the addresses of a sitemap, or of an index of sitemaps."""
    for location in _LOCATION.finditer(text):
        if url := canonicalize_url(unescape(location[1])):
            yield url


def is_sitemap_index(text: str) -> bool:
    """Return whether a sitemap is an index, which names other sitemaps instead of pages."""
    return "<sitemapindex" in text[:2000]
