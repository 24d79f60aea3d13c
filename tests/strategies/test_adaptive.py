import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from langgraph.runtime import Runtime
from tests.factories import QUESTION, engine_at, index_fees, quote_first_sentence, read_fees
from tests.scripted_server import Extractive, serve

from fathom.engine import Engine
from fathom.errors import SettingsError
from fathom.models.reading import Reading
from fathom.planner.actions import Action, iterate_sequences
from fathom.question.question import Question
from fathom.runs.context import RunContext
from fathom.runs.trace import Trace
from fathom.settings import Settings
from fathom.strategies.action_outcomes import ActionOutcome, iterate_outcomes
from fathom.strategies.adaptive import EXECUTOR_ACTIONS, Adaptive, AdaptiveState
from fathom.strategies.base import make_strategy
from fathom.testing.doubles import HashingEmbedder, ScriptedCrossReader, reading, run_context
from fathom.types import Answer, Chunk, Draft, Evidence, Hit, Span
from fathom.usage import Budget

PAGE = Path(__file__).parent.parent.parent / "docs/strategies/adaptive.md"
CHAIN = "Who founded the company that distributed the film Harbour Lights?"
ReadFunction = Callable[[str, Chunk], Reading]
SettingsTree = dict[str, Any]
STEPS = {"deeper": "rerank", "expand": "rm3", "bridge": "hops", "split": "decompose"}
"""A step that an executor takes and no other part of the graph does."""


def read_crowns(question: str, chunk: Chunk) -> Reading:
    """Read a chunk: any amount of crowns answers what a permit costs."""
    hits = re.search(r"\d+ crowns", chunk.text)
    if hits and "cost" in question:
        return reading(chunk, hits.group(), 0.9, supported=0.9, unrelated=0.05)
    return reading(chunk, relevance=0.02, answerable=0.02)


@contextmanager
def open_harbour(
    folder: Path,
    texts: tuple[str, ...],
    read: ReadFunction = read_crowns,
    *,
    title: str = "Paper {}",
    **sections: Any,
) -> Iterator[Engine]:
    """Open an engine over documents of these texts; by default its reader knows crowns."""
    tree = {"index": {"directory": folder / "index"}, **sections}
    for number, text in enumerate(texts):
        (folder / f"{number}.md").write_text(f"# {title.format(number)}\n\n{text}\n")
    settings, pairs = Settings.model_validate(tree), ScriptedCrossReader(read)
    with Engine(settings, embedder=HashingEmbedder(64), cross_reader=pairs) as engine:
        engine.ingest([*folder.glob("*.md")])
        yield engine


def ask(engine: Engine, question: str = QUESTION, **more: Any) -> tuple[Answer, Trace]:
    answer = engine.ask(question, strategy="adaptive", **more)
    return answer, engine.traces.get(str(answer.trace_id))


def run_forced(folder: Path, *actions: str, **sections: Any) -> tuple[Answer, Trace]:
    """Return the answer and the trace of a run that executes these actions."""
    with engine_at(folder, adaptive={"forced": actions}, **sections) as engine:
        return ask(engine)


def list_actions(trace: Trace) -> list[object]:
    return [step.outputs["action"] for step in trace.steps if step.agent == "planner"]


def test_the_picture_in_the_docs_is_the_code(tmp_path: Path) -> None:
    with engine_at(index_fees(tmp_path)) as engine:
        drawn = make_strategy("adaptive", engine.assembly).graph().compile().get_graph()
    assert f"```mermaid\n{drawn.draw_mermaid()}```" in PAGE.read_text(encoding="utf-8")


def test_the_confidence_of_a_first_look_is_that_of_one_search(tmp_path: Path) -> None:
    texts = tuple(
        f"{'A mooring permit costs 40 crowns.' if at == 7 else f'Paper {at} on mooring fees.'}"
        + " The permit office is closed." * (at % 3)
        for at in range(30)
    )
    with open_harbour(tmp_path, texts) as engine:
        _, trace = ask(engine)
        naive = engine.trace(engine.ask(QUESTION, strategy="naive").trace_id or "")
    assert trace.signals
    assert trace.signals == naive.signals


def test_a_confident_first_look_ends_the_run(tmp_path: Path) -> None:
    with engine_at(index_fees(tmp_path)) as engine:
        answer, trace = ask(engine)
        naive = engine.ask(QUESTION, strategy="naive")
    assert [step.id for step in trace.steps] == ["search", "read", "plan", "finalize"]
    assert (answer.status, answer.phase, answer.usage.retrievals) == ("answered", "look", 1)
    assert (answer.answer, answer.confidence) == (naive.answer, naive.confidence)


