import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.factories import engine_at, index_fees

from fathom.jsonable import Json, dump_canonical
from fathom.runs.chain import Chain, decode_trace, format_record
from fathom.runs.outline import to_json
from fathom.runs.recorded_chunks import RecordedChunks
from fathom.runs.recorder import Recorder
from fathom.runs.replay import is_same_answer
from fathom.runs.trace import Event, Origin, Trace, TraceLimits

CHUNK = {"id": "a#0", "text": "A mooring permit costs 40 crowns a year."}
OTHER = {"id": "a#1", "text": "The harbour is open all year."}


def wrap_hits(*chunks: Json) -> Json:
    hits = [{"rank": rank, "chunk": chunk} for rank, chunk in enumerate(chunks, start=1)]
    return {"value": {"hits": hits, "fault": ""}, "usage": {}}


def record_searches(*values: Json, limits: TraceLimits | None = None) -> Trace:
    recorder = Recorder(Origin(question="q", strategy="s"), limits=limits)
    for value in values:
        recorder.observe("search", "q", [value].pop)
    return recorder.seal(None)


def write_in_old_form(trace: Trace) -> Trace:
    """Write a trace as version 1 of the format did: each search holds its chunks whole."""
    first, *_, last = (json.loads(line) for line in trace.data.decode().split("\n"))
    contents = [
        ("run", first | {"version": 1}),
        *(format_record(record) for record in trace.records),
        ("end", last),
    ]
    chain = Chain()
    for kind, content in contents:
        chain.add(chain.format_line(kind, content))
    return decode_trace("\n".join(chain.lines).encode())


def test_each_chunk_is_recorded_whole_once_and_read_whole_everywhere() -> None:
    values = [wrap_hits(CHUNK), wrap_hits(OTHER, CHUNK), wrap_hits(CHUNK, OTHER)]

    trace = record_searches(*values)

    assert [event.value for event in trace.events] == values
    for chunk in (CHUNK, OTHER):
        assert trace.data.decode().count(chunk["text"]) == 1
    assert decode_trace(trace.data, trace.id) == trace


def test_another_text_under_the_same_id_is_recorded_whole() -> None:
    changed = {**CHUNK, "text": "It costs 41 crowns."}
    values = [wrap_hits(CHUNK), wrap_hits(changed), wrap_hits(CHUNK)]

    trace = record_searches(*values)

    assert [event.value for event in trace.events] == values
    assert trace.data.decode().count(changed["text"]) == 1


def test_a_chunk_of_a_search_that_found_no_room_is_recorded_whole_later() -> None:
    large = {**CHUNK, "text": "crowns " * 1_000}
    values = [wrap_hits(large, OTHER), wrap_hits(OTHER), wrap_hits(OTHER)]

    trace = record_searches(*values, limits=TraceLimits(trace_bytes=3_000))

    assert trace.events[0].omitted
    assert [event.value for event in trace.events[1:]] == values[1:]
    assert trace.data.decode().count(OTHER["text"]) == 1


@pytest.mark.parametrize(
    "value",
    [
        None,
        "text",
        {"refused": []},
        {"value": {"hits": "none"}},
        {"value": {"hits": [1]}},
        wrap_hits({"id": "a#0"}, {"id": 3, "text": ""}, "a#0", None),
    ],
    ids=range(6),
)
def test_other_values_are_recorded_as_they_are(value: Json) -> None:
    assert [event.value for event in record_searches(value, value).events] == [value, value]


def test_only_searches_are_recorded_in_a_short_form() -> None:
    chunks = RecordedChunks()
    chunks.add(Event(kind="search", key="", value=wrap_hits(CHUNK)))
    reply = Event(kind="llm", key="", value=wrap_hits(CHUNK))

    assert chunks.shorten(reply) == reply
    assert chunks.shorten(replace(reply, kind="search")).value == wrap_hits({"id": "a#0"})


def test_a_trace_of_the_old_form_is_opened_exported_and_replayed(tmp_path: Path) -> None:
    with engine_at(index_fees(tmp_path)) as engine:
        answer = engine.ask(
            "What does a mooring permit cost, and when is the harbour open?", strategy="anchor"
        )
        trace = engine.traces.get(str(answer.trace_id))
        old = write_in_old_form(trace)
        engine.traces.store.put(old)
        opened = engine.traces.get(old.id)
        done = engine.replay(old.id)

    assert opened.records == trace.records
    assert opened.data == old.data
    assert len(old.data) > len(trace.data)
    assert json.loads(to_json(opened))["lines"][0]["version"] == 1
    assert done.same, done.difference
    assert is_same_answer(opened, done.answer)
    assert dump_canonical(opened.answer) == dump_canonical(trace.answer)
