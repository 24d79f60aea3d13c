"""Covers fathom.strategies.bus."""

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
from tests.making import QUESTION, engine_at, index_fees
from tests.strategies.running import Finds, Reads, Sleeps, finalizer, hits_of, ran, replays

from fathom.agents.comparer import Comparer
from fathom.agents.complexity import ComplexityAnalyser
from fathom.control.supervisor import Supervisor
from fathom.engine import Engine
from fathom.errors import RunError
from fathom.llm.base import Call, Completion
from fathom.runs.context import RunContext
from fathom.settings import Settings
from fathom.settings.hybrid import HybridSettings
from fathom.strategies.hybrid import Branch, BranchWeighing, Hybrid
from fathom.testing.doubles import OVERLAP, HashingEmbedder, run_context
from fathom.types import Hit
from fathom.usage import Budget, Usage

PAGE = Path(__file__).parent.parent.parent / "docs/strategies/hybrid.md"
A, B, C = hits_of("d1", "d2", "d3")


@dataclass
class Keeps:
    """A filter that keeps nothing as long as it is stricter than it is told, or breaks."""

    strictest: float = 1.0
    breaks: bool = False
    asked: list[float] = field(default_factory=list)

    async def keep(
        self, question: str, hits: Sequence[Hit], context: RunContext, *, strictness: float = 1.0
    ) -> tuple[Hit, ...]:
        self.asked.append(strictness)
        if self.breaks:
            raise ValueError
        return tuple(hits) if strictness <= self.strictest else ()


class Reverses:
    async def __call__(
        self, question: str, hits: Sequence[Hit], *, keep: int, context: RunContext
    ) -> tuple[Hit, ...]:
        return tuple(hits[::-1][:keep])


class Breaks:
    async def __call__(
        self, question: str, hits: Sequence[Hit], *, keep: int, context: RunContext
    ) -> tuple[Hit, ...]:
        raise IndexError


def hybrid(reader: Reads, keyword: Any, semantic: Any, **other: Any) -> Hybrid:
    preset = other.pop("settings", HybridSettings(weights="50/50"))
    filters = other.pop("filters", (None, None))
    made = Hybrid(
        weighing=BranchWeighing(analyser=ComplexityAnalyser(), settings=preset),
        branches=(
            Branch(name="keyword", search=keyword, filter=filters[0]),
            Branch(name="semantic", search=semantic, filter=filters[1]),
        ),
        supervisor=Supervisor(1, 0.5),
        comparer=Comparer(),
        reorderer=None,
        reader=reader,
        finalizer=finalizer("hybrid"),
        candidates=5,
        k=2,
        positions="rank",
    )
    return replace(made, **other)


def test_the_picture_in_the_docs_is_the_code() -> None:
    drawn = hybrid(Reads(), None, None).graph().compile().get_graph().draw_mermaid()
    assert f"```mermaid\n{drawn}```" in PAGE.read_text(encoding="utf-8")


def test_two_branches_of_agents_by_hand(tmp_path: Path) -> None:
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


def test_unread_hits_are_a_ranking(tmp_path: Path) -> None:
    with engine_at(index_fees(tmp_path), hybrid={"read": False}) as engine:
        answer = engine.ask(QUESTION, strategy="hybrid")
        trace = engine.traces.get(str(answer.trace_id))
        assert engine.replay(trace.id).same
    assert (answer.status, answer.confidence) == ("abstained", None)  # nothing was read
    steps = {step.name: step for step in trace.steps}
    compared = [chunk for chunk, _ in steps["compare"].outputs["scores"]]
    assert steps["list"].inputs["chunks"] == compared
    assert compared


def test_the_weights_decide_who_is_first() -> None:
    for weights, first in (("70/30", "d1#0"), ("30/70", "d2#0")):
        reader = Reads()
        preset = HybridSettings.model_validate({"weights": weights})
        lists = Finds([A, C]).search("k"), Finds([B, C]).search("s")
        ran(hybrid(reader, *lists, settings=preset))
        assert reader.given[0][0] == first


def test_a_branch_without_weight_is_not_asked() -> None:
    keyword, semantic = Finds([A]), Finds([B])
    preset = HybridSettings(weights="bm25")
    ran(hybrid(Reads(), keyword.search("k"), semantic.search("s"), settings=preset))
    assert (keyword.asked, semantic.asked) == (1, 0)


