from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import pytest
from tests.factories import FEES, QUESTION, engine_at, hit_of, index_fees, quote_first_sentence
from tests.strategies.scripted_run import (
    EndlessSearch,
    ScriptedRetriever,
    is_replayed,
    make_finalizer,
    run_to_end,
)

from fathom.agents.hyde import LocalHypothesis
from fathom.control.gate import GateThresholds
from fathom.engine import Engine
from fathom.llm.base import Call, Completion
from fathom.question.question import Question
from fathom.retrieval.context_selection import ContextSelector, Selection
from fathom.retrieval.expansion import RelevanceFeedback
from fathom.retrieval.multihop import MultiHop
from fathom.retrieval.search import Search
from fathom.runs.context import RunContext
from fathom.settings import Settings
from fathom.settings.anchor import AnchorSettings
from fathom.strategies.anchor import AnchorGate
from fathom.strategies.anchor_signals import TokenAllowance
from fathom.testing.doubles import OVERLAP, HashingEmbedder
from fathom.text.content_words import ContentTerms
from fathom.types import Claim, Draft, Evidence, Filter, Hit, Query, SentenceCount, Span
from fathom.usage import Budget, Usage

PAGE = Path(__file__).parent.parent.parent / "docs/strategies/anchor.md"
FEE = hit_of()
OSLO = hit_of("Oslo has a harbour of its own. " + FEES, document="d2")


@dataclass
class DraftingReader:
    """Quotes the last hit with these confidences, one per reading; the last one repeats.

    Where it counts as many written sentences, its claims are those that hold.
    """

    confidences: Sequence[float]
    claims: int = 0
    written: int = 0
    read_ids: list[tuple[str, ...]] = field(default_factory=list)

    async def read(self, question: Question, hits: Sequence[Hit], context: RunContext) -> Draft:
        self.read_ids.append(tuple(hit.chunk.document_id for hit in hits))
        if not hits:
            return Draft()
        place = min(len(self.read_ids), len(self.confidences)) - 1
        support = self.confidences[place]
        evidence = tuple(
            Evidence(hit=replace(hits[-1], rank=1), span=Span(0, 40), support=support / (n + 1))
            for n in range(max(1, self.claims))
        )
        claims = tuple(Claim(text=f"Claim {n}.", evidence=(n,)) for n in range(self.claims))
        count = SentenceCount(written=self.written, supported=self.claims)
        return Draft(
            evidence=evidence,
            claims=claims,
            short_answer="40",
            confidence=support,
            sentences=count if self.written else None,
        )


@dataclass
class FixedJudge:
    """A judge that always gives the same support."""

    word: float = 1.0
    calls: int = 0

    async def score_support(self, pairs: Sequence[Any], context: RunContext) -> tuple[float, ...]:
        self.calls += 1
        return (self.word,) * len(pairs)


class OsloRetriever:
    """Finds the page about Oslo only when it is asked for it alone or twice."""

    name = "by word"

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        return [OSLO] if query.text.count("Oslo") > 1 else [FEE]


def make_strategy(
    reader: DraftingReader,
    *,
    retriever: Any = None,
    search: Any = None,
    judge: FixedJudge | None = None,
    metered: bool = False,
    **settings: Any,
) -> AnchorGate:
    gate_settings = AnchorSettings(**settings)
    first_search = search or (retriever or ScriptedRetriever([FEE])).search()
    terms = ContentTerms()
    return AnchorGate(
        multihop=MultiHop(
            search=first_search, extract_terms=terms, settings=AnchorSettings(bridges=0)
        ),
        search=first_search,
        reranker=None,
        context_selector=ContextSelector(
            selection=Selection(extract_terms=terms, settings=gate_settings), count_tokens=len
        ),
        reader=reader,
        hypothesis=LocalHypothesis(feedback=RelevanceFeedback(extract_words=terms.words)),
        judge=judge or FixedJudge(),
        finalizer=make_finalizer("anchor"),
        allowance=TokenAllowance(
            metered=metered,
            count_tokens=len,
            chunks=8,
            evidence=10_000,
            overhead=0,
            ceiling=1.2,
        ),
        thresholds=GateThresholds.from_settings(gate_settings),
        settings=gate_settings,
    )


