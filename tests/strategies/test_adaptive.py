import asyncio
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.making import QUESTION, engine_at, index_fees, quote_first_sentence, read_fees
from tests.scripted_server import Extractive, serve

from fathom.engine import Engine
from fathom.errors import SettingsError
from fathom.models.reading import Reading
from fathom.planner.actions import Action, iterate_sequences
from fathom.runs.trace import Trace
from fathom.settings import Settings
from fathom.strategies.action_outcomes import ActionOutcome, iterate_outcomes
from fathom.strategies.adaptive import EXECUTOR_ACTIONS, Adaptive
from fathom.strategies.base import make_strategy
from fathom.testing.doubles import HashingEmbedder, ScriptedCrossReader, reading
from fathom.types import Answer, Chunk, Query
from fathom.usage import Budget

PAGE = Path(__file__).parent.parent.parent / "docs/strategies/adaptive.md"
CHAIN = "Who founded the company that distributed the film Harbour Lights?"
Reads = Callable[[str, Chunk], Reading]
Tree = dict[str, Any]
STEPS = {"deeper": "rerank", "expand": "rm3", "bridge": "hops", "split": "decompose"}
"""A step that an executor takes and no other part of the graph does."""


def crowns(question: str, chunk: Chunk) -> Reading:
    """Every chunk that says so many crowns answers what a permit costs."""
    hits = re.search(r"\d+ crowns", chunk.text)
    if hits and "cost" in question:
        return reading(chunk, hits.group(), 0.9, supported=0.9, unrelated=0.05)
    return reading(chunk, relevance=0.02, answerable=0.02)


@contextmanager
def harbour(
    folder: Path, texts: tuple[str, ...], read: Reads = crowns, **sections: Any
) -> Iterator[Engine]:
    """An engine over documents of these texts; by default its readers know crowns."""
    tree = {"index": {"directory": folder / "index"}, **sections}
    for number, text in enumerate(texts):
        (folder / f"{number}.md").write_text(f"# Paper {number}\n\n{text}\n")
    settings, pairs = Settings.model_validate(tree), ScriptedCrossReader(read)
    with Engine(settings, embedder=HashingEmbedder(64), cross_reader=pairs) as engine:
        engine.ingest([*folder.glob("*.md")])
        yield engine


def asked(engine: Engine, question: str = QUESTION, **more: Any) -> tuple[Answer, Trace]:
    answer = engine.ask(question, strategy="adaptive", **more)
    return answer, engine.traces.get(str(answer.trace_id))


def forced(folder: Path, *actions: str, **sections: Any) -> tuple[Answer, Trace]:
    """The answer and the trace of a run that executes these."""
    with engine_at(folder, adaptive={"forced": actions}, **sections) as engine:
        return asked(engine)


def chosen(trace: Trace) -> list[object]:
    return [step.outputs["action"] for step in trace.steps if step.agent == "planner"]


def test_the_picture_in_the_docs_is_the_code(tmp_path: Path) -> None:
    with engine_at(index_fees(tmp_path)) as engine:
        drawn = make_strategy("adaptive", engine.assembly).graph().compile().get_graph()
    assert f"```mermaid\n{drawn.draw_mermaid()}```" in PAGE.read_text(encoding="utf-8")


def test_a_first_look_is_as_sure_as_one_search_would_be(tmp_path: Path) -> None:
    texts = tuple(
        f"{'A mooring permit costs 40 crowns.' if at == 7 else f'Paper {at} on mooring fees.'}"
        + " The permit office is closed." * (at % 3)
        for at in range(30)
    )
    with harbour(tmp_path, texts) as engine:
        _, trace = asked(engine)
        naive = engine.trace(engine.ask(QUESTION, strategy="naive").trace_id or "")
    assert trace.signals
    assert trace.signals == naive.signals


def test_a_sure_first_look_is_all(tmp_path: Path) -> None:
    with engine_at(index_fees(tmp_path)) as engine:
        answer, trace = asked(engine)
        naive = engine.ask(QUESTION, strategy="naive")
    assert [step.id for step in trace.steps] == ["search", "read", "plan", "finalize"]
    assert (answer.status, answer.phase, answer.usage.retrievals) == ("answered", "look", 1)
    assert (answer.answer, answer.confidence) == (naive.answer, naive.confidence)


def test_what_is_not_sure_is_left_to_the_finalizer(tmp_path: Path) -> None:
    def unsure(question: str, chunk: Chunk) -> Reading:
        said = "40 crowns" if "40 crowns" in chunk.text else ""
        return reading(chunk, said, 0.2, answerable=0.2)

    def status(least: float) -> str:
        folder = tmp_path / str(least)
        folder.mkdir()
        texts = ("A mooring permit costs 40 crowns.",)
        with harbour(folder, texts, unsure, ask={"min_probability": least}) as engine:
            answer, trace = asked(engine)
        assert chosen(trace) == ["abstain"]
        return answer.status

    assert (status(0.4), status(0.0)) == ("abstained", "answered")