def test_what_is_reordered_is_read_in_that_order() -> None:
    reader = Reads()
    lists = Finds([A, B]).search("k"), Finds([A, C]).search("s")
    ran(hybrid(reader, *lists, reorderer=Reverses()))
    ran(hybrid(reader, *lists, reorderer=Breaks()))
    assert [given[0] for given in reader.given] == ["d3#0", "d1#0"]
    ran(hybrid(reader, *lists, k=3, positions="ends"))
    assert reader.given[2] == ("d1#0", "d3#0", "d2#0")


def test_any_number_of_branches_plugs_in() -> None:
    """The docstring of `Branch` says so."""

    def made() -> Hybrid:
        two = hybrid(reader, Finds([A, C]).search("k"), Finds([B, C]).search("s"), k=3)
        more = Branch(name="vector:other", search=Finds([C]).search("v"), weight=0.8)
        return replace(two, branches=(*two.branches, more))

    reader = Reads()
    outcome = ran(made())
    assert reader.given[0][0] == "d3#0"  # the third agent's
    assert outcome.answer.usage.retrievals == 3
    assert "search vector:other" in {step.id for step in outcome.trace.steps}
    assert replays(outcome, made())


def test_agents_plug_in_by_a_setting(tmp_path: Path) -> None:
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


def test_a_branch_that_stands_by_takes_the_place_of_one_that_brings_nothing() -> None:
    reader, standby = Reads(), Finds([C])

    def made(semantic: Finds) -> Hybrid:
        two = hybrid(reader, Finds([A, B]).search("k"), semantic.search("s"), k=3)
        more = Branch(name="standby", search=standby.search("b"), weight=0.0)
        return replace(two, branches=(*two.branches, more))

    ran(made(Finds([B])))
    assert (standby.asked, reader.given[0]) == (0, ("d1#0", "d2#0"))
    for semantic in (Finds([]), Finds([], breaks=99)):
        outcome = ran(made(semantic))
        assert reader.given[-1] == ("d1#0", "d3#0", "d2#0")
        last = [step for step in outcome.trace.steps if step.name == "supervise"][-2]
        assert last.outputs["weights"] == {"keyword": 0.5, "semantic": 0.0, "standby": 0.5}
        assert "standby instead of semantic" in last.reason
        assert replays(outcome, made(semantic))
    assert standby.asked == 2


def test_what_only_a_laxer_filter_keeps_counts_less() -> None:
    reader = Reads()
    lists = Finds([A, C]).search("k"), Finds([B, C]).search("s")
    preset = HybridSettings(weights="30/70")
    ran(hybrid(reader, *lists, settings=preset))
    ran(hybrid(reader, *lists, settings=preset, filters=(None, Keeps(strictest=0.5))))
    laxer = Supervisor(1, 0.2)
    strict = Keeps(strictest=0.2)
    ran(hybrid(reader, *lists, settings=preset, filters=(None, strict), supervisor=laxer))
    assert [given[0] for given in reader.given] == ["d2#0", "d2#0", "d1#0"]


def test_a_branch_that_breaks_once_is_sent_out_again() -> None:
    def made(keyword: Finds) -> Hybrid:
        return hybrid(Reads(), keyword.search("k"), Finds([B]).search("s"))

    keyword = Finds([A], breaks=1)
    outcome = ran(made(keyword))
    assert (keyword.asked, outcome.answer.status) == (2, "answered")
    assert outcome.answer.usage.retrievals == 3
    assert replays(outcome, made(Finds([])))


def test_a_branch_that_always_breaks_does_not_take_the_answer_with_it() -> None:
    keyword = Finds([A], breaks=99)
    outcome = ran(hybrid(Reads(), keyword.search("k"), Finds([A]).search("s")))
    assert (keyword.asked, outcome.answer.status) == (2, "answered")


def test_nor_does_one_that_never_comes_back() -> None:
    def made() -> Hybrid:
        return hybrid(Reads(), Sleeps(), Finds([A]).search("s"), supervisor=Supervisor(0))

    outcome = ran(made(), Budget(seconds=1.0))
    assert outcome.answer.status == "answered"
    assert replays(outcome, made())


def test_where_both_break_something_is_broken() -> None:
    bad = Finds([], breaks=99)
    with pytest.raises(RunError, match="every retriever failed"):
        ran(hybrid(Reads(), bad.search("k"), bad.search("s")))