def test_an_unsure_answer_is_left_to_the_finalizer(tmp_path: Path) -> None:
    def read_unsure(question: str, chunk: Chunk) -> Reading:
        short = "40 crowns" if "40 crowns" in chunk.text else ""
        return reading(chunk, short, 0.2, answerable=0.2)

    def ask_status(least: float) -> str:
        folder = tmp_path / str(least)
        folder.mkdir()
        texts = ("A mooring permit costs 40 crowns.",)
        with open_harbour(folder, texts, read_unsure, ask={"min_probability": least}) as engine:
            answer, trace = ask(engine)
        assert list_actions(trace) == ["abstain"]
        return answer.status

    assert (ask_status(0.4), ask_status(0.0)) == ("abstained", "answered")


@pytest.mark.parametrize("actions", list(iterate_sequences(has_model=False, most=2)))
def test_forced_executors_work_in_their_order(tmp_path: Path, actions: tuple[Action, ...]) -> None:
    answer, trace = run_forced(index_fees(tmp_path), *actions)
    assert list_actions(trace) == [*actions, "stop"]
    assert answer.status == "answered"
    taken = {step.id.rpartition("/")[2].partition("#")[0] for step in trace.steps}
    for executor, step in STEPS.items():
        assert (step in taken) == (executor in actions), executor


def test_decisions_and_their_probabilities_are_in_the_trace_and_replayed(tmp_path: Path) -> None:
    with engine_at(index_fees(tmp_path)) as engine:
        answer, trace = ask(engine, CHAIN)
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
    sections: SettingsTree = {"adaptive": {"forced": [executor]}}
    with open_harbour(
        tmp_path, ("It costs 40 crowns.", "It costs 55 crowns."), **sections
    ) as engine:
        answer, trace = ask(engine)
        again, _ = ask(engine)
        assert engine.replay(str(answer.trace_id)).same
    assert list_actions(trace)[0] == executor
    assert (answer.answer, answer.confidence) == (again.answer, again.confidence)


@pytest.mark.parametrize("actions", [("deeper", "deeper"), ("dig",), ("stop", "deeper")])
def test_an_illegal_executor_cannot_be_forced(tmp_path: Path, actions: tuple[str, ...]) -> None:
    with pytest.raises(SettingsError, match=r"adaptive\.forced = .* give at most 3 of deeper"):
        run_forced(index_fees(tmp_path), *actions)


def test_no_more_executors_run_than_allowed(tmp_path: Path) -> None:
    with engine_at(index_fees(tmp_path), adaptive={"executors": 0}) as engine:
        _, trace = ask(engine, "Which enzyme unwinds a helix?")
    assert len(list_actions(trace)) == 1


@pytest.mark.parametrize("searches", range(7))
def test_an_executor_beyond_the_budget_is_not_chosen(tmp_path: Path, searches: int) -> None:
    sections: SettingsTree = {"adaptive": {"forced": ["expand", "split", "bridge"]}}
    with engine_at(index_fees(tmp_path), **sections) as engine:
        answer, trace = ask(engine, CHAIN, budget=Budget(retrievals=searches))
    legal = [step.inputs["legal"] for step in trace.steps if step.agent == "planner"]
    assert answer.usage.retrievals <= searches
    if searches == 0:
        assert (answer.status, answer.stop_reason) == ("abstained", "budget")
        return
    assert ("expand" in legal[0]) == (searches >= 2)
    assert ("split" in legal[0]) == (searches >= 5)
    assert "bridge" not in legal[0]


def test_an_executor_that_the_budget_prevents_is_reported(tmp_path: Path) -> None:
    sections: SettingsTree = {"adaptive": {"forced": ["expand"]}}
    question = "Which enzyme unwinds a helix?"
    with engine_at(index_fees(tmp_path), **sections) as engine:
        poor, trace = ask(engine, question, budget=Budget(retrievals=1))
        rich, _ = ask(engine, question)
        assert engine.replay(str(poor.trace_id)).same
    assert list_actions(trace) == ["stop"]
    assert (poor.status, poor.stop_reason) == ("abstained", "budget")
    assert (rich.status, rich.stop_reason) == ("abstained", "no_evidence")