@pytest.mark.parametrize("actions", list(iterate_sequences(has_model=False, most=2)))
def test_forced_executors_work_in_their_order(tmp_path: Path, actions: tuple[Action, ...]) -> None:
    answer, trace = forced(index_fees(tmp_path), *actions)
    assert chosen(trace) == [*actions, "stop"]
    assert answer.status == "answered"
    taken = {step.id.rpartition("/")[2].partition("#")[0] for step in trace.steps}
    for executor, step in STEPS.items():
        assert (step in taken) == (executor in actions), executor


def test_decisions_and_their_probabilities_are_in_the_trace_and_replayed(tmp_path: Path) -> None:
    with engine_at(index_fees(tmp_path)) as engine:
        answer, trace = asked(engine, CHAIN)
        plans = [step for step in trace.steps if step.agent == "planner"]
        assert len(plans) > 1
        for step in plans:
            legal, odds = step.inputs["legal"], step.outputs["probabilities"]
            assert step.outputs["action"] in legal
            assert set(odds) <= set(legal)
            assert sum(odds.values()) == pytest.approx(1)
            assert step.reason
        assert engine.replay(str(answer.trace_id)).same


@pytest.mark.parametrize("executor", [action for action in EXECUTOR_ACTIONS if action != "model"])
def test_a_replay_of_any_executor_gives_the_same_bytes(tmp_path: Path, executor: str) -> None:
    own: Tree = {"adaptive": {"forced": [executor]}}
    with harbour(tmp_path, ("It costs 40 crowns.", "It costs 55 crowns."), **own) as engine:
        answer, trace = asked(engine)
        again, _ = asked(engine)
        assert engine.replay(str(answer.trace_id)).same
    assert chosen(trace)[0] == executor
    assert (answer.answer, answer.confidence) == (again.answer, again.confidence)


@pytest.mark.parametrize("actions", [("deeper", "deeper"), ("dig",), ("stop", "deeper")])
def test_what_is_not_legal_cannot_be_forced(tmp_path: Path, actions: tuple[str, ...]) -> None:
    with pytest.raises(SettingsError, match=r"adaptive\.forced = .* give at most 3 of deeper"):
        forced(index_fees(tmp_path), *actions)


def test_no_more_executors_than_are_allowed(tmp_path: Path) -> None:
    with engine_at(index_fees(tmp_path), adaptive={"executors": 0}) as engine:
        _, trace = asked(engine, "Which enzyme unwinds a helix?")
    assert len(chosen(trace)) == 1


@pytest.mark.parametrize("searches", range(7))
def test_what_the_ledger_could_not_pay_for_is_not_chosen(tmp_path: Path, searches: int) -> None:
    own: Tree = {"adaptive": {"forced": ["expand", "split", "bridge"]}}
    with engine_at(index_fees(tmp_path), **own) as engine:
        answer, trace = asked(engine, CHAIN, budget=Budget(retrievals=searches))
    legal = [step.inputs["legal"] for step in trace.steps if step.agent == "planner"]
    assert answer.usage.retrievals <= searches
    if searches == 0:
        assert (answer.status, answer.stop_reason) == ("abstained", "budget")
        return
    assert ("expand" in legal[0]) == (searches >= 2)
    assert ("split" in legal[0]) == (searches >= 5)
    assert "bridge" not in legal[0]


def test_what_the_budget_keeps_from_being_done_is_said(tmp_path: Path) -> None:
    own: Tree = {"adaptive": {"forced": ["expand"]}}
    question = "Which enzyme unwinds a helix?"
    with engine_at(index_fees(tmp_path), **own) as engine:
        poor, trace = asked(engine, question, budget=Budget(retrievals=1))
        rich, _ = asked(engine, question)
        assert engine.replay(str(poor.trace_id)).same
    assert chosen(trace) == ["stop"]
    assert (poor.status, poor.stop_reason) == ("abstained", "budget")
    assert (rich.status, rich.stop_reason) == ("abstained", "no_evidence")


def test_rivals_are_debated_and_the_verdict_takes_the_place_of_the_first_answer(
    tmp_path: Path,
) -> None:
    texts = ("A permit costs 40 crowns.", "A permit costs 55 crowns.", "It costs 55 crowns now.")
    with harbour(tmp_path, texts) as engine:
        naive = engine.ask(QUESTION, strategy="naive")
        answer, trace = asked(engine)
    assert naive.conflicts
    assert chosen(trace)[0] == "debate"
    assert (answer.phase, answer.short_answer.split()[0]) == ("debate", "55")
    assert ["40" in conflict.answer for conflict in answer.conflicts] == [True]


