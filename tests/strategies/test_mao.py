from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.factories import QUESTION, engine_at, hit_of, index_fees, quote_first_sentence
from tests.scripted_server import Extractive, serve
from tests.strategies.scripted_run import is_replayed, make_finalizer, run_to_end

from fathom.agents.decomposer import LocalDecomposer
from fathom.agents.rewriter import LocalRewriter
from fathom.agents.summarizer import LocalSummarizer
from fathom.planner.question_features import QuestionFeatures, QuestionObserver
from fathom.planner.workflows import (
    EXECUTORS,
    FIRST_TURN,
    LocalPlanner,
    TriedWorkflow,
    Workflow,
    WorkflowPlan,
    WorkflowRules,
)
from fathom.question.question import Question
from fathom.runs.context import RunContext
from fathom.runs.ledger import BudgetRefused
from fathom.strategies.mao import Mao
from fathom.strategies.run import RunOutcome
from fathom.text.content_words import ContentTerms
from fathom.types import Draft, Evidence, Filter, Hit, Query, Span
from fathom.usage import Budget

PAGE = Path(__file__).parent.parent.parent / "docs/strategies/mao.md"
CHAIN = "Who founded the company that distributed the film Harbour Lights?"
FIRST, SECOND = "What is the company that distributed the film Harbour Lights?", "Who founded Acme?"
PAIR = "Who was born first, Ana Silva or Nora Berg?"


@dataclass
class RecordingSearch:
    """A search that records its questions and returns one document named after each."""

    calls: list[str] = field(default_factory=list)
    refuses: str = ""

    async def __call__(self, query: Query, *, k: int, context: RunContext) -> tuple[Hit, ...]:
        self.calls.append(query.text)
        if query.text == self.refuses:
            raise context.note_refusal(BudgetRefused("retrievals", needed=1, left=0))
        return (hit_of(document=f"found for {query.text}"),)


@dataclass
class RecordingAnchors:
    """A search from the anchors of a question that records the questions and finds nothing."""

    calls: list[str] = field(default_factory=list)

    async def __call__(
        self, question: Question, filters: tuple[Filter, ...], *, k: int, context: RunContext
    ) -> tuple[Hit, ...]:
        self.calls.append(question.text)
        return ()


@dataclass
class KnowingReader:
    """A reader that knows the answers to some questions; it needs at least one hit."""

    answers: Mapping[str, str] = field(default_factory=dict)
    read_for: list[str] = field(default_factory=list)

    async def read(self, question: Question, hits: Sequence[Hit], context: RunContext) -> Draft:
        self.read_for.append(question.text)
        if not hits:
            return Draft()
        evidence = tuple(Evidence(hit=hit, span=Span(0, 40), support=0.9) for hit in hits)
        short = self.answers.get(question.text, "")
        return Draft(evidence=evidence, short_answer=short, confidence=0.9)


class KeepingSelector:
    async def select(
        self, question: Question, hits: Sequence[Hit], context: RunContext
    ) -> tuple[Hit, ...]:
        return tuple(hits)


class FailingSelector:
    async def select(
        self, question: Question, hits: Sequence[Hit], context: RunContext
    ) -> tuple[Hit, ...]:
        raise IndexError

    rewrite = select
    split = select
    plan = select


@dataclass(frozen=True)
class CyclingPolicy:
    """A policy that chooses the plans of a list in turn, again and again."""

    plans: tuple[tuple[str, ...], ...]
    name: str = "whims"

    def choose(self, situation: QuestionFeatures, legal: Sequence[Workflow]) -> WorkflowPlan:
        return WorkflowPlan(workflow=self.plans[int(situation.words * 40) % len(self.plans)])


def make_mao(**other: Any) -> Mao:
    strategy = Mao(
        search=RecordingSearch(),  # type: ignore[arg-type]
        follow_anchors=None,
        observer=QuestionObserver(extract_terms=ContentTerms(), decomposer=LocalDecomposer()),
        planner=LocalPlanner(policy=WorkflowRules()),
        rewriter=LocalRewriter(),
        decomposer=LocalDecomposer(),
        selector=KeepingSelector(),
        reader=KnowingReader(),
        summarizer=LocalSummarizer(),
        finalizer=make_finalizer("mao"),
        hits=5,
        turns=5,
        coverage_threshold=0.8,
    )
    return replace(strategy, **other)


