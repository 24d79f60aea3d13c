"""The numbers of the study, each seen in what the strategy does."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from tests.factories import QUESTION, engine_at, hit_of, index_fees
from tests.strategies.scripted_run import ScriptedRetriever, run_to_end
from tests.strategies.test_anchor import FEE, DraftingReader, make_strategy

from fathom.retrieval.context_selection import ContextSelector
from fathom.retrieval.search import Search
from fathom.settings.anchor import AnchorSettings
from fathom.types import Hit, Query


@dataclass
class RecordingRetriever:
    """A retriever of one hit that records the texts it is asked for."""

    texts: list[str] = field(default_factory=list)
    name: str = "records"

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        self.texts.append(query.text)
        return [FEE]


@dataclass(frozen=True, kw_only=True)
class RecordingSelector(ContextSelector):
    """A selector that records the diversity and the tokens that it is given."""

    calls: list[tuple[float, float]] = field(default_factory=list)

    async def __call__(self, *args: Any, diversity: float, tokens: int, **others: Any) -> Any:
        self.calls.append((diversity, tokens))
        return await super().__call__(*args, diversity=diversity, tokens=tokens, **others)


def list_searches(question: str, **settings: Any) -> list[str]:
    """Return the texts that a strategy searches for."""
    retriever = RecordingRetriever()
    search = Search(open_retriever=lambda: retriever, identity={})
    gate = make_strategy(DraftingReader([0.9]), search=search, **settings)
    run_to_end(gate, question=question)
    return retriever.texts


def test_the_four_best_of_six_anchors_have_a_worker_beside_the_question() -> None:
    question = "How far is it from Oslo to Bergen, Tromso to Stavanger and Trondheim to Hamar?"
    # Without the gate there is no later round.
    searches = list_searches(question, gate=False)
    assert len(searches) == 1 + 4
    assert question in searches
    assert len(list_searches(question, gate=False, workers=2)) == 1 + 2


def test_weak_anchors_fall_back_to_the_whole_question() -> None:
    question = "is there a harbour"
    assert list_searches(question) == [question]
    assert len(list_searches(question, min_score=0.0)) > 1


@pytest.mark.parametrize(("config", "tokens"), [("A", 900), ("B", 700), ("C", 900)])
def test_a_round_reads_at_most_so_many_tokens(config: str, tokens: int) -> None:
    gate = make_strategy(DraftingReader([0.9]), config=config)
    chosen = gate.context_selector
    selector = RecordingSelector(selection=chosen.selection, count_tokens=chosen.count_tokens)
    run_to_end(replace(gate, context_selector=selector))
    assert selector.calls[0][1] == tokens


@pytest.mark.parametrize(
    ("question", "diversity"),
    [
        ("How much does a mooring permit cost?", 0.1),
        ("Which documents are needed for a mooring permit?", 0.6),
        ("Is a mooring permit free?", 0.45),
    ],
)
def test_hits_for_a_list_are_more_diverse_than_for_one_fact(
    question: str, diversity: float
) -> None:
    gate = make_strategy(DraftingReader([0.9]))
    chosen = gate.context_selector
    selector = RecordingSelector(selection=chosen.selection, count_tokens=chosen.count_tokens)
    run_to_end(replace(gate, context_selector=selector), question=question)
    assert selector.calls[0][0] == diversity


@pytest.mark.parametrize(
    ("question", "documents"),
    [
        ("How much does a mooring permit cost?", ("d1", "twin")),
        ("Which documents are needed for a mooring permit?", ("d1", "other")),
    ],
)
def test_the_hits_for_a_list_repeat_nothing(question: str, documents: tuple[str, ...]) -> None:
    twin = replace(hit_of(document="twin", rank=2), score=0.99)
    other = replace(hit_of("Dogs need a leash.", document="other", rank=3), score=0.8)
    reader = DraftingReader([0.9])
    retriever = ScriptedRetriever([replace(FEE, score=1.0), twin, other])
    gate = make_strategy(reader, retriever=retriever, fine=2, workers=0)
    run_to_end(gate, question=question)
    assert reader.read_ids[0] == documents


def test_an_answer_ends_before_its_160_tokens_are_over() -> None:
    # The allowance of these tests counts letters, and each sentence has eight or nine.
    outcome = run_to_end(make_strategy(DraftingReader([0.9], claims=40)))
    sentences = outcome.answer.answer.count("Claim")
    assert 15 <= sentences <= 20
    longer = run_to_end(make_strategy(DraftingReader([0.9], claims=40), answer_tokens=400))
    assert longer.answer.answer.count("Claim") > 20


def test_configuration_c_alone_reranks(tmp_path: Path) -> None:
    index_fees(tmp_path)
    agents = {}
    for config in "ABC":
        with engine_at(tmp_path, anchor={"config": config}) as engine:
            trace = engine.traces.get(str(engine.ask(QUESTION, strategy="anchor").trace_id))
        agents[config] = {step.agent for step in trace.steps}
    assert agents["C"] - agents["A"] == {"reranker"}
    assert "reranker" not in agents["B"]


def test_the_second_round_searches_for_a_made_up_text() -> None:
    searches = list_searches(QUESTION, config="B", tau_overlap=0.95)
    assert searches[0] == QUESTION
    assert searches[-1].startswith(QUESTION)
    assert len(searches[-1]) > len(QUESTION)


def test_the_study_has_the_constants_of_its_section_7() -> None:
    settings = AnchorSettings()
    assert (settings.anchors, settings.workers) == (6, 4)
    assert (settings.pool, settings.fine, settings.list_slots) == (24, 8, 3)