def test_rival_answers_are_debated_and_the_verdict_replaces_the_first_draft(
    tmp_path: Path,
) -> None:
    texts = ("A permit costs 40 crowns.", "A permit costs 55 crowns.", "It costs 55 crowns now.")
    with open_harbour(tmp_path, texts) as engine:
        naive = engine.ask(QUESTION, strategy="naive")
        answer, trace = ask(engine)
    assert naive.conflicts
    assert list_actions(trace)[0] == "debate"
    (verdict,) = [step for step in trace.steps if step.name == "aggregate"]
    assert verdict.outputs["readings"] == [["55", [0, 2]], ["40", [1]]]
    # Even so, both are named: more documents are no proof.
    assert (answer.phase, answer.disputed) == ("debate", True)
    assert [conflict.answer[:2] for conflict in answer.conflicts] == ["40", "55"]


def test_a_comparison_is_decided_by_the_evidence_of_each_side(tmp_path: Path) -> None:
    question = "Who was born first, Ana Silva or Nora Berg?"
    texts = ("Ana Silva was born in 1902.", "Nora Berg was born in 1901. Ana Silva taught her.")

    def read(question: str, chunk: Chunk) -> Reading:
        """Be sure of the wrong side, unless asked about one side only."""
        year = re.search(r"\d{4}", chunk.text)
        if question.startswith("When") and year and question.split()[2] in chunk.text[:40]:
            return reading(chunk, year.group(), 0.8, supported=0.9, unrelated=0.05)
        if question.startswith("Who"):
            return reading(chunk, "Ana Silva", 0.95, supported=0.9, unrelated=0.05)
        return reading(chunk, relevance=0.02, answerable=0.02)

    sections: SettingsTree = {"adaptive": {"forced": ["split"]}}
    with open_harbour(tmp_path, texts, read, **sections) as engine:
        answer, trace = ask(engine, question)
    (weighed,) = [step for step in trace.steps if step.id == "gate"]
    assert weighed.outputs["new"] < weighed.outputs["old"]
    assert (answer.phase, answer.short_answer) == ("split", "Nora Berg")


COMPANY = (
    "The film Harbour Lights was distributed by Acme.",
    "Acme was founded by Ada Berg in Oslo.",
    "The harbour office opens at nine.",
)


def read_company(question: str, chunk: Chunk) -> Reading:
    """Read a chunk as a reader does that takes the company where its founder is asked for."""
    if "Lights" in question and "distributed by" in chunk.text:
        score = 0.9 if question == CHAIN else 0.99
        return reading(chunk, "Acme", score, answerable=score, supported=0.9, unrelated=0.02)
    if "Acme?" in question and "founded by" in chunk.text:
        return reading(chunk, "Ada Berg", 0.99, answerable=0.99, supported=0.9, unrelated=0.02)
    return reading(chunk, relevance=0.02, answerable=0.02)


def test_a_chain_is_followed_even_where_one_reading_is_sure(tmp_path: Path) -> None:
    with open_harbour(tmp_path, COMPANY, read_company, ask={"min_probability": 0}) as engine:
        answer, trace = ask(engine, CHAIN)
        first_look = engine.ask(CHAIN, strategy="naive")
        assert engine.replay(str(answer.trace_id)).same
    assert (first_look.short_answer, first_look.status) == ("Acme", "answered")
    assert (answer.phase, answer.short_answer) == ("split", "Ada Berg")
    turns = [step.outputs for step in trace.steps if step.name.startswith("turn")]
    assert [turn["question"] for turn in turns] == [
        "What is the company that distributed the film Harbour Lights?",
        "Who founded Acme?",
    ]
    assert [citation.quote for citation in answer.citations] == [COMPANY[1], COMPANY[0]]
    # The quote of the founder says nothing about the film, and is judged by the last question.
    assert trace.signals["answerable"] > 0


def test_a_chain_without_a_quote_for_its_first_question_answers_nothing(tmp_path: Path) -> None:
    with open_harbour(tmp_path, COMPANY[1:], read_company, ask={"min_probability": 0}) as engine:
        answer, _ = ask(engine, CHAIN)
    assert answer.status == "abstained"


def test_a_title_that_rules_for_names_cut_is_one_name_of_a_chain(tmp_path: Path) -> None:
    question = "Who founded the company that distributed Lights: A Tale of Acme?"
    title = "Lights: A Tale of Acme"
    with open_harbour(tmp_path, COMPANY, read_company, title=title) as engine:
        _, trace = ask(engine, question)
    (split,) = (step for step in trace.steps if step.name == "decompose")
    assert split.outputs["questions"][0] == f'What is the company that distributed "{title}"?'