def list_decisions(outcome: Any) -> list[str]:
    return [step.reason for step in outcome.trace.steps if step.agent == "gate"]


def test_the_picture_in_the_docs_is_the_code() -> None:
    drawn = make_strategy(DraftingReader([0.9])).graph().compile().get_graph().draw_mermaid()
    assert f"```mermaid\n{drawn}```" in PAGE.read_text(encoding="utf-8")


def test_one_round_is_enough_where_nothing_is_missing(tmp_path: Path) -> None:
    reader = DraftingReader([0.9])
    outcome = run_to_end(make_strategy(reader))
    assert (outcome.answer.status, outcome.answer.phase) == ("answered", "round 1")
    assert list_decisions(outcome) == ["STOP_OVERLAP_OK"]
    assert len(reader.read_ids) == 1
    assert is_replayed(outcome, make_strategy(DraftingReader([0.9])))
    with engine_at(index_fees(tmp_path)) as engine:
        answer = engine.ask(QUESTION, strategy="anchor")
    assert (answer.strategy, answer.usage.llm_calls) == ("anchor", 0)


def test_a_weak_draft_is_withheld_after_one_edit() -> None:
    outcome = run_to_end(make_strategy(DraftingReader([0.3])))
    assert list_decisions(outcome) == ["REFLECT_LOW_OVERLAP", "ABSTAIN_LOW_OVERLAP"]
    assert outcome.answer.stop_reason == "low_confidence"


@pytest.mark.parametrize(
    ("supported", "written", "decisions"),
    [
        (3, 3, ["STOP_OVERLAP_OK"]),
        (2, 3, ["STOP_OVERLAP_OK"]),
        (1, 2, ["STOP_JUDGE_OK"]),  # the grey zone
        (1, 3, ["REFLECT_LOW_OVERLAP", "ABSTAIN_LOW_OVERLAP"]),
    ],
)
def test_sentences_that_were_dropped_count_against_an_answer(
    supported: int, written: int, decisions: list[str]
) -> None:
    # The quotes are sure, and each sentence that is left holds.
    gate = make_strategy(DraftingReader([0.9], claims=supported, written=written))
    outcome = run_to_end(gate)
    assert list_decisions(outcome) == decisions
    assert (outcome.answer.status == "answered") == decisions[-1].startswith("STOP")
    assert is_replayed(
        outcome, make_strategy(DraftingReader([0.9], claims=supported, written=written))
    )


def test_sentences_that_hold_are_enough_support_whatever_the_confidence() -> None:
    outcome = run_to_end(make_strategy(DraftingReader([0.3], claims=1, written=1)))
    assert list_decisions(outcome) == ["STOP_OVERLAP_OK"]


@pytest.mark.parametrize(("least", "status"), [(0.5, "abstained"), (0.0, "answered")])
def test_the_least_confidence_of_every_answer_holds_beside_the_gate(
    least: float, status: str
) -> None:
    gate = make_strategy(DraftingReader([0.3], claims=1, written=1))
    gate = replace(gate, finalizer=replace(gate.finalizer, min_confidence=least))
    outcome = run_to_end(gate)
    assert list_decisions(outcome) == ["STOP_OVERLAP_OK"]
    assert outcome.answer.status == status


def test_a_rise_of_the_share_ends_the_second_round() -> None:
    @dataclass
    class Improving(DraftingReader):
        async def read(self, question: Question, hits: Sequence[Hit], context: RunContext) -> Draft:
            draft = await super().read(question, hits, context)
            count = SentenceCount(written=3 if len(self.read_ids) == 1 else 1, supported=1)
            return replace(draft, sentences=count)

    outcome = run_to_end(make_strategy(Improving([0.6], claims=1), config="B"))
    assert list_decisions(outcome) == ["MORE_LOW_OVERLAP", "STOP_JUDGE_OK"]


