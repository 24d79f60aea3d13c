import pytest

from fathom.runs.recorder import Recorder
from fathom.runs.trace import Origin
from fathom.usage import Usage


def test_the_settings_hash_depends_on_the_settings_only() -> None:
    first = Origin(question="a", strategy="s", settings={"k": 1, "m": [1, 2]})
    same = Origin(question="b", strategy="t", settings={"m": [1, 2], "k": 1}, seed=9)
    other = Origin(question="a", strategy="s", settings={"k": 2, "m": [1, 2]})

    assert first.settings_hash == same.settings_hash
    assert first.settings_hash != other.settings_hash


def test_the_usage_of_a_trace_is_the_sum_over_its_steps() -> None:
    readings = iter([0.0, 1.0, 2.0, 5.0, 6.0, 9.0])
    recorder = Recorder(Origin(question="q", strategy="s"), clock=lambda: next(readings))
    with recorder.step("outer") as outer:
        with outer.step("inner") as inner:
            inner.set_outcome(usage=Usage(llm_calls=1, prompt_tokens=10, seconds=3, cost_usd=0.5))
        outer.set_outcome(usage=Usage(retrievals=2, cost_usd=0.25))

    trace = recorder.seal(None)

    assert trace.usage == Usage(
        llm_calls=1, prompt_tokens=10, retrievals=2, seconds=9.0, cost_usd=0.75
    )
    assert [(step.id, step.parent, step.started_at, step.seconds) for step in trace.steps] == [
        ("outer/inner", "outer", 2.0, 3.0),
        ("outer", "", 1.0, 5.0),
    ]


@pytest.mark.parametrize("cost", [None, 0.5])
def test_an_unknown_cost_of_a_step_makes_the_cost_of_the_run_unknown(cost: float | None) -> None:
    recorder = Recorder(Origin(question="q", strategy="s"))
    for spent in (cost, 0.5):
        with recorder.step("call") as step:
            step.set_outcome(usage=Usage(cost_usd=spent))

    assert recorder.seal(None).usage.cost_usd == (None if cost is None else 1.0)
