"""A trace as lines of JSON, chained by hashes.

The first line has the inputs of the run, the last line its answer. Between them are the steps and
events in the order in which they ended. Each line has the hash of the line before it, and the
trace's id is the start of the hash of the last line. So anyone who knows the id can check that
nothing was changed, added or removed. A chunk that several searches found is written in full by the
first of them only (`fathom.runs.recorded_chunks`).
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from fathom.errors import RunError
from fathom.jsonable import Json, dump_canonical, hash_text
from fathom.runs.recorded_chunks import RecordedChunks
from fathom.runs.trace import Event, Origin, Step, Trace, TraceRecord
from fathom.usage import Budget, Usage

VERSION = 2
"""The version of the format of traces that are written."""
_OLDEST_VERSION = 1
"""The oldest version that is read, in which every search has its chunks in full."""
ID_DIGITS = 32
"""The number of hexadecimal digits of a trace's id, as in OpenTelemetry."""


class TamperedTraceError(RunError):
    """A trace that was changed, cut or damaged after it was sealed."""


class Chain:
    """The lines of a trace under construction, each with the hash of the line before.

    Attributes:
        lines: The lines so far.
        size: Their length in bytes, line ends included.
        head: The hash of the last line; empty before the first.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.size = 0
        self.head = ""

    def format_line(self, kind: str, content: Mapping[str, Json]) -> str:
        """Return the next line without adding it.

        Args:
            kind: The kind of record: `run`, `step`, `event` or `end`.
            content: The fields of the record.
        """
        return dump_canonical({**content, "record": kind, "previous": self.head})

    def add(self, line: str) -> None:
        """Add a line that `format_line` made."""
        self.lines.append(line)
        self.size += len(line.encode()) + 1
        self.head = hash_text(line)


def open_chain(origin: Origin, started_at: str) -> Chain:
    """Return a chain with its first line.

    Args:
        origin: The inputs of the run.
        started_at: The time of the start, in ISO 8601 and UTC.
    """
    chain = Chain()
    inputs = {
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
    chain.add(chain.format_line("run", inputs))
    return chain


def format_record(record: TraceRecord) -> tuple[str, dict[str, Json]]:
    """Return the kind of a record's line (`step` or `event`) and its fields that are not empty."""
    content = {
        record_field.name: getattr(record, record_field.name) for record_field in fields(record)
    }
    if isinstance(record, Step):
        content["usage"] = {k: v for k, v in asdict(record.usage).items() if v != 0}
    # An event's request and value are written even if they are empty, because a replay needs them.
    filled = {
        name: value
        for name, value in content.items()
        if name in {"request", "value"} or value not in ("", {}, 0)
    }
    return ("step" if isinstance(record, Step) else "event"), filled


def seal_chain(chain: Chain, *, answer: Json, seconds: float, dropped: int) -> Trace:
    """Add the last line to a chain and return the trace.

    Args:
        chain: The chain.
        answer: The answer as plain JSON.
        seconds: The duration of the run.
        dropped: The number of records that were left out for lack of room.
    """
    chain.add(chain.format_line("end", {"answer": answer, "seconds": seconds, "dropped": dropped}))
    return decode_trace("\n".join(chain.lines).encode())


def decode_trace(data: bytes, trace_id: str | None = None) -> Trace:
    """Read a trace and verify it.

    Args:
        data: The lines, in UTF-8.
        trace_id: The id that the trace must have. Without it, the check misses a trace that was
            rewritten from some record up to its end.

    Raises:
        TamperedTraceError: If a record is not readable, does not match the hash in the next record,
            or has the wrong form; the message names the first such record if it is known.
    """
    try:
        lines = data.decode().split("\n")
    except UnicodeDecodeError:
        raise TamperedTraceError(f"trace {trace_id or ''}: a record is not text".strip()) from None
    head = ""
    contents: list[dict[str, Any]] = []
    for number, line in enumerate(lines):
        content = _parse_object(line, number)
        # Removed, because the remaining keys are the fields of the record.
        if content.pop("previous", None) != head:
            raise TamperedTraceError(
                f"trace {trace_id or ''}: record {number - 1} was changed".strip()
            )
        contents.append(content)
        head = hash_text(line)
    actual = head[:ID_DIGITS]
    if trace_id is not None and trace_id != actual:
        raise TamperedTraceError(f"trace {trace_id}: its last record was changed or is missing")
    return _build_trace(actual, contents, data)


def _parse_object(line: str, number: int) -> dict[str, Any]:
    """Return the JSON object of a line.

    Raises:
        TamperedTraceError: If the line is no JSON object.
    """
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise TamperedTraceError(f"trace: record {number} is not readable")
    return content


def _build_trace(trace_id: str, contents: list[dict[str, Any]], data: bytes) -> Trace:
    """Build a trace from the objects of its lines.

    Raises:
        TamperedTraceError: If an object has the wrong fields.
    """
    try:
        first, *middle, last = contents
        _check_frame(first, last)
        started_at = first.pop("started_at")
        budget = Budget(**first.pop("budget"))
        chunks = RecordedChunks()
        return Trace(
            id=trace_id,
            origin=Origin(**first, budget=budget),
            started_at=started_at,
            records=tuple(chunks.restore(_build_record(content)) for content in middle),
            data=data,
            **last,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise TamperedTraceError(
            f"trace {trace_id}: a record has the wrong form: {error}"
        ) from error


def _check_frame(first: dict[str, Any], last: dict[str, Any]) -> None:
    """Check the first and the last object, and remove the fields that no record has.

    Raises:
        ValueError: If one is missing, the version is unknown, or the settings do not match.
    """
    if (first.pop("record"), last.pop("record")) != ("run", "end"):
        raise ValueError("the first or the last record is missing")
    if first.pop("version") not in range(_OLDEST_VERSION, VERSION + 1):
        raise ValueError(
            "it has another version of the format; this Fathom reads versions "
            f"{_OLDEST_VERSION} to {VERSION}"
        )
    # Other places name the settings by this hash, so it must be the hash of the settings.
    if hash_text(dump_canonical(first["settings"])) != first.pop("settings_hash"):
        raise ValueError("the settings do not match their hash")


def _build_record(content: dict[str, Any]) -> TraceRecord:
    """Build a step or an event from the object of its line."""
    if content.pop("record") == "event":
        return Event(**content)
    usage = Usage(**content.pop("usage", {}))
    return Step(**content, usage=usage)