def test_a_debate_changes_nothing_if_documents_agree(tmp_path: Path) -> None:
    sections: SettingsTree = {"adaptive": {"forced": ["debate"]}}
    with open_harbour(
        tmp_path, ("It costs 40 crowns.", "It costs 40 crowns now."), **sections
    ) as engine:
        answer, trace = ask(engine)
    assert answer.phase == "look"
    assert "debate" not in {step.id for step in trace.steps}
    assert "debate had nothing to do" in {step.reason for step in trace.steps}


def test_the_model_is_asked_where_the_local_reader_is_uncertain(
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
                answer, trace = ask(engine)
                assert answer.usage.llm_calls == calls
                assert ("model" in list_actions(trace)) == bool(calls)
                assert phase in {answer.phase, *(s.id for s in trace.steps), *list_actions(trace)}
                poor, trace = ask(engine, budget=Budget(calls=0))
                assert (poor.status, poor.usage.llm_calls) == ("answered", 0)
                assert "model" not in list_actions(trace)


@dataclass(frozen=True)
class ScriptedReader:
    """A reader whose draft is given."""

    draft: Draft

    async def read(self, question: Question, hits: Sequence[Hit], context: RunContext) -> Draft:
        return self.draft


@pytest.mark.parametrize(
    ("before", "reply", "least", "kept"),
    [
        (0.45, 0.2, 0.5, "old"),
        (0.1, 0.2, 0.5, "new"),
        (0.9, 0.6, 0.5, "new"),
        (0.45, 0.2, 0.0, "new"),
    ],
)
def test_a_doubtful_reply_of_the_model_leaves_a_surer_answer(
    tmp_path: Path, before: float, reply: float, least: float, kept: str
) -> None:
    async def choose_draft(strategy: Adaptive) -> Draft:
        question = Question(QUESTION)
        hit = engine.search(QUESTION, k=1)[0]
        evidence = (Evidence(hit=hit, span=Span(0, 4), support=0.9),)
        old = Draft(short_answer="old", evidence=evidence, confidence=before)
        new = replace(old, short_answer="new", confidence=reply)
        graph = replace(strategy, model_reader=ScriptedReader(new), least_reply=least)
        state = AdaptiveState(question=question, draft=old)
        with run_context() as context:
            runtime = Runtime(context=context)
            return (await graph.gate(await graph.model(state, runtime), runtime)).draft

    with engine_at(index_fees(tmp_path)) as engine:
        strategy = make_strategy("adaptive", engine.assembly)
        assert isinstance(strategy, Adaptive)
        assert asyncio.run(choose_draft(strategy)).short_answer == kept


def test_outcomes_are_those_of_forced_runs(tmp_path: Path) -> None:
    async def collect_outcomes(strategy: Adaptive, executor: Any) -> list[ActionOutcome]:
        iterator = iterate_outcomes(strategy, Question(QUESTION), executor, most=2)
        return [outcome async for outcome in iterator]

    folder = index_fees(tmp_path)
    with engine_at(folder) as engine:
        strategy = make_strategy("adaptive", engine.assembly)
        assert isinstance(strategy, Adaptive)
        outcomes = asyncio.run(collect_outcomes(strategy, engine.executor))
    assert [outcome.tried for outcome in outcomes] == list(
        iterate_sequences(has_model=False, most=2)
    )
    for outcome in outcomes:
        answer, _ = run_forced(folder, *outcome.tried)
        assert outcome.answer is not None
        assert (outcome.answer.answer, outcome.answer.phase) == (answer.answer, answer.phase)
        assert outcome.usage.retrievals == answer.usage.retrievals
        flags = {f"tried_{action}": float(action in outcome.tried) for action in EXECUTOR_ACTIONS}
        assert flags.items() <= outcome.features.items()


def test_agreement_of_retrievers_is_a_signal(tmp_path: Path) -> None:
    async def take_first(strategy: Adaptive, executor: Any) -> ActionOutcome:
        return await anext(iterate_outcomes(strategy, Question(QUESTION), executor, most=0))

    texts = ("A permit costs 40 crowns.", "Ferries sail at noon.")
    shares = {}
    for retriever in ("hybrid", "keyword"):
        folder = tmp_path / retriever
        folder.mkdir()
        with open_harbour(folder, texts, adaptive={"retriever": retriever}) as engine:
            strategy = make_strategy("adaptive", engine.assembly)
            assert isinstance(strategy, Adaptive)
            outcome = asyncio.run(take_first(strategy, engine.executor))
            shares[retriever] = outcome.features["agreement"]
    assert shares["keyword"] == 0
    assert shares["hybrid"] > 0
