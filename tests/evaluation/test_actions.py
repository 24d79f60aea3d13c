"""Actions are what the planner wanted, turn by turn."""

from fathom.evaluation.actions import actions
from fathom.tracing.recorder import Recorder
from fathom.tracing.trace import Origin


def plan(recorder: Recorder, *workflow: str) -> None:
    with recorder.step("plan", agent="planner") as step:
        step.done(outputs={"question": "Who?", "workflow": workflow})


def test_each_turn_has_one_also_an_illegal_one() -> None:
    run = Recorder(Origin(question="q", strategy="mao"))
    plan(run, "QDS")
    with run.step("read", agent="reader") as step:
        step.done(outputs={"workflow": ["R"]})
    plan(run, "R", "AG")
    plan(run, "AG", "R")
    assert actions(run.seal({})) == ("QDS", "R,AG", "AG,R")


def test_a_planner_that_broke_off_chose_nothing() -> None:
    run = Recorder(Origin(question="q", strategy="mao"))
    with run.step("plan", agent="planner"):
        pass
    assert actions(run.seal({})) == ()
