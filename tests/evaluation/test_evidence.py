"""Evidence is first the last reading, then earlier readings, then hits that were only found."""

from fathom.evaluation.evidence import collect_evidence, collect_workflows
from fathom.runs.recorder import Recorder
from fathom.runs.trace import Origin, Trace


def record_search(recorder: Recorder, *chunks: str) -> None:
    with recorder.step("search", agent="retriever") as step:
        step.set_outcome(outputs={"hits": [[chunk, 1.0] for chunk in chunks]})


def record_reading(recorder: Recorder, *chunks: str, agent: str = "reader") -> None:
    with recorder.step("read", agent=agent, inputs={"chunks": list(chunks)}) as step:
        step.set_outcome()


def seal_trace(recorder: Recorder) -> Trace:
    return recorder.seal({"status": "answered"})


def make_recorder() -> Recorder:
    return Recorder(Origin(question="q", strategy="s"))


def test_the_last_reading_comes_first_in_its_order() -> None:
    run = make_recorder()
    record_search(run, "a#0", "b#0", "c#0")
    record_reading(run, "b#0", "a#0")
    record_search(run, "d#1", "a#4")
    record_reading(run, "d#1", "d#2", "b#0")
    assert collect_evidence(seal_trace(run)) == ("d", "b", "a", "c")


def test_without_a_reading_the_order_is_that_of_the_searches() -> None:
    run = make_recorder()
    record_search(run, "a#0", "b#0")
    record_search(run, "c#0", "a#1")
    assert collect_evidence(seal_trace(run)) == ("a", "b", "c")


def test_only_agents_that_answer_count_as_readers() -> None:
    run = make_recorder()
    record_search(run, "a#0", "b#0")
    record_reading(run, "b#0", agent="judge")
    assert collect_evidence(seal_trace(run)) == ("a", "b")


def test_ids_may_contain_the_separator_of_chunk_numbers() -> None:
    run = make_recorder()
    record_search(run, "file.md#part#0")
    assert collect_evidence(seal_trace(run)) == ("file.md#part",)


def test_interrupted_and_truncated_steps_are_skipped() -> None:
    run = make_recorder()
    with run.step("search", agent="retriever"):
        pass
    record_search(run, *(f"d{n}#0" for n in range(150)))
    record_reading(run)
    assert len(collect_evidence(seal_trace(run))) == 100


def test_a_run_without_hits_has_no_evidence() -> None:
    assert collect_evidence(seal_trace(make_recorder())) == ()


def record_plan(recorder: Recorder, *workflow: str) -> None:
    with recorder.step("plan", agent="planner") as step:
        step.set_outcome(outputs={"question": "Who?", "workflow": workflow})


def test_each_turn_has_a_workflow_even_an_illegal_one() -> None:
    run = Recorder(Origin(question="q", strategy="mao"))
    record_plan(run, "QDS")
    with run.step("read", agent="reader") as step:
        step.set_outcome(outputs={"workflow": ["R"]})
    record_plan(run, "R", "AG")
    record_plan(run, "AG", "R")
    assert collect_workflows(run.seal({})) == ("QDS", "R,AG", "AG,R")


def test_a_planner_that_failed_chose_nothing() -> None:
    run = Recorder(Origin(question="q", strategy="mao"))
    with run.step("plan", agent="planner"):
        pass
    assert collect_workflows(run.seal({})) == ()