def test_a_filter_that_keeps_nothing_is_asked_to_be_laxer() -> None:
    lax, never, broken = Keeps(strictest=0.5), Keeps(strictest=0.1), Keeps(breaks=True)
    finds = Finds([A])
    searches = finds.search("k"), finds.search("s")
    reader = Reads()
    ran(hybrid(reader, *searches, filters=(lax, never)))
    assert (lax.asked, never.asked) == ([1.0, 0.5], [1.0, 0.5])
    assert finds.asked == 2  # what was found is still there
    ran(hybrid(reader, *searches, filters=(broken, never)))
    assert (broken.asked, reader.given) == ([1.0], [("d1#0",), ("d1#0",)])


def test_an_order_to_search_and_one_to_filter_at_once_end_in_one_comparison() -> None:
    keyword, lax = Finds([A], breaks=1), Keeps(strictest=0.5)
    made = hybrid(Reads(), keyword.search("k"), Finds([B]).search("s"), filters=(None, lax))
    outcome = ran(made)
    names = [step.id for step in outcome.trace.steps]
    assert (names.count("supervise"), names.count("supervise#2")) == (1, 1)
    assert names.count("compare") == 1


@pytest.mark.parametrize("retries", [0, 1, 5])
def test_the_flow_ends_whatever_the_branches_do(retries: int) -> None:
    keyword, never = Finds([A], breaks=99), Keeps(strictest=0.0)
    made = hybrid(Reads(), keyword.search("k"), Finds([B]).search("s"), filters=(None, never))
    outcome = ran(replace(made, supervisor=Supervisor(retries)))
    assert outcome.answer.stop_reason == "no_evidence"
    assert keyword.asked == len(never.asked) == retries + 1


@given(
    breaks=st.tuples(st.integers(0, 3), st.integers(0, 3)),
    strictest=st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 0.5, 1.0])),
    empty=st.tuples(st.booleans(), st.booleans()),
    retries=st.integers(0, 2),
    retrievals=st.none() | st.integers(0, 4),
)
@settings(max_examples=25, deadline=None)
def test_whatever_the_branches_do_one_with_hits_is_enough(
    breaks: tuple[int, int],
    strictest: tuple[float, float],
    empty: tuple[bool, bool],
    retries: int,
    retrievals: int | None,
) -> None:
    def made() -> Hybrid:
        finds = [
            Finds([] if none else [A], breaks=n) for none, n in zip(empty, breaks, strict=True)
        ]
        filters = tuple(Keeps(strictest=most) for most in strictest)
        keyword, semantic = (each.search(str(n)) for n, each in enumerate(finds))
        return hybrid(Reads(), keyword, semantic, filters=filters, supervisor=Supervisor(retries))

    try:
        outcome = ran(made(), Budget(retrievals=retrievals))
    except RunError:
        assert min(breaks) > retries  # both broke off each time
        return
    comes = [
        n <= retries and not none and 0.5**retries <= most
        for n, none, most in zip(breaks, empty, strictest, strict=True)
    ]
    if retrievals is None:
        assert (outcome.answer.status == "answered") == any(comes)
    assert replays(outcome, made())


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("ISO 9001 audit", (0.6, 0.4)),
        ("Berapa biaya izin tambat kapal dan di mana itu dibayar?", (0.9, 0.1)),
    ],
)
def test_the_question_weighs_the_branches(question: str, expected: tuple[float, float]) -> None:
    weighing = BranchWeighing(analyser=ComplexityAnalyser(), settings=HybridSettings())
    with run_context() as context:
        weights = asyncio.run(weighing(question, context))
    assert tuple(weights.values()) == expected


class Ranks:
    """A language model that puts the last chunk first, whatever is asked."""

    name = "openai:m"

    async def complete(self, call: Call) -> Completion:
        count = call.messages[1].text.count(" chunk ")
        order = {"order": list(range(count, 0, -1))}
        usage = Usage(llm_calls=1, prompt_tokens=9, completion_tokens=9)
        return Completion(text=json.dumps(order), model=self.name, usage=usage)


def test_a_language_model_may_reorder_and_the_rest_be_local(tmp_path: Path) -> None:
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
        connect=lambda _: Ranks(),
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
