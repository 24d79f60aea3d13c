from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import pytest
from tests.making import FEES, QUESTION, engine_at, hit_of, index_fees, quote_first_sentence
from tests.strategies.running import Finds, Sleeps, finalizer, ran, replays

from fathom.agents.hyde import LocalHypothesis
from fathom.control.gate import GateThresholds
from fathom.engine import Engine
from fathom.llm.base import Call, Completion
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
from fathom.types import Claim, Draft, Evidence, Hit, Query, Span
from fathom.usage import Budget, Usage

PAGE = Path(__file__).parent.parent.parent / "docs/strategies/anchor.md"
FEE = hit_of()
OSLO = hit_of("Oslo has a harbour of its own. " + FEES, document="d2")


@dataclass
class Drafts:
    """Quotes the last hit with these confidences, one a reading, the last one for good."""

    confidences: Sequence[float]
    claims: int = 0
    given: list[tuple[str, ...]] = field(default_factory=list)

    async def read(self, question: str, hits: Sequence[Hit], context: RunContext) -> Draft:
        self.given.append(tuple(hit.chunk.document_id for hit in hits))
        if not hits:
            return Draft()
        place = min(len(self.given), len(self.confidences)) - 1
        support = self.confidences[place]
        evidence = tuple(
            Evidence(hit=replace(hits[-1], rank=1), span=Span(0, 40), support=support / (n + 1))
            for n in range(max(1, self.claims))
        )
        claims = tuple(Claim(text=f"Claim {n}.", evidence=(n,)) for n in range(self.claims))
        return Draft(evidence=evidence, claims=claims, short_answer="40", confidence=support)


@dataclass
class Judges:
    """A judge of this word."""

    word: float = 1.0
    asked: int = 0

    async def score_support(self, pairs: Sequence[Any], context: RunContext) -> tuple[float, ...]:
        self.asked += 1
        return (self.word,) * len(pairs)


class ByWord:
    """Finds the page about Oslo only when asked for it alone or twice."""

    name = "by word"

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        return [OSLO] if query.text.count("Oslo") > 1 else [FEE]


def strategy(
    reader: Drafts,
    *,
    retriever: Any = None,
    search: Any = None,
    judge: Judges | None = None,
    metered: bool = False,
    **settings: Any,
) -> AnchorGate:
    own = AnchorSettings(**settings)
    found = search or (retriever or Finds([FEE])).search()
    terms = ContentTerms()
    return AnchorGate(
        multihop=MultiHop(search=found, extract_terms=terms, settings=AnchorSettings(bridges=0)),
        search=found,
        reranker=None,
        context_selector=ContextSelector(
            selection=Selection(extract_terms=terms, settings=own), count_tokens=len
        ),
        reader=reader,
        hypothesis=LocalHypothesis(feedback=RelevanceFeedback(extract_words=terms.words)),
        judge=judge or Judges(),
        finalizer=finalizer("anchor"),
        allowance=TokenAllowance(
            metered=metered, count_tokens=len, chunks=8, overhead=0, ceiling=1.2
        ),
        thresholds=GateThresholds.from_settings(own),
        settings=own,
    )


def decisions(outcome: Any) -> list[str]:
    return [step.reason for step in outcome.trace.steps if step.agent == "gate"]


def test_the_picture_in_the_docs_is_the_code() -> None:
    drawn = strategy(Drafts([0.9])).graph().compile().get_graph().draw_mermaid()
    assert f"```mermaid\n{drawn}```" in PAGE.read_text(encoding="utf-8")


def test_one_round_where_nothing_is_lacking(tmp_path: Path) -> None:
    reader = Drafts([0.9])
    outcome = ran(strategy(reader))
    assert (outcome.answer.status, outcome.answer.phase) == ("answered", "round 1")
    assert decisions(outcome) == ["STOP_OVERLAP_OK"]
    assert len(reader.given) == 1
    assert replays(outcome, strategy(Drafts([0.9])))
    with engine_at(index_fees(tmp_path)) as engine:
        answer = engine.ask(QUESTION, strategy="anchor")
    assert (answer.strategy, answer.usage.llm_calls) == ("anchor", 0)


def test_a_weak_draft_is_withheld_after_one_edit() -> None:
    outcome = ran(strategy(Drafts([0.3])))
    assert decisions(outcome) == ["REFLECT_LOW_OVERLAP", "ABSTAIN_LOW_OVERLAP"]
    assert outcome.answer.stop_reason == "low_confidence"


def test_no_evidence() -> None:
    outcome = ran(strategy(Drafts([0.9]), retriever=Finds([])))
    assert decisions(outcome) == ["ABSTAIN_NO_EVIDENCE"]
    assert outcome.answer.stop_reason == "no_evidence"


@dataclass(frozen=True, kw_only=True)
class InOslo(AnchorGate):
    """Hears another question."""

    def start(self, query: Query) -> Any:
        return super().start(Query(text="How much does a mooring permit in Oslo cost?"))


def asked_of_oslo(gate: AnchorGate) -> Any:
    return ran(InOslo(**{each.name: getattr(gate, each.name) for each in fields(gate)}))


def test_round_1b_looks_once_for_a_missing_anchor() -> None:
    search = Search(open_retriever=ByWord, identity={})
    reader = Drafts([0.8])
    outcome = asked_of_oslo(strategy(reader, search=search, workers=0))
    assert decisions(outcome) == ["RETRY_MISSING_ANCHOR", "STOP_OVERLAP_OK"]
    assert reader.given == [("d1",), ("d1", "d2")]
    assert outcome.answer.phase == "round 1b"