def test_the_picture_in_the_docs_is_the_code() -> None:
    drawn = make_mao().graph().compile().get_graph().draw_mermaid()
    assert f"```mermaid\n{drawn}```" in PAGE.read_text(encoding="utf-8")


def list_steps(outcome: RunOutcome, agent: str) -> list[Any]:
    return [step for step in outcome.trace.steps if step.agent == agent]


def test_a_plain_question_takes_one_turn(tmp_path: Path) -> None:
    with engine_at(index_fees(tmp_path)) as engine:
        answer = engine.ask(QUESTION, strategy="mao")
        trace = engine.traces.get(str(answer.trace_id))
        assert engine.replay(trace.id).same
    assert answer.usage.retrievals <= 1 + 13
    assert "plan" in {step.name for step in trace.steps}


def test_r_asks_the_retriever_of_the_settings(tmp_path: Path) -> None:
    index_fees(tmp_path)
    hits = {}
    for name in ("keyword", "vector"):
        with engine_at(tmp_path, mao={"retriever": name, "coverage_threshold": 0}) as engine:
            answer = engine.ask("Zebras graze where?", strategy="mao")
            trace = engine.traces.get(str(answer.trace_id))
        (search,) = (step for step in trace.steps if step.name == "search")
        hits[name] = search.outputs["hits"]
    # No word of the question stands in the document; a vector is near to something always.
    assert hits["keyword"] == []
    assert hits["vector"]


def test_a_chain_is_asked_hop_by_hop_with_the_answers_filled_in() -> None:
    reader, search = KnowingReader({FIRST: "Acme", SECOND: "Bo Holm"}), RecordingSearch()
    outcome = run_to_end(make_mao(reader=reader, search=search), question=CHAIN)
    assert reader.read_for == [FIRST, SECOND]
    assert search.calls == [CHAIN, FIRST, SECOND]
    (summary,) = list_steps(outcome, "summarizer")
    assert summary.outputs["short_answer"] == "Bo Holm"
    gathered = [chunk.removeprefix("found for ") for chunk in summary.inputs["chunks"]]
    assert gathered == [f"{text}#0" for text in (SECOND, FIRST, CHAIN)]


def test_the_sides_of_a_comparison_are_asked_in_parallel() -> None:
    births = {"When was Ana Silva born?": "1 May 1900", "When was Nora Berg born?": "1899"}
    reader = KnowingReader(births)
    outcome = run_to_end(make_mao(reader=reader), question=PAIR)
    assert sorted(reader.read_for) == sorted(births)
    (summary,) = list_steps(outcome, "summarizer")
    assert len(summary.inputs["chunks"]) == 3


def test_a_number_sign_of_the_user_is_no_slot() -> None:
    reader = KnowingReader()
    run_to_end(
        make_mao(reader=reader),
        question="When was barge #1 built and when was barge #2 built?",
    )
    assert sorted(reader.read_for) == ["When was barge #1 built?", "When was barge #2 built?"]


@pytest.mark.parametrize("plan", [("QDS", "QDS"), ("R",), ("AG", "R"), ("QR", "QR", "AG"), ()])
def test_an_illegal_plan_is_replaced_by_the_default(plan: tuple[str, ...]) -> None:
    planner = LocalPlanner(policy=CyclingPolicy((plan,)))
    outcome = run_to_end(make_mao(planner=planner))
    assert [step.verdict for step in list_steps(outcome, "grammar")] == ["illegal"]
    assert outcome.answer.phase == "R,AG"


@pytest.mark.parametrize("manner", ["QDS", "QDP"])
def test_a_question_that_cannot_be_split_is_answered_whole(manner: str) -> None:
    reader = KnowingReader()
    run_to_end(make_mao(reader=reader, planner=LocalPlanner(policy=CyclingPolicy(((manner,),)))))
    assert reader.read_for == [QUESTION]


def test_an_answer_without_retrieval_has_nothing_to_read() -> None:
    outcome = run_to_end(make_mao(planner=LocalPlanner(policy=CyclingPolicy((("AG",),)))))
    assert (outcome.answer.status, outcome.answer.stop_reason) == ("abstained", "no_evidence")


@pytest.mark.parametrize(("covered", "followed"), [(1.0, [QUESTION]), (0.0, [])])
def test_bridges_are_followed_where_the_first_look_misses_names(
    covered: float, followed: list[str]
) -> None:
    search, following = RecordingSearch(), RecordingAnchors()
    run_to_end(make_mao(search=search, follow_anchors=following, coverage_threshold=covered))
    assert (search.calls, following.calls) == ([QUESTION], followed)


