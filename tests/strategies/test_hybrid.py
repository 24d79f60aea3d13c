"""The hybrid strategy and its bus of branches."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.factories import QUESTION, engine_at, hit_of, index_fees
from tests.strategies.scripted_run import (
    EndlessSearch,
    QuotingReader,
    ScriptedRetriever,
    is_replayed,
    make_finalizer,
    make_hits,
    run_to_end,
)

from fathom.agents.comparer import Comparer
from fathom.agents.complexity import ComplexityAnalyser
from fathom.control.supervisor import Supervisor
from fathom.engine import Engine
from fathom.errors import RunError
from fathom.llm.base import Call, Completion
from fathom.question.question import Question
from fathom.runs.context import RunContext
from fathom.settings import Settings
from fathom.settings.hybrid import HybridSettings
from fathom.strategies.hybrid import Branch, BranchWeighing, Hybrid
from fathom.testing.doubles import OVERLAP, HashingEmbedder, run_context
from fathom.text.content_words import ContentTerms
from fathom.types import Hit
from fathom.usage import Budget, Usage

PAGE = Path(__file__).parent.parent.parent / "docs/strategies/hybrid.md"
A, B, C = make_hits("d1", "d2", "d3")


@dataclass
class StrictFilter:
    """A filter that keeps nothing while it is stricter than a limit, or fails."""

    strictest: float = 1.0
    breaks: bool = False
    calls: list[float] = field(default_factory=list)
    entities: tuple[str, ...] = ()

    async def keep(
        self,
        question: Question,
        hits: Sequence[Hit],
        context: RunContext,
        *,
        strictness: float = 1.0,
        entities: Sequence[str] = (),
    ) -> tuple[Hit, ...]:
        self.calls.append(strictness)
        self.entities = tuple(entities)
        if self.breaks:
            raise ValueError
        return tuple(hits) if strictness <= self.strictest else ()


class ReversingReorderer:
    async def __call__(
        self, question: Question, hits: Sequence[Hit], *, keep: int, context: RunContext
    ) -> tuple[Hit, ...]:
        return tuple(hits[::-1][:keep])


class FailingReader:
    async def __call__(
        self, question: Question, hits: Sequence[Hit], *, keep: int, context: RunContext
    ) -> tuple[Hit, ...]:
        raise IndexError


def make_hybrid(reader: QuotingReader, keyword: Any, semantic: Any, **other: Any) -> Hybrid:
    preset = other.pop("settings", HybridSettings(weights="50/50"))
    filters = other.pop("filters", (None, None))
    strategy = Hybrid(
        weighing=BranchWeighing(analyser=ComplexityAnalyser(), settings=preset),
        branches=(
            Branch(name="keyword", search=keyword, filter=filters[0]),
            Branch(name="semantic", search=semantic, filter=filters[1]),
        ),
        supervisor=Supervisor(1, 0.5),
        comparer=Comparer(),
        reorderer=None,
        reader=reader,
        finalizer=make_finalizer("hybrid"),
        extract_terms=ContentTerms(),
        candidates=5,
        k=2,
        positions="rank",
    )
    return replace(strategy, **other)


def test_the_picture_in_the_docs_is_the_code() -> None:
    drawn = make_hybrid(QuotingReader(), None, None).graph().compile().get_graph().draw_mermaid()
    assert f"```mermaid\n{drawn}```" in PAGE.read_text(encoding="utf-8")


def test_two_branches_are_merged_as_by_hand(tmp_path: Path) -> None:
    with engine_at(index_fees(tmp_path)) as engine:
        answer = engine.ask(QUESTION, strategy="hybrid")
        trace = engine.traces.get(str(answer.trace_id))
    assert answer.usage.retrievals == 2
    top = sorted(step.id for step in trace.steps if not step.parent)
    assert top == [
        "analyse",
        "compare",
        "filter keyword",
        "filter semantic",
        "finalize",
        "read",
        "search keyword",
        "search semantic",
        "supervise",
    ]


def test_unread_hits_form_a_ranking(tmp_path: Path) -> None:
    with engine_at(index_fees(tmp_path), hybrid={"read": False}) as engine:
        answer = engine.ask(QUESTION, strategy="hybrid")
        trace = engine.traces.get(str(answer.trace_id))
        assert engine.replay(trace.id).same
    assert (answer.status, answer.confidence) == ("abstained", None)  # nothing was read
    steps = {step.name: step for step in trace.steps}
    compared = [chunk for chunk, _ in steps["compare"].outputs["scores"]]
    assert steps["list"].inputs["chunks"] == compared
    assert compared


def test_the_weights_decide_which_hit_is_first() -> None:
    for weights, first in (("70/30", "d1#0"), ("30/70", "d2#0")):
        reader = QuotingReader()
        preset = HybridSettings.model_validate({"weights": weights})
        lists = ScriptedRetriever([A, C]).search("k"), ScriptedRetriever([B, C]).search("s")
        run_to_end(make_hybrid(reader, *lists, settings=preset))
        assert reader.read_ids[0][0] == first


def test_a_branch_without_weight_is_not_asked() -> None:
    keyword, semantic = ScriptedRetriever([A]), ScriptedRetriever([B])
    preset = HybridSettings(weights="bm25")
    run_to_end(
        make_hybrid(QuotingReader(), keyword.search("k"), semantic.search("s"), settings=preset)
    )
    assert (keyword.calls, semantic.calls) == (1, 0)


def test_reordered_hits_are_read_in_the_new_order() -> None:
    reader = QuotingReader()
    lists = ScriptedRetriever([A, B]).search("k"), ScriptedRetriever([A, C]).search("s")
    run_to_end(make_hybrid(reader, *lists, reorderer=ReversingReorderer()))
    run_to_end(make_hybrid(reader, *lists, reorderer=FailingReader()))
    assert [ids[0] for ids in reader.read_ids] == ["d3#0", "d1#0"]
    run_to_end(make_hybrid(reader, *lists, k=3, positions="ends"))
    assert reader.read_ids[2] == ("d1#0", "d3#0", "d2#0")


def test_any_number_of_branches_can_be_plugged_in() -> None:
    """Check what the docstring of `Branch` promises."""

    def make_three_branches() -> Hybrid:
        two = make_hybrid(
            reader,
            ScriptedRetriever([A, C]).search("k"),
            ScriptedRetriever([B, C]).search("s"),
            k=3,
        )
        more = Branch(name="vector:other", search=ScriptedRetriever([C]).search("v"), weight=0.8)
        return replace(two, branches=(*two.branches, more))

    reader = QuotingReader()
    outcome = run_to_end(make_three_branches())
    assert reader.read_ids[0][0] == "d3#0"  # the third agent's
    assert outcome.answer.usage.retrievals == 3
    assert "search vector:other" in {step.id for step in outcome.trace.steps}
    assert is_replayed(outcome, make_three_branches())


def test_agents_are_plugged_in_by_a_setting(tmp_path: Path) -> None:
    agents = {"agents": ["keyword_feedback", "lead"], "agent_weights": [0.3, 0.0]}
    with engine_at(index_fees(tmp_path), hybrid=agents) as engine:
        answer = engine.ask(QUESTION, strategy="hybrid")
        trace = engine.traces.get(str(answer.trace_id))
        assert engine.replay(trace.id).same
    assert (answer.status, answer.usage.retrievals) == ("answered", 3)
    top = {step.id: step for step in trace.steps if not step.parent}
    assert "search keyword_feedback" in top
    assert "search lead" not in top  # it stands by
    assert top["supervise"].outputs["weights"]["keyword_feedback"] == 0.3


@pytest.mark.parametrize(
    "wrong",
    [
        {"agents": ["keyword"]},
        {"agents": ["lead", "lead"]},
        {"agents": ["nobody"]},
        {"agents": ["lead"], "agent_weights": [0.1, 0.2]},
        {"agent_weights": [0.1]},
    ],
)
def test_agents_are_named_once_and_weighed_each(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="agent"):
        HybridSettings.model_validate(wrong)


def test_a_standby_branch_replaces_one_without_hits() -> None:
    reader, standby = QuotingReader(), ScriptedRetriever([C])

    def make_with_standby(semantic: ScriptedRetriever) -> Hybrid:
        two = make_hybrid(reader, ScriptedRetriever([A, B]).search("k"), semantic.search("s"), k=3)
        more = Branch(name="standby", search=standby.search("b"), weight=0.0)
        return replace(two, branches=(*two.branches, more))

    run_to_end(make_with_standby(ScriptedRetriever([B])))
    assert (standby.calls, reader.read_ids[0]) == (0, ("d1#0", "d2#0"))
    for semantic in (ScriptedRetriever([]), ScriptedRetriever([], breaks=99)):
        outcome = run_to_end(make_with_standby(semantic))
        assert reader.read_ids[-1] == ("d1#0", "d3#0", "d2#0")
        last = [step for step in outcome.trace.steps if step.name == "supervise"][-2]
        assert last.outputs["weights"] == {"keyword": 0.5, "semantic": 0.0, "standby": 0.5}
        assert "standby instead of semantic" in last.reason
        assert is_replayed(outcome, make_with_standby(semantic))
    assert standby.calls == 2


def test_hits_kept_only_by_a_laxer_filter_count_less() -> None:
    reader = QuotingReader()
    lists = ScriptedRetriever([A, C]).search("k"), ScriptedRetriever([B, C]).search("s")
    preset = HybridSettings(weights="30/70")
    run_to_end(make_hybrid(reader, *lists, settings=preset))
    run_to_end(
        make_hybrid(reader, *lists, settings=preset, filters=(None, StrictFilter(strictest=0.5)))
    )
    laxer = Supervisor(1, 0.2)
    strict = StrictFilter(strictest=0.2)
    run_to_end(
        make_hybrid(reader, *lists, settings=preset, filters=(None, strict), supervisor=laxer)
    )
    assert [ids[0] for ids in reader.read_ids] == ["d2#0", "d2#0", "d1#0"]


def test_a_branch_that_fails_once_is_tried_again() -> None:
    def make_with_keyword(keyword: ScriptedRetriever) -> Hybrid:
        return make_hybrid(QuotingReader(), keyword.search("k"), ScriptedRetriever([B]).search("s"))

    keyword = ScriptedRetriever([A], breaks=1)
    outcome = run_to_end(make_with_keyword(keyword))
    assert (keyword.calls, outcome.answer.status) == (2, "answered")
    assert outcome.answer.usage.retrievals == 3
    assert is_replayed(outcome, make_with_keyword(ScriptedRetriever([])))


def test_a_branch_that_always_fails_does_not_lose_the_answer() -> None:
    keyword = ScriptedRetriever([A], breaks=99)
    outcome = run_to_end(
        make_hybrid(QuotingReader(), keyword.search("k"), ScriptedRetriever([A]).search("s"))
    )
    assert (keyword.calls, outcome.answer.status) == (2, "answered")


def test_a_branch_that_never_returns_does_not_lose_the_answer() -> None:
    def make_with_endless_branch() -> Hybrid:
        return make_hybrid(
            QuotingReader(),
            EndlessSearch(),
            ScriptedRetriever([A]).search("s"),
            supervisor=Supervisor(0),
        )

    outcome = run_to_end(make_with_endless_branch(), Budget(seconds=1.0))
    assert outcome.answer.status == "answered"
    assert is_replayed(outcome, make_with_endless_branch())


def test_if_both_branches_fail_the_run_fails() -> None:
    bad = ScriptedRetriever([], breaks=99)
    with pytest.raises(RunError, match="every retriever failed"):
        run_to_end(make_hybrid(QuotingReader(), bad.search("k"), bad.search("s")))


def test_a_filter_that_keeps_nothing_is_asked_to_be_laxer() -> None:
    lax, never, broken = (
        StrictFilter(strictest=0.5),
        StrictFilter(strictest=0.1),
        StrictFilter(breaks=True),
    )
    finds = ScriptedRetriever([A])
    searches = finds.search("k"), finds.search("s")
    reader = QuotingReader()
    run_to_end(make_hybrid(reader, *searches, filters=(lax, never)))
    assert (lax.calls, never.calls) == ([1.0, 0.5], [1.0, 0.5])
    assert finds.calls == 2  # what was found is still there
    run_to_end(make_hybrid(reader, *searches, filters=(broken, never)))
    assert (broken.calls, reader.read_ids) == ([1.0], [("d1#0",), ("d1#0",)])


def test_only_an_order_to_filter_again_makes_a_filter_laxer() -> None:
    again, late, empty = StrictFilter(), StrictFilter(), StrictFilter(strictest=0.0)
    keyword, semantic = ScriptedRetriever([A], breaks=1), ScriptedRetriever([B])
    searches = keyword.search("k"), semantic.search("s")
    run_to_end(
        make_hybrid(
            QuotingReader(), *searches, filters=(again, empty), supervisor=Supervisor(3, 0.5)
        )
    )
    assert (again.calls, empty.calls) == ([1.0], [1.0, 0.5, 0.25, 0.125])
    standby = Branch(
        name="standby", search=ScriptedRetriever([C]).search("t"), filter=late, weight=0
    )
    strategy = make_hybrid(QuotingReader(), *searches, filters=(empty, empty))
    run_to_end(replace(strategy, branches=(*strategy.branches, standby)))
    assert late.calls == [1.0]


def test_simultaneous_retries_of_search_and_filter_end_in_one_comparison() -> None:
    keyword, lax = ScriptedRetriever([A], breaks=1), StrictFilter(strictest=0.5)
    strategy = make_hybrid(
        QuotingReader(),
        keyword.search("k"),
        ScriptedRetriever([B]).search("s"),
        filters=(None, lax),
    )
    outcome = run_to_end(strategy)
    names = [step.id for step in outcome.trace.steps]
    assert (names.count("supervise"), names.count("supervise#2")) == (1, 1)
    assert names.count("compare") == 1


@pytest.mark.parametrize("retries", [0, 1, 5])
def test_the_flow_ends_whatever_the_branches_do(retries: int) -> None:
    keyword, never = ScriptedRetriever([A], breaks=99), StrictFilter(strictest=0.0)
    strategy = make_hybrid(
        QuotingReader(),
        keyword.search("k"),
        ScriptedRetriever([B]).search("s"),
        filters=(None, never),
    )
    outcome = run_to_end(replace(strategy, supervisor=Supervisor(retries)))
    assert outcome.answer.stop_reason == "no_evidence"
    assert keyword.calls == len(never.calls) == retries + 1


@given(
    breaks=st.tuples(st.integers(0, 3), st.integers(0, 3)),
    strictest=st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 0.5, 1.0])),
    empty=st.tuples(st.booleans(), st.booleans()),
    retries=st.integers(0, 2),
    retrievals=st.none() | st.integers(0, 4),
)
@settings(max_examples=25, deadline=None)
def test_one_branch_with_hits_is_enough(
    breaks: tuple[int, int],
    strictest: tuple[float, float],
    empty: tuple[bool, bool],
    retries: int,
    retrievals: int | None,
) -> None:
    def make_with_failures() -> Hybrid:
        finds = [
            ScriptedRetriever([] if none else [A], breaks=n)
            for none, n in zip(empty, breaks, strict=True)
        ]
        filters = tuple(StrictFilter(strictest=most) for most in strictest)
        keyword, semantic = (retriever.search(str(n)) for n, retriever in enumerate(finds))
        return make_hybrid(
            QuotingReader(), keyword, semantic, filters=filters, supervisor=Supervisor(retries)
        )

    try:
        outcome = run_to_end(make_with_failures(), Budget(retrievals=retrievals))
    except RunError:
        assert min(breaks) > retries  # both broke off each time
        return
    comes = [
        n <= retries and not none and 0.5 ** (retries - n) <= most
        for n, none, most in zip(breaks, empty, strictest, strict=True)
    ]
    if retrievals is None:
        assert (outcome.answer.status == "answered") == any(comes)
    assert is_replayed(outcome, make_with_failures())


def test_the_type_in_the_message_of_the_analyser_weighs_the_branches() -> None:
    lists = ScriptedRetriever([A]).search("k"), ScriptedRetriever([B]).search("s")
    weights = []
    for question in ("ISO 9001 audit", "Link Azure AD to Outlook and export access logs"):
        strategy = make_hybrid(QuotingReader(), *lists, settings=HybridSettings())
        outcome = run_to_end(strategy, question=question)
        supervise = next(step for step in outcome.trace.steps if step.name == "supervise")
        weights.append((supervise.inputs["messages"]["analyse"]["type"], supervise.outputs))
    (simple, first), (complex_, second) = weights
    assert (simple, first["weights"]) == ("simple", {"keyword": 0.6, "semantic": 0.4})
    assert (complex_, second["weights"]) == ("complex", {"keyword": 0.3, "semantic": 0.7})


def test_the_filters_get_the_entities_of_the_message() -> None:
    asked = StrictFilter()
    lists = ScriptedRetriever([A]).search("k"), ScriptedRetriever([B]).search("s")
    run_to_end(
        make_hybrid(QuotingReader(), *lists, filters=(asked, None)),
        question="Who pays for a permit of Sandholm in 1921?",
    )
    assert asked.entities == ("1921", "Sandholm")


def test_a_branch_of_low_confidence_counts_less_and_the_standby_gets_the_rest() -> None:
    """The semantic branch has hits, but none with more than one word of the question."""
    far = hit_of("A zebra has a cost, too.", document="d2")
    lists = ScriptedRetriever([A]).search("k"), ScriptedRetriever([far]).search("s")
    standby = ScriptedRetriever([C])

    def make_with_standby() -> Hybrid:
        two = make_hybrid(QuotingReader(), *lists, settings=HybridSettings(weights="30/70"))
        more = Branch(name="standby", search=standby.search("b"), weight=0.0)
        return replace(two, branches=(*two.branches, more))

    outcome = run_to_end(make_with_standby())
    first, second = [step for step in outcome.trace.steps if step.name == "supervise"]
    assert first.inputs["messages"]["filter keyword"]["confidence"] == 0.8
    assert first.inputs["messages"]["filter semantic"]["confidence"] < 0.5
    assert first.reason == "semantic: low confidence; standby beside semantic"
    assert second.outputs["weights"] == {"keyword": 0.3, "semantic": 0.35, "standby": 0.35}
    assert standby.calls == 1
    assert is_replayed(outcome, make_with_standby())
    sure = make_hybrid(QuotingReader(), *lists, supervisor=Supervisor(1, low_confidence=0.0))
    supervise = next(step for step in run_to_end(sure).trace.steps if step.name == "supervise")
    assert supervise.outputs["weights"] == {"keyword": 0.5, "semantic": 0.5}


@pytest.mark.parametrize(
    ("question", "settings", "expected"),
    [
        ("ISO 9001 audit", HybridSettings(), (0.6, 0.4)),
        ("Apa syarat izin tambat?", HybridSettings(), (0.9, 0.1)),
        # As in the paper, whose weights go by the complexity alone.
        ("Apa syarat izin tambat?", HybridSettings(foreign=()), (0.6, 0.4)),
        (
            "Berapa biaya izin tambat kapal dan di mana itu dibayar?",
            HybridSettings(foreign=()),
            (0.3, 0.7),
        ),
    ],
)
def test_the_question_weighs_the_branches(
    question: str, settings: HybridSettings, expected: tuple[float, float]
) -> None:
    assert Question(question).language == ("en" if question.startswith("ISO") else "id")
    weighing = BranchWeighing(analyser=ComplexityAnalyser(), settings=settings)
    with run_context() as context:
        message = asyncio.run(weighing.analyse(Question(question), context))
    weights = weighing.choose_weights(Question(question), message.complexity)
    assert tuple(weights.values()) == expected


class LastFirstModel:
    """A language model that always ranks the last chunk first."""

    name = "openai:m"

    async def complete(self, call: Call) -> Completion:
        count = call.messages[1].text.count(" chunk ")
        order = {"order": list(range(count, 0, -1))}
        usage = Usage(llm_calls=1, prompt_tokens=9, completion_tokens=9)
        return Completion(text=json.dumps(order), model=self.name, usage=usage)


def test_a_language_model_may_reorder_while_other_agents_are_local(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    for number in range(3):
        text = f"Permit {number} costs {number} crowns a year."
        (tmp_path / "corpus" / f"{number}.txt").write_text(text)
    tree = {
        "index": {"directory": tmp_path / "index"},
        "llm": {"model": "openai:m"},
        "roles": {"reorderer": "llm", "reader": "local"},
    }
    with Engine(
        Settings.model_validate(tree),
        embedder=HashingEmbedder(64),
        cross_reader=OVERLAP,
        connect=lambda _: LastFirstModel(),
    ) as engine:
        engine.ingest([tmp_path / "corpus"])
        answer = engine.ask("What does a permit cost?", strategy="hybrid")
        trace = engine.traces.get(str(answer.trace_id))
        assert engine.replay(trace.id).same
    steps = {step.name: step for step in trace.steps if step.agent}
    compared = [chunk for chunk, _ in steps["compare"].outputs["scores"]]
    assert steps["reorder"].verdict == "model"
    assert steps["read"].inputs["chunks"] == compared[::-1]
    assert (answer.usage.llm_calls, answer.usage.prompt_tokens) == (1, 9)
