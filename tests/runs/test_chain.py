import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.jsonable import dump_canonical, hash_text
from fathom.runs.chain import TamperedTraceError, decode_trace
from fathom.runs.recorder import Recorder
from fathom.runs.trace import Origin, Trace
from fathom.usage import Budget, Usage


def make_trace() -> Trace:
    origin = Origin(
        question="Who built the bridge?\u2028Wer?",
        strategy="naive",
        settings={"retrieval.k": 10},
        index_revision="7",
        seed=3,
        budget=Budget(tokens=500),
        arguments={"filters": []},
    )
    recorder = Recorder(origin)
    with recorder.step("retrieve", agent="retriever", inputs={"query": "bridge"}) as step:
        step.set_outcome(outputs={"hits": ["a#1", "b#2"]}, usage=Usage(retrievals=1))
    with recorder.step("read", agent="reader") as step:
        for value in (False, 0, "", None, {}, {"text": "by Ada"}, [1, 2.5]):
            step.observe("llm", {"prompt": "..."}, [value].pop)
        step.set_outcome(verdict="accept", usage=Usage(llm_calls=1, cost_usd=None))
    return recorder.seal({"status": "answered", "answer": "Ada [1]", "trace_id": "x"})


TRACE = make_trace()


def test_a_trace_is_read_as_it_was_written() -> None:
    again = decode_trace(TRACE.data, TRACE.id)

    assert again == TRACE
    assert again.origin.budget == Budget(tokens=500)
    assert [event.value for event in again.events] == [
        False,
        0,
        "",
        None,
        {},
        {"text": "by Ada"},
        [1, 2.5],
    ]
    assert [event.occurrence for event in again.events] == list(range(7))
    assert again.steps[1].usage.cost_usd is None
    assert again.answer == {"status": "answered", "answer": "Ada [1]", "trace_id": None}


def test_each_line_is_canonical_and_carries_the_hash_of_the_line_before() -> None:
    lines = TRACE.data.decode().split("\n")

    assert all(dump_canonical(json.loads(line)) == line for line in lines)
    for before, line in pairwise(lines):
        assert json.loads(line)["previous"] == hash_text(before)
    assert hash_text(lines[-1]).startswith(TRACE.id)
    assert len(TRACE.id) == 32


@given(st.integers(0, len(TRACE.data) - 1), st.integers(1, 255))
def test_every_changed_byte_is_detected(place: int, by: int) -> None:
    data = bytearray(TRACE.data)
    data[place] = (data[place] + by) % 256

    with pytest.raises(TamperedTraceError):
        decode_trace(bytes(data), TRACE.id)


@given(st.data())
def test_every_missing_repeated_or_moved_record_is_detected(data: st.DataObject) -> None:
    lines = TRACE.data.split(b"\n")
    order = data.draw(st.lists(st.sampled_from(range(len(lines))), max_size=len(lines) + 2))
    if order == list(range(len(lines))):
        return

    with pytest.raises(TamperedTraceError):
        decode_trace(b"\n".join(lines[place] for place in order), TRACE.id)


def test_the_changed_record_is_named() -> None:
    changed = TRACE.data.replace(b"by Ada", b"by Bob")

    with pytest.raises(TamperedTraceError, match="record 7 was changed"):
        decode_trace(changed, TRACE.id)


def test_a_trace_rewritten_to_its_end_has_another_id() -> None:
    lines = TRACE.data.replace(b"by Ada", b"by Bob").decode().split("\n")
    rewritten, head = [], ""
    for line in lines:
        content = json.loads(line) | {"previous": head}
        rewritten.append(dump_canonical(content))
        head = hash_text(rewritten[-1])
    forged = "\n".join(rewritten).encode()

    assert decode_trace(forged).id != TRACE.id
    with pytest.raises(TamperedTraceError, match="last record"):
        decode_trace(forged, TRACE.id)


def chain_records(*contents: object) -> bytes:
    lines: list[str] = []
    head = ""
    for content in contents:
        plain = content | {"previous": head} if isinstance(content, dict) else content
        lines.append(dump_canonical(plain))
        head = hash_text(lines[-1])
    return "\n".join(lines).encode()


FIRST = json.loads(TRACE.data.split(b"\n")[0])
END = {"record": "end", "answer": None, "seconds": 0, "dropped": 0}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"null",
        b"{}",
        b"[" * 100_000,
        chain_records(FIRST),
        chain_records(FIRST, {"record": "end"}),
        chain_records(FIRST | {"version": 99}, END),
        chain_records(FIRST | {"settings_hash": "0"}, END),
        chain_records(FIRST | {"budget": {"tokens": -1}}, END),
        chain_records(FIRST, {"record": "step", "unknown": 1}, END),
        chain_records(FIRST, {"record": "event", "step": ""}, END),
        chain_records(FIRST, 3, END),
    ],
    ids=range(13),
)
def test_an_invalid_trace_is_refused_in_one_line(data: bytes) -> None:
    with pytest.raises(TamperedTraceError) as caught:
        decode_trace(data)

    assert "\n" not in str(caught.value)


def test_the_smallest_trace_is_read() -> None:
    assert decode_trace(chain_records(FIRST, END)).records == ()
