import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from fathom.runs.chain import decode_trace
from fathom.runs.recorder import Recorder
from fathom.runs.trace import Origin, TraceLimits
from fathom.usage import Usage

ORIGIN = Origin(question="q", strategy="s")
CANARY = "sk-canary-93e1"


def test_ids_are_paths_of_names() -> None:
    recorder = Recorder(ORIGIN)
    with recorder.step("debate") as debate:
        for _ in range(2):
            with debate.step("round") as turn, turn.step("a/b"):
                pass

    assert [step.id for step in recorder.seal(None).steps] == [
        "debate/round/a-b",
        "debate/round",
        "debate/round#2/a-b",
        "debate/round#2",
        "debate",
    ]


def test_the_run_continues_with_the_recorded_value() -> None:
    recorder = Recorder(ORIGIN, secrets=[CANARY])

    observed = recorder.observe("llm", "ask", lambda: {"t": ("a", f"{CANARY}!"), "n": float("nan")})

    assert observed == {"t": ["a", "[redacted]!"], "n": "nan"}
    assert recorder.seal(None).events[0].value == observed


def test_occurrences_are_counted_per_step_and_request() -> None:
    recorder = Recorder(ORIGIN)
    with recorder.step("a") as first, recorder.step("b") as second:
        for step, request in ((first, 1), (second, 1), (first, 1), (first, 2)):
            step.observe("llm", request, lambda: "reply")

    events = recorder.seal(None).events
    assert [(event.step, event.request, event.occurrence) for event in events] == [
        ("a", 1, 0),
        ("b", 1, 0),
        ("a", 1, 1),
        ("a", 2, 0),
    ]
    assert events[0].key == events[1].key == events[2].key != events[3].key


def test_the_key_covers_the_whole_request_although_only_its_start_is_stored() -> None:
    recorder = Recorder(ORIGIN, limits=TraceLimits(chars=10))
    for ending in "xy":
        recorder.observe("llm", "p" * 100 + ending, lambda: "reply")

    first, second = recorder.seal(None).events

    assert first.request == second.request == "pppppppppp…[91 characters more]"
    assert first.key != second.key


def test_an_error_is_recorded_and_raised() -> None:
    recorder = Recorder(ORIGIN, secrets=[CANARY])

    def ask() -> str:
        raise ConnectionResetError(f"no\nluck with {CANARY}")

    with pytest.raises(ConnectionResetError), recorder.step("call") as step:
        step.observe("llm", "ask", ask)

    trace = recorder.seal(None)
    assert trace.events[0].error == "ConnectionResetError: no luck with [redacted]"
    assert trace.steps[0].error == trace.events[0].error


def test_a_cancelled_step_is_recorded() -> None:
    recorder = Recorder(ORIGIN)

    async def run() -> None:
        async def wait() -> None:
            await asyncio.Event().wait()

        async def branch() -> None:
            with recorder.step("call") as step:
                await step.aobserve("llm", "ask", wait)

        task = asyncio.create_task(branch())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())

    trace = recorder.seal(None)
    assert (trace.steps[0].error, trace.events) == ("CancelledError", ())


def test_a_secret_never_enters_a_trace() -> None:
    origin = Origin(
        question=f"q {CANARY}",
        strategy=CANARY,
        settings={CANARY: CANARY},
        index_revision=CANARY,
        arguments={"a": [CANARY]},
    )
    recorder = Recorder(origin, secrets=[CANARY])
    with recorder.step(CANARY, agent=CANARY, inputs={CANARY: CANARY}) as step:
        step.observe(CANARY, {"key": CANARY}, lambda: CANARY)
        step.set_outcome(outputs={"x": CANARY}, verdict=CANARY, reason=CANARY)

    trace = recorder.seal({"answer": CANARY})

    assert CANARY.encode() not in trace.data
    assert CANARY not in repr(trace)


def test_a_trace_stays_within_its_size_limit() -> None:
    limits = TraceLimits(trace_bytes=20_000)
    recorder = Recorder(ORIGIN, limits=limits)
    for number in range(200):
        with recorder.step("step", inputs={"text": "x" * 4_000}) as step:
            step.observe("llm", number, lambda: "y" * 1_000)

    trace = recorder.seal("the answer")

    assert len(trace.data) <= limits.trace_bytes + 500  # the last line comes on top
    assert trace.dropped > 0
    assert not trace.is_replayable
    assert trace.answer == "the answer"
    stripped = [step for step in trace.steps if step.reason == "(the trace is full)"]
    assert stripped
    assert all(step.inputs == {} for step in stripped)
    assert decode_trace(trace.data, trace.id) == trace


def test_an_event_that_is_too_large_is_left_out_and_reported() -> None:
    recorder = Recorder(ORIGIN, limits=TraceLimits(event_bytes=10))

    observed = recorder.observe("web", "ask", lambda: "z" * 100)

    trace = recorder.seal(None)
    assert observed == "z" * 100
    assert trace.events[0].value is None
    assert trace.events[0].omitted == 102
    assert not trace.is_replayable


def test_nothing_is_recorded_after_the_seal() -> None:
    recorder = Recorder(ORIGIN)
    recorder.seal(None)

    with pytest.raises(ValueError, match="sealed"):
        recorder.observe("llm", "ask", lambda: "late")
    with pytest.raises(ValueError, match="sealed"):
        recorder.seal(None)


def test_threads_write_whole_records() -> None:
    recorder = Recorder(ORIGIN)

    def work(number: int) -> None:
        with recorder.step(f"agent {number}") as step:
            for turn in range(20):
                step.observe("llm", turn, lambda: {"n": number})
            step.set_outcome(usage=Usage(llm_calls=20))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(16)))

    trace = recorder.seal(None)
    assert trace.usage.llm_calls == 320
    assert len(trace.events) == 320
    assert decode_trace(trace.data, trace.id) == trace


def test_the_answer_in_a_trace_does_not_contain_the_id_of_the_trace() -> None:
    trace = Recorder(ORIGIN).seal({"answer": "a", "trace_id": "something"})

    assert json.loads(trace.data.split(b"\n")[-1])["answer"] == {"answer": "a", "trace_id": None}
