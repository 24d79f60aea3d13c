"""A source that is a web site: the pages below one address, read as its robots.txt allows."""

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
"""The name that robots.txt of a site may use."""
AGENT = f"{ROBOT}/{__version__}"
"""The name under which pages are asked for."""
MOST_PAGES = 20_000
"""The addresses of one site that are asked for in a crawl."""
MOST_SITEMAPS = 100
MOST_ROBOTS_CHARS = 512 << 10
MOST_SITEMAP_BYTES = 20 << 20
MOST_LINK_BYTES = 2 << 20
"""The beginning of a page that is searched for links."""
MOST_FAILURES = 5
"""The pages in a row that fail before a crawl gives up."""
DELAY_S = 0.5
"""The time between two requests to a public site that asks for none."""
MOST_DELAY_S = 30.0
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
}
"""The media types that are documents, with the endings of their files; others are not read."""
_PAGE_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_TEXT_TYPES = _PAGE_TYPES | {"text/plain", "text/markdown"}
_CHARSET = re.compile(r"charset\s?=\s?[\"']?([\w.:-]{2,40})", re.IGNORECASE)
_VAGUE_TYPES = frozenset({"", "application/octet-stream", "binary/octet-stream"})
_SKIPPED_KINDS = frozenset({"audio", "font", "image", "video"})
_SKIPPED_TYPES = frozenset(
    {"application/javascript", "application/zip", "text/css", "text/javascript", "text/xml"}
)
"""The media types by whose endings an address is not asked for."""
_UNREAD = "unread"
"""The token of a page that could not be read: so it is not taken for a gone one."""
_MISSING = frozenset({404, 410})
_FORBIDDEN = frozenset({401, 403, 429})


class SiteSource:
    """The pages of a site below one address."""

    has_sidecars = False  # a site does not tell which files lie beside a page

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
            url: The first page; all pages of the source lie in its folder.
            options: The options.
            network: The ways out of this machine.
            sleep: Waits for a number of seconds.

        Raises:
            UsageError: If it is no address, must not be fetched offline, or a package is missing.
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
        # A site of one's own network is asked as fast as it answers.
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
        """The reasons why pages could not be read, by the addresses of their documents."""

    def list_objects(self) -> Iterator[SourceObject]:
        """Crawl the site, and yield its documents.

        A page that has not changed costs a request and no content, if its server gives validators.

        Raises:
            SourceUnavailable: If the site cannot be read, or several pages in a row.
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
        """Write the content of a page, which the listing may just have read."""
        if item.token == _UNREAD:  # another reading might give a page that is not to be kept
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
        """Remove a page that was read and not used."""
        self._body.unlink(missing_ok=True)

    def _read_robots(self) -> None:
        """Read which pages may be read, how fast, and where the sitemaps are.

        Raises:
            SourceUnavailable: If the server does not say: then nothing may be read.
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
            # A sitemap that is kept back for a while would look like one without pages.
            if status == HTTPStatus.TOO_MANY_REQUESTS or status >= 500:
                raise SourceUnavailable(f"{url}: status {status}")
            is_index = is_sitemap_index(text)
            for location in iterate_locations(text) if status == 200 else ():
                if is_index and location not in read:
                    waiting[location] = None
                elif self._is_wanted(location):
                    state.enqueue(location)

    def _read_text(self, url: str) -> tuple[int, str]:
        """Return the status and the text of a file that tells robots something.

        Raises:
            AddressRefusal: If it may not be fetched.
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
        """Return a page as it is now; `None` if there is none, or it could not be read."""
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
        """Refuse to take a site whose first page is away for one without pages."""
        if url == self._start:
            raise SourceUnavailable(f"{url}: {reason}")

    def _note_failure(self, url: str, reason: str, state: CrawlState) -> StoredPage:
        """Return what `_keep_page` does, or give up if several pages in a row have failed."""
        self._check_start(url, reason)
        self._failures += 1
        if self._failures >= MOST_FAILURES:
            raise SourceUnavailable(f"{url}: {reason}; {MOST_FAILURES} pages in a row failed")
        return self._keep_page(url, reason, state)

    def _keep_page(self, url: str, reason: str, state: CrawlState) -> StoredPage:
        """Return a page that stands for one that could not be read.

        Its document stays, its links are those of its last reading, and fetching it tells the
        reason.
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
        """Return a page whose content lies in the file of the body."""
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
            # Only what an address served itself may be quoted with it: a page could claim any.
            return replace(page, ending=ending, links=(named.canonical, *links))
        digest = digest if named.is_indexed else ""
        return replace(page, digest=digest, ending=ending, links=links)

    def _find_ending(self, reply: WebReply) -> str:
        """Return the ending of a file with the content of a reply; empty for no document."""
        ending = _find_url_ending(reply.url)
        if reply.media_type in _VAGUE_TYPES and ending in ENDINGS.values():
            return ending
        return ENDINGS.get(reply.media_type, "")

    def _read_links(self, address: str) -> PageLinks:
        with self._body.open("rb") as stream:
            text = stream.read(MOST_LINK_BYTES).decode("utf-8", "replace")
        return read_links(text, address)

    def _is_inside(self, url: str) -> bool:
        """Return whether an address is a page of the source."""
        if url == self._start:
            return True
        return url.startswith(f"{self._origin}{self._folder}")

    def _is_wanted(self, url: str) -> bool:
        """Return whether an address may be asked for."""
        if not self._is_inside(url):
            return False
        kind, packing = self._types.guess_type(urlsplit(url).path)
        is_other = kind in _SKIPPED_TYPES or (kind or "").partition("/")[0] in _SKIPPED_KINDS
        if is_other or packing:
            return False
        excluded = self._options.file_filter.excludes(PurePosixPath(self._make_name(url)))
        return not excluded and bool(self._robots.can_fetch(url, ROBOT))

    def _make_name(self, url: str) -> str:
        """Return the path of a page below the folder of the source."""
        parts = urlsplit(url)
        path = unquote(parts.path).removeprefix(unquote(self._folder)).lstrip("/")
        name = f"{path}index" if not path or path.endswith("/") else path
        return f"{name}?{parts.query}" if parts.query else name

    def _make_object(self, page: StoredPage) -> SourceObject:
        name = self._make_name(page.address)
        # What is left out by its name stays so, whatever the server says that it is.
        if not name.lower().endswith(page.ending) and not is_hidden(name):
            name += page.ending
        return SourceObject(name=name, address=page.address, token=page.digest[:32])


