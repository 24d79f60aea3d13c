"""The chunks of a trace, each recorded in full only once.

A run searches several times and often finds the same chunks. The first search that finds a chunk
records it in full; later ones record its id only, `{"id": ...}`. Reading a trace restores all
chunks, so no other code needs to know of this.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from fathom.jsonable import Json
from fathom.runs.trace import Event, TraceRecord

_SEARCH = "search"
"""The kind of event that records hits."""
_Record = TypeVar("_Record", bound=TraceRecord)


class RecordedChunks:
    """The chunks in the records of a trace so far, by id."""

    def __init__(self) -> None:
        self._chunks: dict[str, Json] = {}

    def add(self, record: TraceRecord) -> None:
        """Remember the chunks of a record; for each id the first one is kept."""
        for hit in _list_hits(record):
            chunk = hit.get("chunk")
            if isinstance(chunk, dict) and isinstance(chunk.get("id"), str) and len(chunk) > 1:
                self._chunks.setdefault(chunk["id"], chunk)

    def shorten(self, record: _Record) -> _Record:
        """Return a record with ids in place of the chunks that were recorded before."""
        return _replace_chunks(record, self._refer)

    def restore(self, record: _Record) -> _Record:
        """Return a record with full chunks in place of ids, and remember its chunks.

        An id of an unknown chunk stays as it is.
        """
        restored = _replace_chunks(record, self._resolve)
        self.add(restored)
        return restored

    def _refer(self, chunk: Json) -> Json:
        """Return the id of a chunk as an object, if the same chunk was recorded before."""
        is_noted = isinstance(chunk, dict) and self._chunks.get(chunk.get("id", "")) == chunk
        return {"id": chunk["id"]} if is_noted else chunk

    def _resolve(self, chunk: Json) -> Json:
        """Return the full chunk of an object with an id only; other values unchanged."""
        is_reference = isinstance(chunk, dict) and list(chunk) == ["id"]
        return self._chunks.get(chunk["id"], chunk) if is_reference else chunk


def _replace_chunks(record: _Record, convert: Callable[[Json], Json]) -> _Record:
    """Return a record with each chunk of its hits converted; one without hits unchanged."""
    hits = _list_hits(record)
    if not hits or not isinstance(record, Event):
        return record
    converted = [{**hit, "chunk": convert(hit.get("chunk"))} for hit in hits]
    result = {**record.value["value"], "hits": converted}
    return replace(record, value={**record.value, "value": result})


def _list_hits(record: TraceRecord) -> list[dict[str, Json]]:
    """Return the hits of the event of a search; empty for any other record."""
    if not isinstance(record, Event) or record.kind != _SEARCH:
        return []
    value = record.value
    for name in ("value", "hits"):
        value = value.get(name) if isinstance(value, Mapping) else None
    is_list = isinstance(value, list) and all(isinstance(hit, dict) for hit in value)
    return value if is_list else []