def test_a_comparison_is_decided_by_what_is_found_of_each_side(tmp_path: Path) -> None:
    question = "Who was born first, Ana Silva or Nora Berg?"
    texts = ("Ana Silva was born in 1902.", "Nora Berg was born in 1901. Ana Silva taught her.")

    def read(asked: str, chunk: Chunk) -> Reading:
        """Sure of the wrong one, unless it is asked about one of them only."""
        year = re.search(r"\d{4}", chunk.text)
        if asked.startswith("When") and year and asked.split()[2] in chunk.text[:40]:
            return reading(chunk, year.group(), 0.8, supported=0.9, unrelated=0.05)
        if asked.startswith("Who"):
            return reading(chunk, "Ana Silva", 0.95, supported=0.9, unrelated=0.05)
        return reading(chunk, relevance=0.02, answerable=0.02)

    own: Tree = {"adaptive": {"forced": ["split"]}}
    with harbour(tmp_path, texts, read, **own) as engine:
        answer, trace = asked(engine, question)
    (weighed,) = [step for step in trace.steps if step.id == "gate"]
    assert weighed.outputs["new"] < weighed.outputs["old"]
    assert (answer.phase, answer.short_answer) == ("split", "Nora Berg")


def test_where_documents_agree_a_debate_has_nothing_to_do(tmp_path: Path) -> None:
    own: Tree = {"adaptive": {"forced": ["debate"]}}
    with harbour(tmp_path, ("It costs 40 crowns.", "It costs 40 crowns now."), **own) as engine:
        answer, trace = asked(engine)
    assert answer.phase == "look"
    assert "debate" not in {step.id for step in trace.steps}
    assert "debate had nothing to do" in {step.reason for step in trace.steps}


def test_a_model_is_asked_for_what_the_local_reader_is_not_certain_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIPTED_KEY", "scripted")
    folder = index_fees(tmp_path)
    for certain, calls, phase in ((0.1, 0, "look"), (2.0, 1, "model")):
        with serve(Extractive(quote_first_sentence)) as server:
            llm: dict[str, object] = {"model": "openai:m", "key_env": "SCRIPTED_KEY"}
            llm |= {"base_url": server.base_url, "tries": 1, "skip_above_confidence": certain}
            tree = {"index": {"directory": folder / "index"}, "llm": llm}
            settings, pairs = Settings.model_validate(tree), ScriptedCrossReader(read_fees)
            with Engine(settings, embedder=HashingEmbedder(64), cross_reader=pairs) as engine:
                answer, trace = asked(engine)
                assert answer.usage.llm_calls == calls
                assert ("model" in chosen(trace)) == bool(calls)
                assert phase in {answer.phase, *(s.id for s in trace.steps), *chosen(trace)}
                poor, trace = asked(engine, budget=Budget(calls=0))
                assert (poor.status, poor.usage.llm_calls) == ("answered", 0)
                assert "model" not in chosen(trace)


def test_outcomes_are_those_of_forced_runs(tmp_path: Path) -> None:
    async def all_of(strategy: Adaptive, executor: Any) -> list[ActionOutcome]:
        found = iterate_outcomes(strategy, Query(text=QUESTION), executor, most=2)
        return [each async for each in found]

    folder = index_fees(tmp_path)
    with engine_at(folder) as engine:
        strategy = make_strategy("adaptive", engine.assembly)
        assert isinstance(strategy, Adaptive)
        found = asyncio.run(all_of(strategy, engine.executor))
    assert [each.tried for each in found] == list(iterate_sequences(has_model=False, most=2))
    for each in found:
        answer, _ = forced(folder, *each.tried)
        assert (each.answer.answer, each.answer.phase) == (answer.answer, answer.phase)
        assert each.usage.retrievals == answer.usage.retrievals
        assert each.observation.tried == each.tried


def test_retrievers_that_agree_are_a_signal(tmp_path: Path) -> None:
    async def first(strategy: Adaptive, executor: Any) -> ActionOutcome:
        return await anext(iterate_outcomes(strategy, Query(text=QUESTION), executor, most=0))

    texts = ("A permit costs 40 crowns.", "Ferries sail at noon.")
    shares = {}
    for retriever in ("hybrid", "keyword"):
        folder = tmp_path / retriever
        folder.mkdir()
        with harbour(folder, texts, adaptive={"retriever": retriever}) as engine:
            strategy = make_strategy("adaptive", engine.assembly)
            assert isinstance(strategy, Adaptive)
            found = asyncio.run(first(strategy, engine.executor))
            shares[retriever] = found.observation.agreement
    assert shares["keyword"] == 0
    assert shares["hybrid"] > 0