def _build_conditions(earlier: StoredPage | None) -> dict[str, str]:
    """Return the headers that ask for a page only if it differs from its last reading."""
    if earlier is None:
        return {}
    conditions = {"If-None-Match": earlier.etag, "If-Modified-Since": earlier.modified}
    return {name: validator for name, validator in conditions.items() if validator}


def _find_url_ending(url: str) -> str:
    return PurePosixPath(unquote(urlsplit(url).path)).suffix.lower()


def _find_folder(path: str) -> str:
    """Return the folder of a path: itself, unless it names a file."""
    if path.endswith("/"):
        return path
    parent, _, last = path.rpartition("/")
    return f"{parent}/" if "." in last else f"{path}/"


def _recode(file: Path, reply: WebReply) -> None:
    """Write a text as UTF-8 if the server tells another encoding and nothing speaks against it."""
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
        # The mark outweighs what the page itself says about its encoding.
        recoded = codecs.BOM_UTF8 + text.encode()
    except (LookupError, ValueError):
        return
    # The control characters beyond ASCII are in no text.
    if not any("\x80" <= char < "\xa0" for char in text):
        file.write_bytes(recoded)


def _decode_text(content: bytes) -> str:
    """Return the text of a file, which may be packed; empty if it is damaged."""
    if content.startswith(b"\x1f\x8b"):
        try:
            with gzip.open(BytesIO(content)) as stream:
                content = stream.read(MOST_SITEMAP_BYTES)
        except (OSError, EOFError, zlib.error):
            return ""
    return content.decode("utf-8", "replace")


def _make_authorization(options: SourceOptions) -> dict[str, str]:
    """Return the header that gives user name and password; redirections stay on the same host."""
    if not options.password:
        return {}
    secret = b64encode(f"{options.user}:{options.password}".encode()).decode()
    SECRETS.add(secret)
    return {"Authorization": f"Basic {secret}"}
