"""Sites are read as far as they allow, and nothing inside of a network is reached through them."""

import codecs
import gzip
import hashlib
import http.server
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.inside_server import PUBLIC, TARGETS, InsideServer, resolve_host

from fathom.documents.discover import FileFilter
from fathom.documents.formats.html import parse
from fathom.errors import FathomError, SourceUnavailable
from fathom.ingest.sources.base import ObjectFailure, SourceObject, SourceOptions
from fathom.ingest.sources.fetch import WayOut
from fathom.ingest.sources.site import MOST_FAILURES, SiteSource

pytest.importorskip("protego", reason="the extra sources is not installed")
SITE = "http://public.example"
Reply = tuple[int, dict[str, str], bytes]


def make_page(*links: str, head: str = "", text: str = "Words.") -> Reply:
    anchors = "".join(f'<a href="{link}">x</a>' for link in links)
    body = f"<html><head>{head}</head><body><p>{text}</p>{anchors}</body></html>".encode()
    return 200, {"Content-Type": "text/html; charset=utf-8"}, body


@dataclass
class Site:
    """The pages of a site by their paths with queries, and the requests for them."""

    pages: dict[str, Reply]
    asked: list[str] = field(default_factory=list)
    contents: int = 0
    port: int = 0
    agents: set[str] = field(default_factory=set)
    secrets: set[str] = field(default_factory=set)


