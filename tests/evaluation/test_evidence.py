"""Evidence is what was read last, then what was read before, then what was only found."""

from fathom.evaluation.evidence import collect_evidence, collect_workflows
from fathom.runs.recorder import Recorder
from fathom.runs.trace import Origin, Trace


def search(recorder: Recorder, *chunks: str) -> None:
    with recorder.step("search", agent="retriever") as step:
        step.set_outcome(outputs={"hits": [[chunk, 1.0] for chunk in chunks]})


def read(recorder: Recorder, *chunks: str, agent: str = "reader") -> None:
    with recorder.step("read", agent=agent, inputs={"chunks": list(chunks)}) as step:
        step.set_outcome()


def sealed(recorder: Recorder) -> Trace:
    return recorder.seal({"status": "answered"})


def recorder() -> Recorder:
    return Recorder(Origin(question="q", strategy="s"))


def test_what_was_read_comes_first_in_the_order_of_the_last_reading() -> None:
    run = recorder()
    search(run, "a#0", "b#0", "c#0")
    read(run, "b#0", "a#0")
    search(run, "d#1", "a#4")
    read(run, "d#1", "d#2", "b#0")
    assert collect_evidence(sealed(run)) == ("d", "b", "a", "c")


def test_without_a_reading_it_is_the_order_of_the_searches() -> None:
    run = recorder()
    search(run, "a#0", "b#0")
    search(run, "c#0", "a#1")
    assert collect_evidence(sealed(run)) == ("a", "b", "c")


def test_only_those_who_answer_read() -> None:
    run = recorder()
    search(run, "a#0", "b#0")
    read(run, "b#0", agent="judge")
    assert collect_evidence(sealed(run)) == ("a", "b")


def test_ids_may_hold_the_sign_that_numbers_chunks() -> None:
    run = recorder()
    search(run, "file.md#part#0")
    assert collect_evidence(sealed(run)) == ("file.md#part",)


def test_steps_that_broke_off_or_were_cut_are_no_trouble() -> None:
    run = recorder()
    with run.step("search", agent="retriever"):
        pass
    search(run, *(f"d{n}#0" for n in range(150)))
    read(run)
    assert len(collect_evidence(sealed(run))) == 100


def test_a_run_that_found_nothing_has_none() -> None:
    assert collect_evidence(sealed(recorder())) == ()


def plan(recorder: Recorder, *workflow: str) -> None:
    with recorder.step("plan", agent="planner") as step:
        step.set_outcome(outputs={"question": "Who?", "workflow": workflow})


def test_each_turn_has_one_also_an_illegal_one() -> None:
    run = Recorder(Origin(question="q", strategy="mao"))
    plan(run, "QDS")
    with run.step("read", agent="reader") as step:
        step.set_outcome(outputs={"workflow": ["R"]})
    plan(run, "R", "AG")
    plan(run, "AG", "R")
    assert collect_workflows(run.seal({})) == ("QDS", "R,AG", "AG,R")


def test_a_planner_that_broke_off_chose_nothing() -> None:
    run = Recorder(Origin(question="q", strategy="mao"))
    with run.step("plan", agent="planner"):
        pass
    assert collect_workflows(run.seal({})) == ()