def test_without_evidence_the_gate_abstains() -> None:
    outcome = run_to_end(make_strategy(DraftingReader([0.9]), retriever=ScriptedRetriever([])))
    assert list_decisions(outcome) == ["ABSTAIN_NO_EVIDENCE"]
    assert outcome.answer.stop_reason == "no_evidence"


@dataclass(frozen=True, kw_only=True)
class InOslo(AnchorGate):
    """A gate whose question is about Oslo."""

    def start(self, question: Question, filters: tuple[Filter, ...]) -> Any:
        return super().start(Question("How much does a mooring permit in Oslo cost?"), filters)


def ask_about_oslo(gate: AnchorGate) -> Any:
    return run_to_end(InOslo(**{field.name: getattr(gate, field.name) for field in fields(gate)}))


def test_round_1b_looks_once_for_a_missing_anchor() -> None:
    search = Search(open_retriever=OsloRetriever, identity={})
    reader = DraftingReader([0.8])
    outcome = ask_about_oslo(make_strategy(reader, search=search, workers=0))
    assert list_decisions(outcome) == ["RETRY_MISSING_ANCHOR", "STOP_OVERLAP_OK"]
    assert reader.read_ids == [("d1",), ("d1", "d2")]
    assert outcome.answer.phase == "round 1b"


def test_hits_without_a_missing_anchor_are_not_new() -> None:
    reader = DraftingReader([0.45])
    outcome = ask_about_oslo(make_strategy(reader, tau_missing=0.5))
    assert list_decisions(outcome) == ["RETRY_MISSING_ANCHOR", "ABSTAIN_MISSING_ANCHOR"]
    assert outcome.answer.stop_reason == "missing_anchor"


def test_config_b_looks_again_and_always_asks_the_judge() -> None:
    judge = FixedJudge()
    outcome = run_to_end(
        make_strategy(DraftingReader([0.3, 0.8], claims=1), judge=judge, config="B")
    )
    assert list_decisions(outcome) == ["MORE_LOW_OVERLAP", "STOP_JUDGE_OK"]
    assert (judge.calls, outcome.answer.phase) == (2, "round 2")
    assert "rm3" in {step.name for step in outcome.trace.steps}


def test_without_the_gate_the_first_draft_is_final() -> None:
    judge = FixedJudge(word=0.1)
    outcome = run_to_end(
        make_strategy(DraftingReader([0.6, 0.9], claims=1), judge=judge, gate=False, config="B")
    )
    assert list_decisions(outcome) == ["STOP_NO_GATE"]
    assert (judge.calls, outcome.answer.status, outcome.answer.confidence) == (0, "answered", 0.6)


def test_the_better_draft_counts() -> None:
    outcome = run_to_end(make_strategy(DraftingReader([0.41, 0.1]), config="B"))
    assert outcome.answer.confidence == 0.41


def test_in_the_grey_zone_the_judge_is_asked_once() -> None:
    judge = FixedJudge(word=0.1)
    outcome = run_to_end(make_strategy(DraftingReader([0.5], claims=2), judge=judge))
    assert list_decisions(outcome)[0] == "REFLECT_JUDGE_UNSURE"
    assert judge.calls == 1


def test_the_judge_is_asked_about_quotes_too() -> None:
    doubting, sure = FixedJudge(word=0.1), FixedJudge(word=0.3)
    listed = list_decisions(run_to_end(make_strategy(DraftingReader([0.5]), judge=doubting)))
    assert listed == ["REFLECT_JUDGE_UNSURE", "ABSTAIN_JUDGE_UNSURE"]
    assert list_decisions(run_to_end(make_strategy(DraftingReader([0.5]), judge=sure))) == [
        "STOP_JUDGE_OK"
    ]
    assert (doubting.calls, sure.calls) == (1, 1)


