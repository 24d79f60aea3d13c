import asyncio
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fathom.runs.recorder import Recorder
from fathom.runs.replay import (
    MissingEventError,
    RecordedEvents,
    RecordedFailure,
    find_difference,
    is_same_answer,
)
from fathom.runs.trace import Origin, Trace, TraceLimits

ORIGIN = Origin(question="q", strategy="s", index_revision="1")


def refuse_call() -> Any:
    raise AssertionError("a replay asked the outside")


async def run_debate(recorder: Recorder, outside: Callable[[], Any], dice: random.Random) -> str:
    """Run branches that make the same request, in an order that varies."""

    async def ask() -> Any:
        for _ in range(dice.randint(0, 3)):
            await asyncio.sleep(0)
        return outside()

    async def branch(number: int) -> str:
        for _ in range(dice.randint(0, 3)):
            await asyncio.sleep(0)
        with recorder.step(f"agent {number}", inputs={"n": number}) as step:
            heard = [await step.aobserve("llm", "the same prompt", ask) for _ in range(3)]
            clock = step.observe("clock", None, outside)
            step.set_outcome(outputs={"heard": heard}, verdict="late" if clock > 0.5 else "early")
            return f"{heard} {clock}"

    return " ".join(await asyncio.gather(*(branch(number) for number in range(4))))


@given(st.integers(), st.integers())
@settings(max_examples=200, deadline=None)
def test_parallel_branches_replay_byte_for_byte_in_any_order(first: int, second: int) -> None:
    values = random.Random(first)
    live = Recorder(ORIGIN)
    answer = asyncio.run(run_debate(live, values.random, random.Random(first)))
    trace = live.seal({"answer": answer})

    events = RecordedEvents(trace)
    again = Recorder(ORIGIN, events=events)
    replayed = asyncio.run(run_debate(again, refuse_call, random.Random(second)))

    assert is_same_answer(trace, {"answer": replayed, "trace_id": "another"})
    assert find_difference(trace, again.seal({"answer": replayed})) is None
    assert events.list_unused() == ()
    assert events.missing == []


def record_prompts(recorder: Recorder, prompts: list[str], outside: Callable[[], Any]) -> Trace:
    with recorder.step("ask", inputs={"n": 1}) as step:
        replies = [step.observe("llm", prompt, outside) for prompt in prompts]
        step.set_outcome(outputs={"replies": replies})
    return recorder.seal({"answer": replies})


def test_a_request_that_was_never_made_is_named() -> None:
    trace = record_prompts(Recorder(ORIGIN), ["a", "b"], lambda: "reply")
    events = RecordedEvents(trace)

    with pytest.raises(MissingEventError, match="llm in ask is not in the trace"):
        record_prompts(Recorder(ORIGIN, events=events), ["a", "c"], refuse_call)

    assert events.missing == ["llm in ask: is not in the trace"]
    assert [event.request for event in events.list_unused()] == ["b"]


def test_a_request_repeated_too_often_is_missing() -> None:
    trace = record_prompts(Recorder(ORIGIN), ["a"], lambda: "reply")

    with pytest.raises(MissingEventError):
        record_prompts(Recorder(ORIGIN, events=RecordedEvents(trace)), ["a", "a"], refuse_call)


def test_another_step_with_the_same_request_gets_the_recorded_reply() -> None:
    trace = record_prompts(Recorder(ORIGIN), ["a"], lambda: "reply")
    other = Recorder(ORIGIN, events=RecordedEvents(trace))

    with other.step("somewhere else") as step:
        assert step.observe("llm", "a", refuse_call) == "reply"


def test_an_event_that_was_too_large_is_missing() -> None:
    recorder = Recorder(ORIGIN, limits=TraceLimits(event_bytes=5))
    trace = record_prompts(recorder, ["a"], lambda: "a long reply")

    with pytest.raises(MissingEventError, match="too large"):
        record_prompts(Recorder(ORIGIN, events=RecordedEvents(trace)), ["a"], refuse_call)


