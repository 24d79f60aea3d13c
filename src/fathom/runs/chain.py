"""A trace as lines of JSON, chained by hashes.

The first line says what the run was given, the last one what it answered, between them stand
steps and events in the order in which they ended. Each line carries the hash of the line before
it, and the trace's id is the start of the hash of the last line: whoever knows the id can tell
that nothing was changed, added or taken away.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from fathom.errors import RunError
from fathom.jsonable import Json, canonical, digest
from fathom.runs.trace import Event, Origin, Step, Trace, TraceRecord
from fathom.usage import Budget, Usage

VERSION = 1
ID_DIGITS = 32
"""As many as a trace id has in OpenTelemetry."""


class TraceTampered(RunError):
    """A trace was changed, cut or damaged after it was sealed."""


class Chain:
    """Lines under construction, each bound to the one before."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.size = 0
        self.head = ""

    def line(self, kind: str, content: Mapping[str, Json]) -> str:
        """What the next line would be; nothing is added yet."""
        return canonical({**content, "record": kind, "previous": self.head})

    def add(self, line: str) -> None:
        """Add a line made by `line`."""
        self.lines.append(line)
        self.size += len(line.encode()) + 1
        self.head = digest(line)


def open_chain(origin: Origin, started_at: str) -> Chain:
    """A chain with its first line."""
    chain = Chain()
    given = {
        "version": VERSION,
        "started_at": started_at,
        "question": origin.question,
        "strategy": origin.strategy,
        "settings": origin.settings,
        "settings_hash": origin.settings_hash,
        "index_revision": origin.index_revision,
        "seed": origin.seed,
        "budget": asdict(origin.budget),
        "arguments": origin.arguments,
    }
    chain.add(chain.line("run", given))
    return chain


def record_json(record: TraceRecord) -> tuple[str, dict[str, Json]]:
    """The kind and the content of a record's line; fields that say nothing are left out."""
    content = {part.name: getattr(record, part.name) for part in fields(record)}
    if isinstance(record, Step):
        content["usage"] = {k: v for k, v in asdict(record.usage).items() if v != 0}
    kept = {
        name: value
        for name, value in content.items()
        if name in {"request", "value"} or value not in ("", {}, 0)
    }
    return ("step" if isinstance(record, Step) else "event"), kept


def seal(chain: Chain, *, answer: Json, seconds: float, dropped: int) -> Trace:
    """Close a chain with its last line."""
    chain.add(chain.line("end", {"answer": answer, "seconds": seconds, "dropped": dropped}))
    return decode("\n".join(chain.lines).encode())


def decode(data: bytes, trace_id: str | None = None) -> Trace:
    """Read a trace and verify it.

    Args:
        data: The lines.
        trace_id: The id it must have; without it a trace that was rewritten from the change on
            to its end is not noticed.

    Raises:
        TraceTampered: Naming the first record that does not fit.
    """
    try:
        lines = data.decode().split("\n")
    except UnicodeDecodeError:
        raise TraceTampered(f"trace {trace_id or ''}: a record is not text".strip()) from None
    head = ""
    contents: list[dict[str, Any]] = []
    for number, line in enumerate(lines):
        content = _object(line, number)
        if content.pop("previous", None) != head:
            raise TraceTampered(f"trace {trace_id or ''}: record {number - 1} was changed".strip())
        contents.append(content)
        head = digest(line)
    actual = head[:ID_DIGITS]
    if trace_id is not None and trace_id != actual:
        raise TraceTampered(f"trace {trace_id}: its last record was changed or is missing")
    return _trace(actual, contents, data)


def _object(line: str, number: int) -> dict[str, Any]:
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise TraceTampered(f"trace: record {number} is not readable")
    return content


def _trace(trace_id: str, contents: list[dict[str, Any]], data: bytes) -> Trace:
    try:
        first, *middle, last = contents
        _check_frame(first, last)
        started_at = first.pop("started_at")
        budget = Budget(**first.pop("budget"))
        return Trace(
            id=trace_id,
            origin=Origin(**first, budget=budget),
            started_at=started_at,
            records=tuple(_record(content) for content in middle),
            data=data,
            **last,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise TraceTampered(f"trace {trace_id}: a record is not as it must be: {error}") from error


def _check_frame(first: dict[str, Any], last: dict[str, Any]) -> None:
    if (first.pop("record"), last.pop("record")) != ("run", "end"):
        raise ValueError("the first or the last record is missing")
    if first.pop("version") != VERSION:
        raise ValueError(f"another version of Fathom made it, this one reads {VERSION}")
    if digest(canonical(first["settings"])) != first.pop("settings_hash"):
        raise ValueError("the settings do not have their hash")


def _record(content: dict[str, Any]) -> TraceRecord:
    if content.pop("record") == "event":
        return Event(**content)
    usage = Usage(**content.pop("usage", {}))
    return Step(**content, usage=usage)
