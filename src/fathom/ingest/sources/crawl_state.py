"""The state of the crawl of a site: the pages that were read, and the addresses to read next."""

import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from fathom.index.embedded.database import create_private_file

FILE = "pages.db"
_PAGES = (
    "CREATE TABLE IF NOT EXISTS pages(url TEXT PRIMARY KEY, data TEXT NOT NULL, "
    "crawl INTEGER NOT NULL) WITHOUT ROWID"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPage:
    """A page as it was read last.

    Attributes:
        address: The address of the document. It is not that of the page if that redirects.
        etag: The header `ETag` of the reply; empty if there was none.
        modified: The header `Last-Modified` of the reply, as the server wrote it; empty if there
            was none.
        digest: The sha256 of the content in hex; empty if the page is no document.
        ending: The ending of a file with such content, with its dot; empty if the page has no
            known format.
        links: The addresses of pages of the same source to which the page links.
    """

    address: str
    etag: str = ""
    modified: str = ""
    digest: str = ""
    ending: str = ""
    links: tuple[str, ...] = ()


class CrawlState:
    """The state of one crawl of a site, with the pages that earlier crawls have read.

    The pages are stored in `pages.db` for the next crawl. The addresses to read are in a temporary
    file, because they may be too many for memory; they are lost when the crawl ends.
    """

    def __init__(self, folder: Path) -> None:
        """Begin a crawl; the folder, which may be missing, has the pages of earlier ones."""
        folder.mkdir(parents=True, exist_ok=True)
        create_private_file(folder / FILE)
        self._pages = sqlite3.connect(folder / FILE, isolation_level=None, timeout=10)
        self._pages.execute("PRAGMA synchronous = NORMAL")
        self._pages.execute("PRAGMA journal_mode = WAL")
        self._pages.execute(_PAGES)
        (last,) = self._pages.execute("SELECT coalesce(max(crawl), 0) FROM pages").fetchone()
        self._crawl = last + 1
        self._queue = sqlite3.connect("", isolation_level=None)
        self._queue.execute("PRAGMA journal_mode = OFF")
        self._queue.execute("CREATE TABLE queue(no INTEGER PRIMARY KEY, url TEXT UNIQUE)")
        self._taken = 0

    @property
    def taken(self) -> int:
        """The number of addresses that `take` has returned."""
        return self._taken

    def enqueue(self, url: str) -> None:
        """Add an address to read, unless it was added in this crawl before."""
        self._queue.execute("INSERT OR IGNORE INTO queue(url) VALUES (?)", (url,))

    def take(self) -> str | None:
        """Return the next address to read; `None` if there is none."""
        row = self._queue.execute(
            "SELECT no, url FROM queue WHERE no > ? ORDER BY no LIMIT 1", (self._taken,)
        ).fetchone()
        if row is None:
            return None
        self._taken, url = row
        return str(url)

    def get(self, url: str) -> StoredPage | None:
        """Return the page of an address as it was read last; `None` if it never was."""
        row = self._pages.execute("SELECT data FROM pages WHERE url = ?", (url,)).fetchone()
        if row is None:
            return None
        data = json.loads(row[0])
        return StoredPage(**{**data, "links": tuple(data["links"])})

    def put(self, url: str, page: StoredPage) -> None:
        """Store the page of an address as this crawl has read it."""
        fields = {name: getattr(page, name) for name in StoredPage.__slots__}
        self._pages.execute(
            "INSERT OR REPLACE INTO pages(url, data, crawl) VALUES (?, ?, ?)",
            (url, json.dumps(fields), self._crawl),
        )

    def drop_others(self) -> None:
        """Drop the pages that only earlier crawls have read; call it when this one is complete."""
        self._pages.execute("DELETE FROM pages WHERE crawl <> ?", (self._crawl,))

    def close(self) -> None:
        """Close the files; the addresses to read are lost."""
        self._pages.close()
        self._queue.close()