@pytest.fixture
def site() -> Iterator[Site]:
    """Return a site that a server on this machine shows."""
    shown = Site({})

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            shown.asked.append(self.path)
            shown.agents.add(self.headers["User-Agent"])
            shown.secrets.add(self.headers.get("Authorization", ""))
            status, headers, body = shown.pages.get(self.path, (404, {}, b""))
            etag = f'"{hashlib.sha256(body).hexdigest()}"'
            if status == 200 and self.headers.get("If-None-Match") == etag:
                status, body = 304, b""
            shown.contents += status == 200
            self.send_response(status)
            for name, value in {"ETag": etag, "Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        shown.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield shown
        server.shutdown()
        thread.join()


@dataclass
class Crawler:
    """A crawler of a site whose public address is that of the server of the test."""

    site: Site
    folder: Path
    waits: list[float] = field(default_factory=list)
    resolve: Callable[[str, int], list[str]] = resolve_host

    def connect(self, address: str, port: int, seconds: float) -> socket.socket:
        target = ("127.0.0.1", self.site.port) if address == PUBLIC else (address, port)
        return socket.create_connection(target, timeout=seconds)

    def open(self, url: str = f"{SITE}/", **values: Any) -> SiteSource:
        fixed: dict[str, Any] = {"name": "a", "folder": self.folder, "most_bytes": 1 << 20}
        options = SourceOptions(**{"file_filter": FileFilter(), **fixed, **values})
        network = WayOut(resolve=self.resolve, connect=self.connect)
        return SiteSource(url, options, network=network, sleep=self.waits.append)

    def list(self, url: str = f"{SITE}/", **values: Any) -> dict[str, SourceObject]:
        return {item.address: item for item in self.open(url, **values).list_objects()}


@pytest.fixture
def crawler(site: Site, tmp_path: Path) -> Crawler:
    return Crawler(site, tmp_path / "kept")


def test_three_hundred_pages_are_listed_and_cost_no_content_if_nothing_has_changed(
    site: Site, crawler: Crawler
) -> None:
    names = [f"/p{number}" for number in range(300)]
    for number, name in enumerate(names):
        children = [f"p{child}" for child in (2 * number + 1, 2 * number + 2) if child < 300]
        site.pages[name] = make_page(*children, "/", "#top", text=f"Page {number}.")
    site.pages["/"] = make_page("p0")
    first = crawler.list()
    assert set(first) == {f"{SITE}/", *(f"{SITE}{name}" for name in names)}
    assert len(site.asked) == len(set(site.asked))
    site.contents = 0
    assert crawler.list() == first
    assert site.contents == 0
    site.pages["/p7"] = make_page("p15", "p16", "new", text="Other words.")
    site.pages["/new"] = make_page()
    del site.pages["/p299"]
    changed = crawler.list()
    assert site.contents == 2
    assert changed.keys() ^ first.keys() == {f"{SITE}/new", f"{SITE}/p299"}
    assert [url for url in first.keys() & changed.keys() if first[url] != changed[url]] == [
        f"{SITE}/p7"
    ]


def test_only_pages_below_the_address_are_read(site: Site, crawler: Crawler) -> None:
    inside = ("a", "/docs/b", "/docs/../docs/c", f"{SITE}/docs/d", f"{SITE}:80/docs/e#f")
    outside = ("/", "../x", "/docsx", "//other.example/docs/", "https://public.example/docs/s")
    site.pages["/docs/"] = make_page(*inside, *outside, "/docs/%2e%2e/secret", "/docs/x.png")
    for name in "abcde":
        site.pages[f"/docs/{name}"] = make_page()
    listed = crawler.list(f"{SITE}/docs/")
    assert set(listed) == {f"{SITE}/docs/", *(f"{SITE}/docs/{name}" for name in "abcde")}
    asked = {path for path in site.asked if not path.startswith("/docs/")}
    assert asked == {"/robots.txt", "/sitemap.xml"}


def test_robots_txt_says_what_is_read_and_how_fast(site: Site, crawler: Crawler) -> None:
    rules = (
        b"User-agent: other\nDisallow: /\n\nUser-agent: fathom\nDisallow: /private\n"
        b"Disallow: /*.pdf$\nCrawl-delay: 7\n"
    )
    site.pages["/robots.txt"] = (200, {"Content-Type": "text/plain"}, rules)
    site.pages["/"] = make_page("a", "private/b", "c.pdf", "c.pdfx")
    for name in ("/a", "/private/b", "/c.pdf", "/c.pdfx"):
        site.pages[name] = make_page()
    assert set(crawler.list()) == {f"{SITE}/", f"{SITE}/a", f"{SITE}/c.pdfx"}
    assert not {"/private/b", "/c.pdf"} & set(site.asked)
    assert set(crawler.waits[1:]) == {7.0}
    assert all(agent.startswith("fathom/") for agent in site.agents)


@pytest.mark.parametrize("status", [401, 403, 429, 500, 503])
def test_a_site_that_does_not_say_what_may_be_read_is_not_read(
    site: Site, crawler: Crawler, status: int
) -> None:
    site.pages["/robots.txt"] = (status, {}, b"")
    site.pages["/"] = make_page()
    with pytest.raises(SourceUnavailable, match="robots"):
        crawler.list()
    assert site.asked == ["/robots.txt"]


@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
def test_a_site_that_forbids_its_first_page_is_not_read(
    site: Site, crawler: Crawler, mark: bytes
) -> None:
    site.pages["/robots.txt"] = (200, {}, mark + b"User-agent: *\nDisallow: /")
    with pytest.raises(SourceUnavailable, match="forbids"):
        crawler.list()


def test_pages_come_from_sitemaps_too(site: Site, crawler: Crawler) -> None:
    site.pages["/robots.txt"] = (200, {}, b"Sitemap: http://public.example/maps.xml.gz\n")
    index = "<sitemapindex><sitemap><loc>http://public.example/one.xml</loc></sitemap>"
    one = "<urlset><url><loc>http://public.example/a</loc></url><loc>http://other.example/</loc>"
    site.pages["/maps.xml.gz"] = (200, {}, gzip.compress(index.encode()))
    site.pages["/one.xml"] = (200, {}, one.encode())
    site.pages["/"], site.pages["/a"] = make_page(), make_page()
    assert set(crawler.list()) == {f"{SITE}/", f"{SITE}/a"}
    site.pages["/one.xml"] = (429, {}, b"")
    with pytest.raises(SourceUnavailable, match=r"one\.xml: status 429"):
        crawler.list()


def test_pages_that_do_not_want_to_be_kept_are_left_out(site: Site, crawler: Crawler) -> None:
    site.pages["/"] = make_page("a", "b", "c", head='<meta name="robots" content="noindex">')
    site.pages["/a"] = make_page("d", head='<meta name="robots" content="nofollow">')
    status, headers, body = make_page()
    site.pages["/b"] = (status, {**headers, "X-Robots-Tag": "noindex"}, body)
    site.pages["/c"] = make_page(head=f'<link rel="canonical" href="{SITE}/a">')
    site.pages["/d"] = make_page()
    assert set(crawler.list()) == {f"{SITE}/a"}


def test_a_page_with_several_addresses_is_one_document(site: Site, crawler: Crawler) -> None:
    canonical = '<link rel="canonical" href="/list">'
    site.pages["/"] = make_page("list?utm_source=x", "list?sort=up", "old", "x")
    site.pages["/list"] = site.pages["/list?sort=up"] = make_page(head=canonical)
    site.pages["/old"] = (301, {"Location": "/list"}, b"")
    away = '<link rel="canonical" href="http://other.example/">'
    site.pages["/x"] = make_page(head=away)
    assert set(crawler.list()) == {f"{SITE}/", f"{SITE}/list", f"{SITE}/x"}


def test_a_page_cannot_speak_for_another_one(site: Site, crawler: Crawler, tmp_path: Path) -> None:
    site.pages["/"] = make_page("evil")
    claim = '<link rel="canonical" href="/official">'
    site.pages["/evil"] = make_page(head=claim, text="Lies.")
    site.pages["/official"] = make_page(text="Truth.")
    source = crawler.open()
    for item in source.list_objects():
        source.fetch(item, tmp_path / item.name)
    assert {file.name for file in tmp_path.glob("*.html")} == {"index.html", "official.html"}
    assert b"Truth." in (tmp_path / "official.html").read_bytes()


def test_only_documents_are_read(site: Site, crawler: Crawler, tmp_path: Path) -> None:
    site.pages["/"] = make_page("a.pdf", "b.docx", "c", "d.zip", "e.js")
    site.pages["/a.pdf"] = (200, {"Content-Type": "application/pdf"}, b"%PDF-1.4")
    site.pages["/b.docx"] = (200, {"Content-Type": "application/octet-stream"}, b"PK")
    site.pages["/c"] = (200, {"Content-Type": "video/mp4"}, b"x" * 1000)
    listed = crawler.list()
    assert {item.name for item in listed.values()} == {"index.html", "a.pdf", "b.docx"}
    assert "/d.zip" not in site.asked
    assert "/e.js" not in site.asked
    crawler.open().fetch(listed[f"{SITE}/a.pdf"], tmp_path / "a.pdf")
    assert (tmp_path / "a.pdf").read_bytes() == b"%PDF-1.4"


def test_a_page_whose_content_is_refused_keeps_its_document_and_tells_why(
    site: Site, crawler: Crawler, tmp_path: Path
) -> None:
    site.pages["/"] = make_page(*(f"{number}.pdf" for number in range(MOST_FAILURES)), "packed")
    large = (200, {"Content-Type": "application/pdf"}, b"x" * 2_000_000)
    site.pages |= {f"/{number}.pdf": large for number in range(MOST_FAILURES)}
    site.pages["/packed"] = make_page("more")
    site.pages["/more"] = make_page()
    first = crawler.list()
    status, headers, body = site.pages["/packed"]
    site.pages["/packed"] = (status, {**headers, "Content-Encoding": "gzip"}, gzip.compress(body))
    source = crawler.open()
    second = {item.address: item for item in source.list_objects()}
    assert second.keys() == first.keys() >= {f"{SITE}/1.pdf", f"{SITE}/more"}
    assert second[f"{SITE}/1.pdf"].name == "1.pdf"
    for name, reason in {"1.pdf": "holds more than 1 MB", "packed": "is compressed"}.items():
        with pytest.raises(ObjectFailure, match=reason):
            source.fetch(second[f"{SITE}/{name}"], tmp_path / "page")


@pytest.mark.parametrize("is_listed_anew", [False, True])
@pytest.mark.parametrize(
    ("charset", "text"),
    [("windows-1255", "שלום"), ("ISO-8859-2", "Příliš žluťoučký"), ('"shift_jis"', "日本語")],
)
def test_the_encoding_that_a_server_tells_counts(
    site: Site, crawler: Crawler, tmp_path: Path, charset: str, text: str, *, is_listed_anew: bool
) -> None:
    body = f"<p>{text}</p>".encode(charset.strip('"'))
    site.pages["/"] = (200, {"Content-Type": f"text/html; Charset={charset}"}, body)
    source = crawler.open()
    (item,) = source.list_objects()
    source = crawler.open() if is_listed_anew else source
    source.fetch(item, tmp_path / "page")
    assert parse((tmp_path / "page").read_bytes()).text == text


@pytest.mark.parametrize("charset", ["utf-8", "iso-8859-1", "klingon", "hex"])
def test_an_encoding_that_a_page_contradicts_does_not_count(
    site: Site, crawler: Crawler, tmp_path: Path, charset: str
) -> None:
    body = "<meta charset=utf-8><p>café</p>".encode()
    site.pages["/"] = (200, {"Content-Type": f"text/html; charset={charset}"}, body)
    crawler.open().fetch(crawler.list()[f"{SITE}/"], tmp_path / "page")
    assert (tmp_path / "page").read_bytes() == body


def test_a_listed_page_can_be_fetched_at_any_time(
    site: Site, crawler: Crawler, tmp_path: Path
) -> None:
    site.pages["/"], site.pages["/a"] = make_page("a"), make_page(text="Page a.")
    source = crawler.open()
    items = source.list_objects()
    first, second = next(items), next(items)
    source.fetch(first, tmp_path / "first")
    source.fetch(second, tmp_path / "second")
    assert (tmp_path / "first").read_bytes() == site.pages["/"][2]
    assert (tmp_path / "second").read_bytes() == site.pages["/a"][2]
    assert site.asked.count("/a") == 1


def test_a_page_that_fails_keeps_its_document_and_its_links(site: Site, crawler: Crawler) -> None:
    site.pages["/"], site.pages["/a"], site.pages["/b"] = (
        make_page("a"),
        make_page("b"),
        make_page(),
    )
    first = crawler.list()
    site.pages["/a"] = (500, {}, b"")
    second = crawler.list()
    assert second.keys() == first.keys()
    assert second[f"{SITE}/a"].token != first[f"{SITE}/a"].token
    site.pages["/a"] = make_page("b")
    assert crawler.list() == first


def test_a_page_that_breaks_off_keeps_its_document(
    site: Site, crawler: Crawler, tmp_path: Path
) -> None:
    site.pages |= {"/": make_page("a"), "/a": make_page("b"), "/b": make_page()}
    kept = crawler.list()
    status, headers, body = make_page(text="New words.")
    site.pages["/a"] = (status, {**headers, "Content-Length": "5000"}, body)
    source = crawler.open()
    listed = {item.address: item for item in source.list_objects()}
    assert listed.keys() == kept.keys()
    with pytest.raises(ObjectFailure, match="gives no page: IncompleteRead"):
        source.fetch(listed[f"{SITE}/a"], tmp_path / "page")


def test_a_page_that_fails_and_is_not_to_be_kept_gives_no_document(
    site: Site, crawler: Crawler, tmp_path: Path
) -> None:
    hidden = make_page("b", head='<meta name="robots" content="noindex">')
    site.pages |= {"/": make_page("a", "new"), "/a": hidden, "/b": make_page()}
    kept = crawler.list().keys()
    site.pages |= {"/a": (500, {}, b""), "/new": (500, {}, b"")}
    source = crawler.open()
    listed = {item.address: item for item in source.list_objects()}
    assert listed.keys() == kept | {f"{SITE}/new"} == {f"{SITE}/", f"{SITE}/b", f"{SITE}/new"}
    site.pages["/new"] = hidden
    with pytest.raises(ObjectFailure, match="gives no page: status 500"):
        source.fetch(listed[f"{SITE}/new"], tmp_path / "page")


def test_a_site_that_fails_is_given_up(site: Site, crawler: Crawler) -> None:
    site.pages["/"] = make_page(*(f"p{number}" for number in range(30)))
    for number in range(30):
        site.pages[f"/p{number}"] = (503, {}, b"")
    with pytest.raises(SourceUnavailable, match="in a row"):
        crawler.list()
    assert len(site.asked) == 3 + MOST_FAILURES
    site.pages["/"] = (404, {}, b"")
    with pytest.raises(SourceUnavailable, match="404"):
        crawler.list()


def test_a_password_is_sent_to_the_site_and_to_no_other_host(
    site: Site, crawler: Crawler, inside: InsideServer
) -> None:
    site.pages["/"] = make_page("a", "b")
    site.pages["/a"] = make_page()
    site.pages["/b"] = (302, {"Location": f"http://127.0.0.1:{inside.port}/"}, b"")
    assert len(crawler.list(user="ana", password="canary-5d1f")) == 2
    assert site.secrets == {"Basic YW5hOmNhbmFyeS01ZDFm"}
    assert inside.asked == []


def test_a_private_site_is_read_only_if_it_was_allowed(site: Site, crawler: Crawler) -> None:
    site.pages["/"] = make_page()
    url = f"http://127.0.0.1:{site.port}/"
    with pytest.raises(SourceUnavailable, match="--allow-private"):
        crawler.list(url)
    assert site.asked == []
    assert set(crawler.list(url, allow_private=True)) == {url}
    assert set(crawler.waits[1:]) == {0.0}


def test_no_link_redirection_or_sitemap_of_a_site_reaches_inside(
    site: Site,
    crawler: Crawler,
    inside: InsideServer,
    count_probes: Callable[[int], None],
) -> None:
    port, asked = inside.port, inside.asked
    targets = [target.format(port=port) for target in TARGETS]
    locations = "".join(f"<loc>{target}</loc>" for target in targets)
    plain = [target for target in targets if target.isascii() and target.isprintable()]
    robots = "".join(f"Sitemap: {target}\n" for target in targets)
    site.pages["/robots.txt"] = (200, {}, robots.encode())
    site.pages["/sitemap.xml"] = (200, {}, f"<urlset>{locations}".encode())
    pages = [f"t{number}" for number in range(len(plain))]
    site.pages["/"] = make_page(*targets, *pages, *(f"c{page}" for page in pages), "based")
    for page, target in zip(pages, plain, strict=True):
        count_probes(3)
        site.pages[f"/{page}"] = (302, {"Location": target}, b"")
        site.pages[f"/c{page}"] = make_page(head=f'<link rel="canonical" href="{target}">')
    site.pages["/based"] = make_page("a", head=f'<base href="http://127.0.0.1:{port}/">')
    listed = crawler.list()
    assert asked == []
    assert all(address.startswith(f"{SITE}/") for address in listed)
    site.pages["/robots.txt"] = (302, {"Location": f"http://127.0.0.1:{port}/robots.txt"}, b"")
    with pytest.raises(SourceUnavailable):
        crawler.list()
    assert asked == []


def test_hostile_addresses_are_no_sites(
    crawler: Crawler, inside: InsideServer, count_probes: Callable[[int], None]
) -> None:
    port, asked = inside.port, inside.asked
    for target in TARGETS:
        count_probes(1)
        with pytest.raises(FathomError):
            crawler.list(target.format(port=port))
    assert asked == []


def test_a_host_that_moves_inside_between_two_pages_is_not_followed(
    site: Site, crawler: Crawler, inside: InsideServer
) -> None:
    site.pages["/"] = make_page("a", "b")
    lookups = []

    def resolve(host: str, port: int) -> list[str]:
        lookups.append(host)
        return [PUBLIC] if len(lookups) < 4 else ["127.0.0.1"]

    crawler.resolve = resolve
    assert set(crawler.list()) == {f"{SITE}/"}
    assert len(lookups) == 5
    assert inside.asked == []
