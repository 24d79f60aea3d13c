"""The audit log of a server: the requests, their callers, and the documents that were shown.

Lines never change, and are removed after a number of days. They name documents and places in them,
and contain no text of a document.
"""

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, TypeVar

from fathom.errors import UsageError
from fathom.index.database import Database
from fathom.index.engines import Index
from fathom.jsonable import Json
from fathom.redaction import SECRETS
from fathom.serving.http.tables import AUDIT_TABLES
from fathom.serving.shapes import DOCUMENT_URI, replace_invisible

T = TypeVar("T")
EVERY_WORKSPACE = "*"
"""The value that means all workspaces of a server; no workspace has this name."""
BATCH = 500
"""The number of lines that are read at once."""
CLEANING_S = 3600.0
"""The seconds between two removals of old lines."""
_COLUMNS = "requested, key, name, groups, workspace, route, asked, status, shown"


class ShownPlace(NamedTuple):
    """A document that was shown, or its part from `start` to `end` in characters."""

    document: str
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """The answers and documents that a reply shows.

    Attributes:
        answers: The ids of the answers' traces.
        places: The documents, or parts of them.
    """

    answers: tuple[str, ...] = ()
    places: tuple[ShownPlace, ...] = ()

    def __add__(self, other: "Shown") -> "Shown":
        """Return the union, in order and without duplicates."""
        return Shown(
            tuple(dict.fromkeys((*self.answers, *other.answers))),
            tuple(dict.fromkeys((*self.places, *other.places))),
        )

    def __sub__(self, other: "Shown") -> "Shown":
        """Return the answers and places that `other` does not have."""
        answers, places = frozenset(other.answers), frozenset(other.places)
        return Shown(
            tuple(answer for answer in self.answers if answer not in answers),
            tuple(place for place in self.places if place not in places),
        )

    def __bool__(self) -> bool:
        return bool(self.answers or self.places)

    def dump(self) -> str:
        """Return the value as JSON in ASCII, which every database can store."""
        return json.dumps(astuple(self))

    @classmethod
    def load(cls, text: str) -> "Shown":
        """Return the value that `dump` encoded."""
        answers, places = json.loads(text)
        return cls(tuple(answers), tuple(ShownPlace(*place) for place in places))


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLine:
    """A request with its outcome.

    Attributes:
        requested: The time of the request, as ISO 8601 in UTC.
        key: The id of the caller's key; empty for the user of this machine.
        name: The name of the key's holder; empty for the user of this machine.
        groups: The groups of the key.
        workspace: The workspace of the key; empty for the default one.
        route: The method and the pattern of the path.
        asked: The question, the query, or the ids in the request.
        status: The status of the reply.
        shown: The answers and the documents in the reply.
    """

    requested: str
    key: str = ""
    name: str = ""
    groups: tuple[str, ...] = ()
    workspace: str = ""
    route: str = ""
    asked: Json = None
    status: int = 0
    shown: Shown = Shown()

    def to_json(self) -> dict[str, Any]:
        """Return the line as JSON without invisible characters."""
        line = {
            "requested": self.requested,
            "key": self.key,
            "name": self.name,
            "groups": list(self.groups),
            "workspace": self.workspace,
            "route": self.route,
            "asked": self.asked,
            "status": self.status,
            "answers": list(self.shown.answers),
            "shown": [place._asdict() for place in self.shown.places],
        }
        return {name: replace_invisible(value) for name, value in line.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditQuery:
    """A selection of lines.

    Attributes:
        since: The earliest time, as ISO 8601 in UTC; empty for all.
        key: The id of a key, or the name of its holder; empty for all.
        workspace: The workspace of the keys; by default all.
    """

    since: str = ""
    key: str = ""
    workspace: str = EVERY_WORKSPACE


class AuditLog:
    """The audit log of one server, stored beside its keys; safe from threads and processes."""

    def __init__(self, database: Database, days: float | None = None) -> None:
        """Create the log. Nothing is opened before it is needed.

        Args:
            database: The database with the tables of the log.
            days: The days for which lines are stored; `None` for a log that is only read.
        """
        self._database = database
        self._days = days
        self._next_cleaning = 0.0
        # One thread of its own, so that lines keep their order and do not wait behind uploads.
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="fathom-audit")

    async def run(self, work: Callable[[], T]) -> T:
        """Run work in the thread of the log."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def add(self, line: AuditLine) -> int:
        """Store a line, and return its number.

        Raises:
            RunError: If it cannot be stored.
        """
        self._remove_old_lines()
        values = (
            *(line.requested, line.key, line.name, " ".join(line.groups), line.workspace),
            # Plain ASCII: callers may send half characters and NUL, which databases refuse.
            *(line.route, SECRETS.redact(json.dumps(line.asked))),
            *(line.status, line.shown.dump()),
        )
        [(number,)] = self._database.execute(
            f"INSERT INTO audit({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING no",  # noqa: S608 - constant
            values,
        )
        return int(number)

    def add_shown(self, line: int, shown: Shown) -> None:
        """Store what a stream showed after its line was stored.

        Raises:
            RunError: If it cannot be stored.
        """
        self._database.execute(
            "INSERT INTO audit_shown(line, shown) VALUES (?, ?)", (line, shown.dump())
        )

    def list_lines(self, query: AuditQuery = AuditQuery()) -> Iterator[AuditLine]:
        """Yield the stored lines, the oldest request first."""
        requested, number = query.since, 0
        while self._database.is_there():
            # Numbers follow the order of replies; a slow reply comes after those of later requests.
            rows = self._database.execute(
                f"SELECT no, {_COLUMNS} FROM audit "  # noqa: S608 - constant
                "WHERE requested >= ? AND (requested > ? OR no > ?) "
                "AND (? = '' OR key = ? OR name = ?) AND (? = ? OR workspace = ?) "
                f"ORDER BY requested, no LIMIT {BATCH}",
                (
                    *(requested, requested, number, *[query.key] * 3),
                    *(query.workspace, EVERY_WORKSPACE, query.workspace),
                ),
            )
            if not rows:
                return
            yield from self._join_shown(rows)
            number, requested = rows[-1][:2]

    def _join_shown(self, rows: list[tuple[Any, ...]]) -> Iterator[AuditLine]:
        """Yield the lines of rows, including what their streams showed later."""
        lines = {number: _parse_line(row) for number, *row in rows}
        marks = ", ".join("?" * len(lines))
        for number, text in self._database.execute(
            f"SELECT line, shown FROM audit_shown WHERE line IN ({marks}) ORDER BY no",  # noqa: S608 - constant
            tuple(lines),
        ):
            lines[number] = replace(lines[number], shown=lines[number].shown + Shown.load(text))
        yield from lines.values()

    def _remove_old_lines(self) -> None:
        if self._days is None or time.monotonic() < self._next_cleaning:
            return
        first = format_instant(datetime.now(UTC) - timedelta(days=self._days))
        self._database.execute(
            "DELETE FROM audit_shown WHERE line IN (SELECT no FROM audit WHERE requested < ?)",
            (first,),
        )
        self._database.execute("DELETE FROM audit WHERE requested < ?", (first,))
        self._next_cleaning = time.monotonic() + CLEANING_S

    def close(self) -> None:
        """Close the database and the thread."""
        self._threads.shutdown()
        self._database.close()


def create_audit_log(index: Index, days: float | None = None) -> AuditLog:
    """Create the audit log beside an index, where its keys are stored too."""
    return AuditLog(index.open_database(AUDIT_TABLES.file, AUDIT_TABLES.tables), days)


def format_instant(instant: datetime) -> str:
    """Return a time in the format of the log, in which earlier times sort first."""
    return instant.astimezone(UTC).isoformat(timespec="microseconds")


def parse_since(text: str) -> str:
    """Parse the earliest time of a selection of lines; a time without a zone is in UTC.

    Raises:
        UsageError: If the text is neither a date nor a time.
    """
    if not text:
        return ""
    try:
        instant = datetime.fromisoformat(text)
        return format_instant(instant if instant.tzinfo else instant.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        raise UsageError(
            f"--since {text[:40]!r}: give a date or a time, such as 2026-11-27 or 2026-11-27T08:30"
        ) from None


def collect_shown(value: Json) -> Shown:
    """Collect the answers and the places of documents in a JSON reply of this server."""
    objects = [*_iterate_objects(value)]
    answers = (item["trace_id"] for item in objects if isinstance(item.get("trace_id"), str))
    places = (place for item in objects if (place := _find_place(item)))
    return Shown(tuple(dict.fromkeys(answers)), tuple(dict.fromkeys(places)))


def _iterate_objects(value: Json) -> Iterator[dict[str, Any]]:
    """Yield all objects in JSON, without recursion, because JSON may be deep."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        children: Iterable[Json] = item if isinstance(item, list) else ()
        if isinstance(item, dict):
            yield item
            children = item.values()
        waiting += reversed([*children])


_DOCUMENT_FIELDS = ("document", "document_id", "file_id")
"""The fields by which hits, citations, chunks and files name a document."""


def _find_place(item: dict[str, Any]) -> ShownPlace | None:
    """Return the place in a document that an object describes; `None` for other objects."""
    names = [item.get(field) for field in _DOCUMENT_FIELDS]
    if "path" in item:  # an entry in a list of documents
        names.append(item.get("id"))
    if str(item.get("uri", "")).startswith(DOCUMENT_URI):
        names.append(item["uri"].removeprefix(DOCUMENT_URI).removesuffix("/outline"))
    document = next((name for name in names if isinstance(name, str)), None)
    if document is None:
        return None
    span = item["span"] if isinstance(item.get("span"), dict) else item
    start, end = (
        number if isinstance(number := span.get(field), int) else None for field in ("start", "end")
    )
    return ShownPlace(document, start, end)


def _parse_line(row: list[Any]) -> AuditLine:
    requested, key, name, groups, workspace, route, asked, status, shown = row
    return AuditLine(
        requested=requested,
        key=key,
        name=name,
        groups=tuple(groups.split()),
        workspace=workspace,
        route=route,
        asked=json.loads(asked),
        status=status,
        shown=Shown.load(shown),
    )
