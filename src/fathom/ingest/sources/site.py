"""A source that is a web site: the pages below one address that its robots.txt allows to read."""

import codecs
import gzip
import hashlib
import re
import time
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import replace
from http import HTTPStatus
from importlib.util import find_spec
from io import BytesIO
from mimetypes import MimeTypes
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from fathom import __version__
from fathom.errors import SourceUnavailable, UsageError
from fathom.ingest.sources.base import (
    ObjectFailure,
    SourceObject,
    SourceOptions,
    is_hidden,
)
from fathom.ingest.sources.crawl_state import CrawlState, StoredPage
from fathom.ingest.sources.fetch import (
    AddressRefusal,
    ContentRefusal,
    FetchFailure,
    GuardedFetcher,
    WayOut,
    WebReply,
    get_port,
)
from fathom.ingest.sources.links import (
    PageLinks,
    canonicalize_url,
    is_sitemap_index,
    iterate_locations,
    read_directives,
    read_links,
)
from fathom.redaction import SECRETS

ROBOT = "fathom"
"""The name of this crawler in the robots.txt of sites."""
AGENT = f"{ROBOT}/{__version__}"
"""The value of the header `User-Agent`."""
MOST_PAGES = 20_000
"""The largest number of addresses of a site; a crawl that finds more ends with an error."""
MOST_SITEMAPS = 100
"""The number of sitemaps that are read; others are ignored."""
MOST_ROBOTS_CHARS = 512 << 10
"""The number of characters of robots.txt that are read."""
MOST_SITEMAP_BYTES = 20 << 20
"""The largest size of a sitemap in bytes, and of its text if it is compressed."""
MOST_LINK_BYTES = 2 << 20
"""The size in bytes of the beginning of a page that is searched for links."""
MOST_FAILURES = 5
"""The number of failed pages in a row after which a crawl ends with an error."""
DELAY_S = 0.5
"""The time in seconds before each request to a public site whose robots.txt names none."""
MOST_DELAY_S = 30.0
"""The longest time in seconds before a request, even if robots.txt names a longer one."""
ENDINGS = {
    "text/html": ".html",
    "application/xhtml+xml": ".xhtml",
    "application/pdf": ".pdf",
    "text/plain": ".txt",
    "text/markdown": ".md",
    "application/rtf": ".rtf",
    "application/epub+zip": ".epub",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/vnd.oasis.opendocument.text": ".odt",
    "application/vnd.oasis.opendocument.spreadsheet": ".ods",
    "application/vnd.oasis.opendocument.presentation": ".odp",
}
"""The endings of files by their media types; content of other types is not read."""
_PAGE_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_TEXT_TYPES = _PAGE_TYPES | {"text/plain", "text/markdown"}
_CHARSET = re.compile(r"charset\s?=\s?[\"']?([\w.:-]{2,40})", re.IGNORECASE)
_VAGUE_TYPES = frozenset({"", "application/octet-stream", "binary/octet-stream"})
_SKIPPED_KINDS = frozenset({"audio", "font", "image", "video"})
_SKIPPED_TYPES = frozenset(
    {"application/javascript", "application/zip", "text/css", "text/javascript", "text/xml"}
)
"""Addresses with an ending of these media types are not asked for."""
_UNREAD = "unread"
"""The token of a page that could not be read; such a page is listed, so that it counts as there."""
_MISSING = frozenset({404, 410})
_FORBIDDEN = frozenset({401, 403, 429})