def test_a_language_model_has_no_second_call_beyond_the_baselines_budget() -> None:
    search = Search(open_retriever=OsloRetriever, identity={})
    gate = make_strategy(
        DraftingReader([0.45]), search=search, workers=0, metered=True, tau_missing=0.5
    )
    assert list_decisions(ask_about_oslo(gate))[0] == "ABSTAIN_MISSING_ANCHOR"


def test_an_anchor_worker_that_hangs_does_not_lose_the_answer() -> None:
    hits = ScriptedRetriever([FEE]).search()

    class Slow:
        async def __call__(self, query: Query, *, k: int, context: RunContext) -> tuple[Hit, ...]:
            if query.text == QUESTION:
                return await hits(query, k=k, context=context)
            return await EndlessSearch()(query, k=k, context=context)

    gate = make_strategy(DraftingReader([0.9]), search=Slow())
    outcome = run_to_end(gate, Budget(seconds=1.0))
    assert outcome.answer.status == "answered"


@pytest.mark.parametrize("config", ["A", "B", "C"])
def test_every_configuration_ends_with_any_drafts(config: str) -> None:
    for confidences in ([0.0], [0.41], [0.5, 0.2], [0.1, 0.2, 0.3, 0.4, 0.5]):
        for claims in (0, 1, 3):
            gate = make_strategy(
                DraftingReader(confidences, claims=claims), judge=FixedJudge(0.2), config=config
            )
            outcome = run_to_end(gate)
            assert len(list_decisions(outcome)) <= gate.thresholds.max_decisions


@pytest.mark.parametrize(
    "wrong", [{"config": "D"}, {"pool": 0}, {"diversity": 2}, {"tau_overlap": -1}, {"x": 1}]
)
def test_invalid_settings_are_refused(wrong: Any) -> None:
    with pytest.raises(ValueError):
        AnchorSettings(**wrong)


class QuotingModel:
    """A model that quotes the first sentence of the first chunk; counts words as tokens."""

    name = "openai:m"

    async def complete(self, call: Call) -> Completion:
        text = quote_first_sentence([{"content": message.text} for message in call.messages])
        sizes = (sum(len(message.text.split()) for message in call.messages), len(text.split()))
        usage = Usage(llm_calls=1, prompt_tokens=sizes[0], completion_tokens=sizes[1])
        return Completion(text=text, model=self.name, usage=usage)


PLACES = ("Oslo", "Bergen", "Tromso", "Bodo", "Molde", "Narvik", "Alta", "Hamar", "Voss", "Moss")
QUESTIONS = (
    *(f"How much does a mooring permit in {place} cost?" for place in PLACES[:4]),
    "How much does a mooring permit in Atlantis cost?",
    "Who was mayor of Bergen in 1901?",
    "Sebutkan semua biaya di Oslo.",
)


@pytest.mark.parametrize("config", ["A", "B"])
def test_a_question_takes_at_most_a_fifth_more_tokens_than_naive(
    tmp_path: Path, config: str
) -> None:
    (tmp_path / "corpus").mkdir()
    for number, place in enumerate(PLACES):
        text = f"{place} has a harbour. A mooring permit in {place} costs {number} crowns a year. "
        (tmp_path / "corpus" / f"{place}.txt").write_text(text + "It is old. " * 20)
    tree = {
        "index": {"directory": tmp_path / "index"},
        "llm": {"model": "openai:m", "skip_above_confidence": 2},
        "roles": {"judge": "local"},
        "anchor": {"config": config},
    }
    settings = Settings.model_validate(tree)
    spent = {"naive": 0, "anchor": 0}
    with Engine(
        settings,
        embedder=HashingEmbedder(64),
        cross_reader=OVERLAP,
        connect=lambda _: QuotingModel(),
    ) as engine:
        engine.ingest([tmp_path / "corpus"])
        for name in spent:
            for question in QUESTIONS:
                answer = engine.ask(question, strategy=name)
                spent[name] += answer.usage.tokens
                assert engine.replay(str(answer.trace_id)).same
    assert 0 < spent["anchor"] <= 1.2 * spent["naive"]