class UnreachableError(Exception):
    pass


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [((UnreachableError,), UnreachableError), ((), RecordedFailure)],
)
def test_a_recorded_error_is_raised_again(
    allowed: tuple[type[Exception], ...], expected: type[Exception]
) -> None:
    def fail() -> str:
        raise UnreachableError("server gone: really")

    live = Recorder(ORIGIN)
    with pytest.raises(UnreachableError):
        live.observe("llm", "a", fail)

    again = Recorder(ORIGIN, events=RecordedEvents(live.seal(None), errors=allowed))
    with pytest.raises(expected, match="server gone: really"):
        again.observe("llm", "a", refuse_call)


def test_the_first_difference_is_found() -> None:
    trace = record_prompts(Recorder(ORIGIN), ["a", "b"], lambda: "reply")

    def replay(prompts: list[str], outside: Callable[[], Any], origin: Origin = ORIGIN) -> str:
        return str(find_difference(trace, record_prompts(Recorder(origin), prompts, outside)))

    assert replay(["a", "b"], lambda: "reply") == "None"
    assert replay(["a"], lambda: "reply").startswith("step ask, outputs.replies")
    assert replay(["a", "b"], lambda: "other").startswith("step ask, outputs.replies")
    assert replay([], refuse_call, replace(ORIGIN, index_revision="2")).startswith("index revision")


def test_an_extra_or_missing_step_is_a_difference() -> None:
    short = Recorder(ORIGIN).seal(None)
    recorder = Recorder(ORIGIN)
    with recorder.step("more"):
        pass
    long = recorder.seal(None)

    assert str(find_difference(short, long)) == 'step more: null was "more" in the replay'
    assert str(find_difference(long, short)) == 'step more: "more" was null in the replay'


def record_branches(recorder: Recorder, acts: Mapping[str, str]) -> Trace:
    """Record branches with a step inside, each with what became of it."""
    for name, act in acts.items():
        with recorder.step(name) as branch:
            if act != "refused":
                with branch.step("look") as step:
                    step.set_outcome(outputs={"act": act})
            if act in {"refused", "broken"}:
                branch.set_outcome(verdict="left out", reason="KeyError")
    return recorder.seal(None)


@pytest.mark.parametrize(
    ("recorded", "replayed", "expected"),
    [
        ({"a": "done"}, {"a": "broken"}, 'step a, verdict: "" was "left out" in the replay'),
        ({"a": "done"}, {"a": "refused"}, 'step a, verdict: "" was "left out" in the replay'),
        ({"a": "refused"}, {"a": "done"}, 'step a, verdict: "left out" was "" in the replay'),
        ({"a": "broken"}, {"a": "done"}, 'step a, verdict: "left out" was "" in the replay'),
        ({"a": "broken"}, {"a": "refused"}, "None"),
        ({"a": "refused"}, {"a": "broken"}, "None"),
        (
            {"a": "broken", "b": "one"},
            {"a": "refused", "b": "two"},
            'step b/look, outputs.act: "one" was "two" in the replay',
        ),
        ({"a": "done", "b": "one"}, {"b": "two"}, 'step a: "a" was null in the replay'),
        ({"b": "one"}, {"a": "done", "b": "two"}, 'step a: null was "a" in the replay'),
        (
            {"b": "one"},
            {"b": "two", "a": "done"},
            'step b/look, outputs.act: "one" was "two" in the replay',
        ),
    ],
)
def test_the_first_difference_of_branches_is_found(
    recorded: dict[str, str], replayed: dict[str, str], expected: str
) -> None:
    first, second = (record_branches(Recorder(ORIGIN), acts) for acts in (recorded, replayed))
    assert str(find_difference(first, second)) == expected


def test_a_different_answer_is_named_by_its_field() -> None:
    first = Recorder(ORIGIN).seal({"answer": "x", "status": "answered", "usage": {"n": 1}})
    second = Recorder(ORIGIN).seal({"answer": "x", "status": "answered", "usage": {"n": 2}})

    assert str(find_difference(first, second)) == "answer.usage.n: 1 was 2 in the replay"
    assert not is_same_answer(first, second.answer)
