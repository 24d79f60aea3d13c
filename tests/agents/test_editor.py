import asyncio
from collections.abc import Sequence
from dataclasses import replace

from tests.factories import hit_of, reply

from fathom.agents.editor import Editor, drop_unsupported, is_better, shorten_to_tokens
from fathom.agents.judge import LocalJudge
from fathom.agents.reader.confidence import AnswerConfidence
from fathom.agents.reader.llm import LLMReader
from fathom.llm.call import RoleModel
from fathom.question.question import Question
from fathom.question.requirements import Requirements
from fathom.retrieval.pruning import EvidencePruner
from fathom.runs.context import RunContext
from fathom.testing.doubles import OVERLAP, ScriptedChat, completion, run_context
from fathom.types import Alternative, Claim, Draft, Evidence, Hit, SentenceCount, Span

EVIDENCE = tuple(
    Evidence(hit=hit_of(document=f"d{n}"), span=Span(0, 9), support=support)
    for n, support in enumerate((0.9, 0.2, 0.7))
)
CLAIMS = tuple(Claim(text=f"Sentence {n}.", evidence=(n,)) for n in range(3))
DRAFT = Draft(evidence=EVIDENCE, claims=CLAIMS, confidence=0.6)


def test_sentences_without_support_are_removed() -> None:
    edited = drop_unsupported(DRAFT, 0.65)
    assert edited.claims == (CLAIMS[0], CLAIMS[2])
    assert edited.confidence == DRAFT.confidence  # what a sentence says for itself earns nothing
    assert edited.evidence == EVIDENCE  # its places are what the claims name


def test_the_best_sentence_stays() -> None:
    edited = drop_unsupported(DRAFT, 0.95)
    assert (edited.claims, edited.confidence) == ((CLAIMS[0],), 0.6)


def test_quotes_without_support_are_removed_and_the_confidence_stays() -> None:
    other = Alternative(text="x", evidence=(1,))
    quoting = Draft(evidence=EVIDENCE, alternatives=(other,), confidence=0.3)
    edited = drop_unsupported(quoting, 0.65)
    assert edited == Draft(evidence=(EVIDENCE[0], EVIDENCE[2]), confidence=0.3)
    assert drop_unsupported(quoting, 0.1) == quoting
    assert drop_unsupported(Draft(), 0.5) == Draft()


def test_a_long_answer_is_cut() -> None:
    def count_words(text: str) -> int:
        return len(text.split())

    assert shorten_to_tokens(DRAFT, 4, count_words).claims == CLAIMS[:2]
    assert shorten_to_tokens(DRAFT, 1, count_words).claims == CLAIMS[:1]
    assert shorten_to_tokens(DRAFT, 6, count_words) == DRAFT
    assert shorten_to_tokens(Draft(), 1, count_words) == Draft()


def test_a_dropped_sentence_stays_written_and_one_beyond_the_tokens_does_not() -> None:
    draft = replace(DRAFT, sentences=SentenceCount(written=4, supported=3))
    assert drop_unsupported(draft, 0.65).sentences == SentenceCount(written=4, supported=2)
    cut = shorten_to_tokens(draft, 2, lambda text: len(text.split()))
    assert cut.sentences == SentenceCount(written=2, supported=1)


OLD = hit_of("In 2018 Djokovic won the US Open.", document="d1")
NEW = hit_of("In 2017 Nadal won the US Open.", document="d2", rank=2)
QUESTION = "Siapa juara US Open 2017?"
REQUIRED = Requirements.of(Question(QUESTION), least=0.6)


def make_draft(hit: Hit, confidence: float = 0.8) -> Draft:
    evidence = Evidence(hit=hit, span=Span(0, len(hit.chunk.text)), support=confidence)
    return Draft(evidence=(evidence,), short_answer="Somebody", confidence=confidence)