class SiteSource:
    """The pages of a site below one address."""

    has_sidecars = False  # a site does not tell which files are beside a page

    def __init__(
        self,
        url: str,
        options: SourceOptions,
        *,
        network: WayOut | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Create the source; nothing is fetched yet.

        Args:
            url: The address of the first page; all pages of the source are in its folder.
            options: The options.
            network: The functions that look up hosts and connect; by default those of the system.
            sleep: The function that waits for a number of seconds.

        Raises:
            UsageError: If the URL is no web address, Fathom is offline, or a package is missing.
        """
        self._start = canonicalize_url(url)
        if not self._start:
            raise UsageError(f"{url!r} is no address of a site; write https://HOST/PATH/")
        if options.offline:
            raise UsageError(f"offline: {url} would need a connection")
        if find_spec("protego") is None:
            raise UsageError(f"{url} needs more: pip install 'fathom-qa[sources]'")
        parts = urlsplit(self._start)
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._folder = _find_folder(parts.path)
        self._options, self._sleep = options, sleep
        self._body = options.folder / "page"
        self._fetcher = GuardedFetcher(
            most_bytes=options.most_bytes,
            ports=frozenset({get_port(parts)}),
            network=network,
            private_host=str(parts.hostname) if options.allow_private else "",
        )
        # A site in a private network is asked as fast as it answers.
        self._delay = 0.0 if options.allow_private else DELAY_S
        self._text_fetcher = GuardedFetcher(
            most_bytes=MOST_SITEMAP_BYTES,
            ports=frozenset({get_port(parts)}),
            network=network,
            private_host=str(parts.hostname) if options.allow_private else "",
        )
        self._headers = {"User-Agent": AGENT, **_make_authorization(options)}
        self._robots: Any = None
        self._sitemaps: list[str] = []
        self._types = MimeTypes()
        self._failures = 0
        self._item: SourceObject | None = None
        self._reasons: dict[str, str] = {}
        """The reasons why pages of this listing could not be read, by their addresses."""

    def list_objects(self) -> Iterator[SourceObject]:
        """Crawl the site, and yield its documents.

        If the server sends validators (`ETag`, `Last-Modified`), a page that has not changed is
        asked for but not sent again.

        Raises:
            SourceUnavailable: If robots.txt, a sitemap or the first page cannot be read, if
                `MOST_FAILURES` pages in a row fail, or if there are more than `MOST_PAGES`
                addresses.
        """
        self._read_robots()
        with closing(CrawlState(self._options.folder)) as state:
            state.enqueue(self._start)
            self._enqueue_sitemaps(state)
            while (url := state.take()) is not None:
                if state.taken > MOST_PAGES:
                    raise SourceUnavailable(
                        f"{self._start}: more than {MOST_PAGES} addresses; name a folder of the "
                        "site, or leave some out with --exclude"
                    )
                page = self._read_page(url, state)
                for link in page.links if page else ():
                    if self._is_wanted(link):
                        state.enqueue(link)
                if page and page.digest:
                    self._item = self._make_object(page)
                    yield self._item
                self._body.unlink(missing_ok=True)
            state.drop_others()

    def fetch(self, item: SourceObject, file: Path) -> None:
        """Write the content of a page, which is not fetched again if it was the last listed one.

        Raises:
            ObjectFailure: If the page cannot be read, or could not when it was listed.
        """
        if item.token == _UNREAD:  # only a crawl checks whether it may be indexed
            reason = self._reasons.get(item.address, "could not be read when it was listed")
            raise ObjectFailure(f"gives no page: {reason}")
        if item == self._item and self._body.exists():
            self._body.replace(file)
            return
        try:
            reply = self._ask(item.address, file)
        except AddressRefusal as refusal:
            raise ObjectFailure(f"is not fetched: {refusal}") from None
        except FetchFailure as failure:
            raise ObjectFailure(f"gives no page: {failure.reason}") from None
        if reply.status != 200:
            raise ObjectFailure(f"gives no page: status {reply.status}")
        if canonicalize_url(reply.url) != item.address:
            raise ObjectFailure("is redirected to another page since it was listed")
        if not self._find_ending(reply):
            raise ObjectFailure(f"is no document any more but {reply.media_type}")

    def close(self) -> None:
        """Remove the file of a page that was read and not fetched."""
        self._body.unlink(missing_ok=True)

    def _read_robots(self) -> None:
        """Read robots.txt: which pages may be read, how fast, and where the sitemaps are.

        Without a robots.txt, all pages may be read.

        Raises:
            SourceUnavailable: If robots.txt cannot be read, or forbids the first page.
        """
        from protego import Protego

        place = f"{self._origin}/robots.txt"
        try:
            status, text = self._read_text(place)
        except AddressRefusal as refusal:
            hint = "; a site of one's own network needs --allow-private"
            raise SourceUnavailable(f"{place}: is not fetched: {refusal}{hint}") from None
        if status in _FORBIDDEN or status >= 500:
            raise SourceUnavailable(f"{place}: status {status}; so no page may be read")
        self._robots = Protego.parse(text[:MOST_ROBOTS_CHARS] if status == 200 else "")
        delay = float(self._robots.crawl_delay(ROBOT) or 0.0)
        self._delay = min(MOST_DELAY_S, max(self._delay, delay))
        named = [canonicalize_url(url, self._origin) for url in self._robots.sitemaps]
        self._sitemaps = [*named, f"{self._origin}/sitemap.xml"]
        if not self._is_wanted(self._start):
            raise SourceUnavailable(f"{self._start}: robots.txt of the site forbids reading it")

    def _enqueue_sitemaps(self, state: CrawlState) -> None:
        """Add the pages in the sitemaps to the addresses to read.

        Raises:
            SourceUnavailable: If a sitemap cannot be read now.
        """
        waiting = dict.fromkeys(self._sitemaps)
        read: set[str] = set()
        while waiting and len(read) < MOST_SITEMAPS:
            url = next(iter(waiting))
            del waiting[url]
            read.add(url)
            if not url.startswith(f"{self._origin}/"):
                continue
            try:
                status, text = self._read_text(url)
            except AddressRefusal as refusal:
                raise SourceUnavailable(f"{url}: is not fetched: {refusal}") from None
            # Ignoring such a sitemap would make its pages look removed.
            if status == HTTPStatus.TOO_MANY_REQUESTS or status >= 500:
                raise SourceUnavailable(f"{url}: status {status}")
            is_index = is_sitemap_index(text)
            for location in iterate_locations(text) if status == 200 else ():
                if is_index and location not in read:
                    waiting[location] = None
                elif self._is_wanted(location):
                    state.enqueue(location)

    def _read_text(self, url: str) -> tuple[int, str]:
        """Return the status and the text of robots.txt or a sitemap.

        Raises:
            AddressRefusal: If the address may not be fetched, or its content is too large.
            SourceUnavailable: If the site gives no reply.
        """
        content = BytesIO()
        self._sleep(self._delay)
        try:
            reply = self._text_fetcher.fetch(
                url,
                content,
                headers=self._headers,
                is_allowed=lambda target: target.startswith(f"{self._origin}/"),
            )
        except FetchFailure as failure:
            raise SourceUnavailable(f"{url}: {failure.reason}") from None
        return reply.status, _decode_text(content.getvalue())

    def _read_page(self, url: str, state: CrawlState) -> StoredPage | None:
        """Read a page and store it in the state.

        Returns:
            The page; a stand-in for it if it could not be read (`_keep_page`); `None` if it is gone
            or may not be fetched.

        Raises:
            SourceUnavailable: If it is the first page and gone, or too many pages failed.
        """
        earlier = state.get(url)
        try:
            reply = self._ask(url, self._body, _build_conditions(earlier))
        except ContentRefusal as refusal:
            self._check_start(url, str(refusal))
            return self._keep_page(url, str(refusal), state)
        except AddressRefusal as refusal:
            self._check_start(url, str(refusal))
            return None
        except FetchFailure as failure:
            return self._note_failure(url, failure.reason, state)
        if reply.status not in {200, 304, *_MISSING}:
            return self._note_failure(url, f"status {reply.status}", state)
        self._failures = 0
        if reply.status == 200:
            page = self._parse_page(reply)
        elif reply.status == 304 and earlier is not None:
            page = earlier
        else:
            self._check_start(url, f"status {reply.status}")
            return None
        state.put(url, page)
        return page

    def _ask(self, url: str, file: Path, headers: dict[str, str] | None = None) -> WebReply:
        """Ask for an address after the delay; with status 200, the file then has the content.

        Raises:
            AddressRefusal: If the address may not be fetched, or its content not be read.
            FetchFailure: If it gives no reply.
        """
        self._sleep(self._delay)
        with file.open("wb") as target:
            reply = self._fetcher.fetch(
                url,
                target,
                headers={**self._headers, **(headers or {})},
                is_allowed=lambda target_url: self._is_wanted(canonicalize_url(target_url)),
                is_wanted=lambda head: bool(self._find_ending(head)),
            )
        if reply.status != 200:
            file.unlink()
        elif reply.media_type in _TEXT_TYPES:
            _recode(file, reply)
        return reply

    def _check_start(self, url: str, reason: str) -> None:
        """Check that it is not the first page that cannot be read.

        Raises:
            SourceUnavailable: If it is: otherwise all pages of the site would look removed.
        """
        if url == self._start:
            raise SourceUnavailable(f"{url}: {reason}")

    def _note_failure(self, url: str, reason: str, state: CrawlState) -> StoredPage:
        """Count a failed page, and return its stand-in (`_keep_page`).

        Raises:
            SourceUnavailable: If it is the first page, or `MOST_FAILURES` in a row have failed.
        """
        self._check_start(url, reason)
        self._failures += 1
        if self._failures >= MOST_FAILURES:
            raise SourceUnavailable(f"{url}: {reason}; {MOST_FAILURES} pages in a row failed")
        return self._keep_page(url, reason, state)

    def _keep_page(self, url: str, reason: str, state: CrawlState) -> StoredPage:
        """Return a stand-in for a page that could not be read.

        The page is listed, so that its document is not removed. Its links are those of the last
        time it was read, and `fetch` fails with the reason.
        """
        self._body.unlink(missing_ok=True)
        page = state.get(url)
        if page is None:
            ending = _find_url_ending(url)
            ending = ending if ending in ENDINGS.values() else ".html"
            page = StoredPage(address=url, ending=ending, digest=_UNREAD)
        else:
            state.put(url, page)
        self._reasons[page.address] = reason
        return replace(page, digest=page.digest and _UNREAD)

    def _parse_page(self, reply: WebReply) -> StoredPage:
        """Return the page of a reply with status 200, whose content is in the file `_body`.

        Its digest is empty if it is no document: its type is not read, it asks not to be indexed,
        or it names another page of the source as its canonical one.
        """
        ending = self._find_ending(reply)
        address = canonicalize_url(reply.url)
        page = StoredPage(
            address=address,
            etag=reply.headers.get("etag", ""),
            modified=reply.headers.get("last-modified", ""),
        )
        if not ending:
            return page
        with self._body.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        named = PageLinks(directives=read_directives(reply.headers.get("x-robots-tag", "")))
        if reply.media_type in _PAGE_TYPES:
            page_links = self._read_links(address)
            page_links.directives |= named.directives
            named = page_links
        links = tuple(filter(self._is_inside, named.links)) if named.is_followed else ()
        if named.canonical not in {"", address} and self._is_wanted(named.canonical):
            # The canonical page is read itself. Its address is not taken over for this content,
            # because a page can claim any address.
            return replace(page, ending=ending, links=(named.canonical, *links))
        digest = digest if named.is_indexed else ""
        return replace(page, digest=digest, ending=ending, links=links)

    def _find_ending(self, reply: WebReply) -> str:
        """Return the ending of a file with the content of a reply; empty if it is no document."""
        ending = _find_url_ending(reply.url)
        if reply.media_type in _VAGUE_TYPES and ending in ENDINGS.values():
            return ending
        return ENDINGS.get(reply.media_type, "")

    def _read_links(self, address: str) -> PageLinks:
        """Return the links in the beginning of the page in the file `_body`."""
        with self._body.open("rb") as stream:
            text = stream.read(MOST_LINK_BYTES).decode("utf-8", "replace")
        return read_links(text, address)

    def _is_inside(self, url: str) -> bool:
        """Return whether an address is the first page or in its folder."""
        if url == self._start:
            return True
        return url.startswith(f"{self._origin}{self._folder}")

    def _is_wanted(self, url: str) -> bool:
        """Return whether an address is to be read: inside, of a readable kind, and allowed."""
        if not self._is_inside(url):
            return False
        kind, packing = self._types.guess_type(urlsplit(url).path)
        is_other = kind in _SKIPPED_TYPES or (kind or "").partition("/")[0] in _SKIPPED_KINDS
        if is_other or packing:
            return False
        excluded = self._options.file_filter.excludes(PurePosixPath(self._make_name(url)))
        return not excluded and bool(self._robots.can_fetch(url, ROBOT))

    def _make_name(self, url: str) -> str:
        """Return the name of a page: its path below the folder of the source, with its query."""
        parts = urlsplit(url)
        path = unquote(parts.path).removeprefix(unquote(self._folder)).lstrip("/")
        name = f"{path}index" if not path or path.endswith("/") else path
        return f"{name}?{parts.query}" if parts.query else name

    def _make_object(self, page: StoredPage) -> SourceObject:
        """Return a page as an object, whose name has the ending of its content."""
        name = self._make_name(page.address)
        # A hidden name gets no ending, because with one it might not be left out any more.
        if not name.lower().endswith(page.ending) and not is_hidden(name):
            name += page.ending
        return SourceObject(name=name, address=page.address, token=page.digest[:32])


def _build_conditions(earlier: StoredPage | None) -> dict[str, str]:
    """Return the headers that ask for the content of a page only if it has changed."""
    if earlier is None:
        return {}
    conditions = {"If-None-Match": earlier.etag, "If-Modified-Since": earlier.modified}
    return {name: validator for name, validator in conditions.items() if validator}


def _find_url_ending(url: str) -> str:
    """Return the ending of the path of an address, in small letters with its dot."""
    return PurePosixPath(unquote(urlsplit(url).path)).suffix.lower()


def _find_folder(path: str) -> str:
    """Return the folder of a path, with a slash at its end; a last part with a dot is a file."""
    if path.endswith("/"):
        return path
    parent, _, last = path.rpartition("/")
    return f"{parent}/" if "." in last else f"{path}/"


def _recode(file: Path, reply: WebReply) -> None:
    """Rewrite a text file as UTF-8 if the reply names its encoding and the content agrees.

    The file stays as it is if it is valid UTF-8 or has a mark of UTF-16, if the encoding is
    unknown, or if the content does not fit to it.
    """
    match = _CHARSET.search(reply.headers.get("content-type", ""))
    content = file.read_bytes() if match else b""
    if match is None or content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return
    with suppress(UnicodeDecodeError):
        content.decode("utf-8")
        return
    try:
        name = codecs.lookup(match[1]).name
        text = content.decode("cp1252" if name == "iso8859-1" else name)  # as browsers read it
        # With this mark (BOM), parsers ignore the encoding that the page names itself.
        recoded = codecs.BOM_UTF8 + text.encode()
    except (LookupError, ValueError):
        return
    # No text has control characters beyond ASCII; they show that the encoding is wrong.
    if not any("\x80" <= char < "\xa0" for char in text):
        file.write_bytes(recoded)


def _decode_text(content: bytes) -> str:
    """Return the text of a file, which may be compressed by gzip; empty if it is damaged."""
    if content.startswith(b"\x1f\x8b"):
        try:
            with gzip.open(BytesIO(content)) as stream:
                content = stream.read(MOST_SITEMAP_BYTES)
        except (OSError, EOFError, zlib.error):
            return ""
    return content.decode("utf-8-sig", "replace")


def _make_authorization(options: SourceOptions) -> dict[str, str]:
    """Return the header with user name and password; empty if there is no password.

    It may be sent with each request, because redirections stay on the same site.
    """
    if not options.password:
        return {}
    secret = b64encode(f"{options.user}:{options.password}".encode()).decode()
    SECRETS.add(secret)
    return {"Authorization": f"Basic {secret}"}
