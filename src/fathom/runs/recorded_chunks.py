"""The chunks of a trace, each recorded whole once.

A run searches several times and finds the same chunks again. The first search that finds a chunk
records it whole; later ones name it by its id, `{"id": ...}`. A trace that is read has all chunks
whole again, so nobody else has to know of this.
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
    """The chunks that the records of a trace hold so far, by id."""

    def __init__(self) -> None:
        self._chunks: dict[str, Json] = {}

    def add(self, record: TraceRecord) -> None:
        """Note the chunks of a record; the first one of an id counts."""
        for hit in _list_hits(record):
            chunk = hit.get("chunk")
            if isinstance(chunk, dict) and isinstance(chunk.get("id"), str) and len(chunk) > 1:
                self._chunks.setdefault(chunk["id"], chunk)

    def shorten(self, record: _Record) -> _Record:
        """Return a record with the ids of the chunks that were noted before."""
        return _replace_chunks(record, self._refer)

    def restore(self, record: _Record) -> _Record:
        """Return a record with whole chunks in place of their ids, and note its chunks."""
        restored = _replace_chunks(record, self._resolve)
        self.add(restored)
        return restored

    def _refer(self, chunk: Json) -> Json:
        is_noted = isinstance(chunk, dict) and self._chunks.get(chunk.get("id", "")) == chunk
        return {"id": chunk["id"]} if is_noted else chunk

    def _resolve(self, chunk: Json) -> Json:
        is_reference = isinstance(chunk, dict) and list(chunk) == ["id"]
        return self._chunks.get(chunk["id"], chunk) if is_reference else chunk


def _replace_chunks(record: _Record, convert: Callable[[Json], Json]) -> _Record:
    """Return a record with other chunks in its hits."""
    hits = _list_hits(record)
    if not hits or not isinstance(record, Event):
        return record
    converted = [{**hit, "chunk": convert(hit.get("chunk"))} for hit in hits]
    result = {**record.value["value"], "hits": converted}
    return replace(record, value={**record.value, "value": result})


def _list_hits(record: TraceRecord) -> list[dict[str, Json]]:
    """Return the hits of the record of a search; none of any other record or form."""
    if not isinstance(record, Event) or record.kind != _SEARCH:
        return []
    value = record.value
    for name in ("value", "hits"):
        value = value.get(name) if isinstance(value, Mapping) else None
    is_list = isinstance(value, list) and all(isinstance(hit, dict) for hit in value)
    return value if is_list else []