class FirstHitReader:
    """Quotes the first hit."""

    async def read(self, question: Question, hits: Sequence[Hit], context: RunContext) -> Draft:
        return make_draft(hits[0], confidence=0.6)


def mend_draft(draft: Draft, hits: Sequence[Hit]) -> Draft:
    editor = Editor(reader=FirstHitReader(), faith=0.5, bar=0.4)
    with run_context() as context:
        return asyncio.run(editor(Question(QUESTION), draft, REQUIRED, hits, context))


def test_a_draft_about_another_year_is_mended_from_the_hit_that_holds_the_year() -> None:
    draft = mend_draft(make_draft(OLD, confidence=0.9), [OLD, NEW])
    assert [evidence.hit.chunk.document_id for evidence in draft.evidence] == ["d2"]


def mend_with_model(draft: Draft, hits: Sequence[Hit]) -> tuple[Draft, str]:
    """Return the draft mended by a language model, and the prompt."""
    chat = ScriptedChat(completion(reply("Nadal won in 2017.", NEW.chunk.text)))
    reader = LLMReader(
        model=RoleModel(chat=chat),
        local=FirstHitReader(),
        judge=LocalJudge(pairs=OVERLAP),
        pruner=EvidencePruner(pairs=OVERLAP, limit=450),
        confidence=AnswerConfidence(pairs=OVERLAP),
        skip_above_confidence=2,
        min_support=0.1,
        fallback="abstain",
    )
    editor = Editor(reader=reader, faith=0.5, bar=0.0)
    with run_context() as context:
        new = asyncio.run(editor(Question(QUESTION), draft, REQUIRED, hits, context))
    (call,) = chat.calls
    return new, call.messages[1].text


def test_a_language_model_hears_the_fault_of_the_draft_and_mends_it() -> None:
    draft, prompt = mend_with_model(make_draft(OLD, confidence=0.9), [OLD, NEW])
    assert prompt.endswith(
        f"Question: {QUESTION}\n\nAn earlier answer was rejected: It is not about 2017. "
        "Mend that, or say that nothing answers."
    )
    assert OLD.chunk.text not in prompt  # what was wrong is not shown again
    assert [claim.text for claim in draft.claims] == ["Nadal won in 2017."]
    assert [evidence.quote for evidence in draft.evidence] == [NEW.chunk.text]


def test_a_complete_draft_is_doubted_for_its_support() -> None:
    other = replace(NEW, chunk=replace(NEW.chunk, id="d3#0"))
    _, prompt = mend_with_model(make_draft(NEW, confidence=0.5), [NEW, other])
    assert "rejected: What it quotes does not support it. Mend that" in prompt


def test_a_draft_that_cannot_be_mended_stays() -> None:
    assert mend_draft(make_draft(OLD), [OLD]) == make_draft(OLD)
    assert mend_draft(make_draft(NEW), [OLD, NEW]) == make_draft(NEW)


def test_a_more_complete_draft_counts_if_it_is_sure() -> None:
    def choose_better(new: Draft, old: Draft) -> bool:
        return is_better(new, old, REQUIRED, [OLD, NEW], bar=0.4)

    assert choose_better(make_draft(NEW, 0.5), make_draft(OLD, 0.9))
    assert not choose_better(make_draft(NEW, 0.3), make_draft(OLD, 0.9))
    assert not choose_better(make_draft(OLD, 0.9), make_draft(NEW, 0.5))
    assert choose_better(make_draft(OLD, 0.9), make_draft(NEW, 0.3))
    assert choose_better(make_draft(NEW, 0.9), make_draft(NEW, 0.8))
    assert not choose_better(Draft(), make_draft(OLD))
    weak = replace(make_draft(NEW, 0.9), sentences=SentenceCount(written=3, supported=1))
    whole = replace(make_draft(NEW, 0.5), sentences=SentenceCount(written=1, supported=1))
    assert choose_better(whole, weak)
    assert not choose_better(weak, whole)
