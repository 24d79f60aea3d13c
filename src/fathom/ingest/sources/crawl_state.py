"""The pages of a site as they were read last, and the addresses that are still to be read."""

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
        address: The address of the document, which may be another one than that of the page.
        etag: The validator that the server gave.
        modified: The time of change that the server gave, as it wrote it.
        digest: sha256 of the content; empty if the page is no document.
        ending: The ending of a file with such content.
        links: The addresses to which it leads, inside of the site.
    """

    address: str
    etag: str = ""
    modified: str = ""
    digest: str = ""
    ending: str = ""
    links: tuple[str, ...] = ()


class CrawlState:
    """The state of one crawl of a site, and of the one before it.

    The addresses to read lie in a temporary file, because a site may have more than memory holds.
    """

    def __init__(self, folder: Path) -> None:
        """Begin a crawl; pages of earlier crawls are known."""
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
        """The number of addresses that were taken from the queue."""
        return self._taken

    def enqueue(self, url: str) -> None:
        """Add an address to those to read, unless it was added before."""
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
        """Return a page as it was read last, or `None`."""
        row = self._pages.execute("SELECT data FROM pages WHERE url = ?", (url,)).fetchone()
        if row is None:
            return None
        data = json.loads(row[0])
        return StoredPage(**{**data, "links": tuple(data["links"])})

    def put(self, url: str, page: StoredPage) -> None:
        """Store a page as it was read now."""
        fields = {name: getattr(page, name) for name in StoredPage.__slots__}
        self._pages.execute(
            "INSERT OR REPLACE INTO pages(url, data, crawl) VALUES (?, ?, ?)",
            (url, json.dumps(fields), self._crawl),
        )

    def drop_others(self) -> None:
        """Drop the pages of earlier crawls that this one, which is complete, has not met."""
        self._pages.execute("DELETE FROM pages WHERE crawl <> ?", (self._crawl,))

    def close(self) -> None:
        """Close the files."""
        self._pages.close()
        self._queue.close()