def test_what_holds_no_missing_anchor_is_not_new() -> None:
    reader = Drafts([0.45])
    outcome = asked_of_oslo(strategy(reader, tau_missing=0.5))
    assert decisions(outcome) == ["RETRY_MISSING_ANCHOR", "ABSTAIN_MISSING_ANCHOR"]
    assert outcome.answer.stop_reason == "missing_anchor"


def test_config_b_looks_again_and_always_asks_the_judge() -> None:
    judge = Judges()
    outcome = ran(strategy(Drafts([0.3, 0.8], claims=1), judge=judge, config="B"))
    assert decisions(outcome) == ["MORE_LOW_OVERLAP", "STOP_JUDGE_OK"]
    assert (judge.asked, outcome.answer.phase) == (2, "round 2")
    assert "rm3" in {step.name for step in outcome.trace.steps}


def test_without_the_gate_the_first_draft_is_the_last() -> None:
    judge = Judges(word=0.1)
    outcome = ran(strategy(Drafts([0.6, 0.9], claims=1), judge=judge, gate=False, config="B"))
    assert decisions(outcome) == ["STOP_NO_GATE"]
    assert (judge.asked, outcome.answer.status, outcome.answer.confidence) == (0, "answered", 0.6)


def test_the_better_draft_counts() -> None:
    outcome = ran(strategy(Drafts([0.41, 0.1]), config="B"))
    assert outcome.answer.confidence == 0.41


def test_in_the_grey_zone_the_judge_is_asked_once() -> None:
    judge = Judges(word=0.1)
    outcome = ran(strategy(Drafts([0.5], claims=2), judge=judge))
    assert decisions(outcome)[0] == "REFLECT_JUDGE_UNSURE"
    assert judge.asked == 1


def test_the_judge_is_asked_about_quotes_too() -> None:
    doubting, sure = Judges(word=0.1), Judges(word=0.3)
    found = decisions(ran(strategy(Drafts([0.5]), judge=doubting)))
    assert found == ["REFLECT_JUDGE_UNSURE", "ABSTAIN_JUDGE_UNSURE"]
    assert decisions(ran(strategy(Drafts([0.5]), judge=sure))) == ["STOP_JUDGE_OK"]
    assert (doubting.asked, sure.asked) == (1, 1)


def test_a_language_model_has_no_second_call_beyond_the_baselines_budget() -> None:
    search = Search(open_retriever=ByWord, identity={})
    gate = strategy(Drafts([0.45]), search=search, workers=0, metered=True, tau_missing=0.5)
    assert decisions(asked_of_oslo(gate))[0] == "ABSTAIN_MISSING_ANCHOR"


def test_an_anchor_worker_that_never_comes_back_does_not_take_the_answer_with_it() -> None:
    hits = Finds([FEE]).search()

    class Slow:
        async def __call__(self, query: Query, *, k: int, context: RunContext) -> tuple[Hit, ...]:
            if query.text == QUESTION:
                return await hits(query, k=k, context=context)
            return await Sleeps()(query, k=k, context=context)

    gate = strategy(Drafts([0.9]), search=Slow())
    outcome = ran(gate, Budget(seconds=1.0))
    assert outcome.answer.status == "answered"


@pytest.mark.parametrize("config", ["A", "B", "C"])
def test_every_configuration_ends_whatever_the_drafts(config: str) -> None:
    for confidences in ([0.0], [0.41], [0.5, 0.2], [0.1, 0.2, 0.3, 0.4, 0.5]):
        for claims in (0, 1, 3):
            gate = strategy(Drafts(confidences, claims=claims), judge=Judges(0.2), config=config)
            outcome = ran(gate)
            assert len(decisions(outcome)) <= gate.thresholds.max_decisions


@pytest.mark.parametrize(
    "wrong", [{"config": "D"}, {"pool": 0}, {"diversity": 2}, {"tau_overlap": -1}, {"x": 1}]
)
def test_settings_that_cannot_be(wrong: Any) -> None:
    with pytest.raises(ValueError):
        AnchorSettings(**wrong)


class Quotes:
    """A model that quotes the first sentence of the first chunk; counts words as tokens."""

    name = "openai:m"

    async def complete(self, call: Call) -> Completion:
        said = quote_first_sentence([{"content": message.text} for message in call.messages])
        sizes = (sum(len(message.text.split()) for message in call.messages), len(said.split()))
        usage = Usage(llm_calls=1, prompt_tokens=sizes[0], completion_tokens=sizes[1])
        return Completion(text=said, model=self.name, usage=usage)


PLACES = ("Oslo", "Bergen", "Tromso", "Bodo", "Molde", "Narvik", "Alta", "Hamar", "Voss", "Moss")
ASKED = (
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
        settings, embedder=HashingEmbedder(64), cross_reader=OVERLAP, connect=lambda _: Quotes()
    ) as engine:
        engine.ingest([tmp_path / "corpus"])
        for name in spent:
            for question in ASKED:
                answer = engine.ask(question, strategy=name)
                spent[name] += answer.usage.tokens
                assert engine.replay(str(answer.trace_id)).same
    assert 0 < spent["anchor"] <= 1.2 * spent["naive"]