def test_the_number_of_turns_is_bounded() -> None:
    reader = KnowingReader({FIRST: "Acme"})
    run_to_end(make_mao(reader=reader, turns=2), question=CHAIN)
    assert reader.read_for == [FIRST]
    reader = KnowingReader()
    run_to_end(make_mao(reader=reader, turns=1), question=PAIR)
    assert reader.read_for == []


def test_a_search_refused_by_the_budget_does_not_lose_the_others() -> None:
    refused = "When was Ana Silva born?"
    outcome = run_to_end(make_mao(search=RecordingSearch(refuses=refused)), question=PAIR)
    (summary,) = list_steps(outcome, "summarizer")
    assert len(summary.inputs["chunks"]) == 2
    assert run_to_end(make_mao(), Budget(retrievals=0)).answer.stop_reason == "no_evidence"


@pytest.mark.parametrize("role", ["planner", "rewriter", "selector", "decomposer"])
@pytest.mark.parametrize("plan", [("QR", "R", "DS", "AG"), ("QDS",)])
def test_an_agent_that_raises_is_skipped(role: str, plan: tuple[str, ...]) -> None:
    broken: dict[str, Any] = {
        "planner": LocalPlanner(policy=CyclingPolicy((plan,))),
        role: FailingSelector(),
    }
    reader = KnowingReader({FIRST: "Acme"})
    outcome = run_to_end(make_mao(reader=reader, **broken), question=CHAIN)
    assert reader.read_for
    assert outcome.answer.status != "failed"
    assert is_replayed(outcome, make_mao(reader=KnowingReader({FIRST: "Acme"}), **broken))


PLANS = st.lists(
    st.sampled_from(FIRST_TURN) | st.lists(st.sampled_from(EXECUTORS), max_size=5).map(tuple),
    min_size=1,
    max_size=4,
).map(tuple)


@given(plans=PLANS, question=st.sampled_from([CHAIN, PAIR, QUESTION, "Tell me who wrote Dune?"]))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_plan_ends_and_replays(plans: tuple[tuple[str, ...], ...], question: str) -> None:
    planner = LocalPlanner(policy=CyclingPolicy(plans))
    search = RecordingSearch()
    outcome = run_to_end(make_mao(planner=planner, search=search), question=question)
    assert len(search.calls) <= 2 * 5
    assert outcome.answer.status in {"answered", "abstained"}
    assert len([step for step in outcome.trace.steps if step.name == "plan"]) <= 2 * 5


@pytest.mark.parametrize("question", [QUESTION, CHAIN, PAIR])
def test_a_language_model_in_every_role_answers_and_replays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    monkeypatch.setenv("CANARY", "sk-canary")
    roles = ("planner", "rewriter", "decomposer", "reorderer", "summarizer", "reader")
    index_fees(tmp_path)
    with serve(Extractive(quote_first_sentence)) as server:
        llm = {"model": "openai:m", "base_url": server.base_url, "key_env": "CANARY"}
        with engine_at(tmp_path, llm=llm, roles=dict.fromkeys(roles, "llm")) as engine:
            answer = engine.ask(question, strategy="mao")
            assert engine.replay(str(answer.trace_id)).same
    assert answer.usage.llm_calls > 0
    assert answer.status in {"answered", "abstained"}


@dataclass
class RecordingPlanner:
    """A planner that records the plans reported as tried."""

    reported: list[list[str]] = field(default_factory=list)

    async def plan(
        self,
        question: Question,
        situation: QuestionFeatures,
        legal: Sequence[Workflow],
        context: RunContext,
        tried: Sequence[TriedWorkflow] = (),
    ) -> WorkflowPlan:
        self.reported.append([str(workflow) for workflow in tried])
        return WorkflowRules().choose(situation, legal)


def test_the_planner_hears_which_plans_were_tried() -> None:
    notes = RecordingPlanner()
    knows = KnowingReader({FIRST: "Acme"})
    run_to_end(make_mao(planner=notes, reader=knows), question=CHAIN)
    whole = f'"{CHAIN}" by QDS: no answer'
    assert notes.reported == [
        [],
        [whole],
        [whole, f'"{FIRST}" by R,DS,AG: "Acme", 90% sure'],
    ]
