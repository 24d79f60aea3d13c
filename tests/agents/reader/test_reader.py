import asyncio
from collections.abc import Mapping
from dataclasses import replace

import pytest
from tests.making import FEES, QUESTION, hit_of

from fathom.agents.reader.local import LocalReader, ReaderLaw
from fathom.agents.reader.yes_no import VerdictLaw
from fathom.models.reading import Reading
from fathom.runs.recorder import Recorder
from fathom.testing.doubles import ScriptedCrossReader, reading, run_context
from fathom.types import Chunk, Draft, Hit

OLD = "In 2023 a mooring permit cost 35 crowns. It rained."
SAME = "A permit is had for 40 crowns, they say."


def reader(pairs: ScriptedCrossReader) -> LocalReader:
    """One whose confidence is the score itself."""
    return LocalReader(pairs=pairs, laws=laws(0.15, (1.0, 0.0, 0.0)))


def laws(fall: float, sureness: tuple[float, float, float]) -> dict[str, ReaderLaw]:
    return dict.fromkeys(("en", "id"), ReaderLaw(fall=fall, sureness=sureness))


def drafted(
    question: str, answers: Mapping[str, tuple[str, float]], hits: list[Hit], **values: float
) -> Draft:
    """A draft where texts hold these answers, with these scores."""

    def script(_: str, chunk: Chunk) -> Reading:
        answer, score = answers.get(chunk.text, ("", 0.0))
        return reading(chunk, answer, score, **values)

    return reader(ScriptedCrossReader(script)).draft(question, hits)


def test_the_sentence_of_the_best_span_is_quoted() -> None:
    hits = [hit_of("Dogs are welcome.", document="d0"), hit_of(rank=2)]
    answers = {hits[0].chunk.text: ("Dogs", 0.1), FEES: ("40 crowns", 0.8)}
    draft = drafted(QUESTION, answers, hits)
    (evidence,) = draft.evidence
    assert evidence.quote == "A mooring permit costs 40 crowns a year."
    assert evidence.support == 0.8
    assert draft.short_answer == "40 crowns"
    assert 0.7 < draft.confidence < 0.8
    assert (draft.claims, draft.alternatives) == ((), ())


@pytest.mark.parametrize("asked", ["When did it begin?", "How many came?", "Kapankah itu mulai?"])
def test_what_is_surely_of_another_kind_is_no_answer(asked: str) -> None:
    hits = [hit_of("Ada Vale began it.", document="d0"), hit_of("Two came in 1890.", rank=2)]
    answers = {hits[0].chunk.text: ("Ada Vale", 0.9), hits[1].chunk.text: ("Two came in 1890", 0.4)}
    assert drafted(asked, answers, hits).short_answer == "Two came in 1890"


def test_sides_are_compared_by_values_and_by_nothing_else() -> None:
    hits = [
        hit_of("Ama Peak, the twin peak, is 7,546 m high.", document="d0"),
        hit_of("Oru Peak is the eighth, and 8163 m high.", document="d1", rank=2),
    ]
    first, second = (hit.chunk.text for hit in hits)

    def script(_: str, chunk: Chunk) -> Reading:
        said = {first: ("twin peak", "7,546 m"), second: ("eighth", "8163 m")}[chunk.text]
        likely, other = (
            reading(chunk, each, score) for each, score in zip(said, (0.9, 0.6), strict=True)
        )
        return replace(likely, spans=(*likely.spans, *other.spans))

    draft = reader(ScriptedCrossReader(script)).draft(
        "Which is higher, Ama Peak or Oru Peak?", hits
    )
    assert draft.short_answer == "Oru Peak"


def test_of_what_a_question_offers_one_is_the_answer() -> None:
    hits = [hit_of("Works end in 2026-11.", document="d0"), hit_of("The old mill.", rank=2)]
    answers = {hits[0].chunk.text: ("2026-11", 0.9), hits[1].chunk.text: ("The old mill", 0.4)}
    asked = "Which is older, the office or the mill?"
    assert drafted(asked, answers, hits).short_answer == "The old mill"
    assert drafted(asked, answers, hits[:1]) == Draft()


def test_another_answer_of_another_document_is_told() -> None:
    hits = [hit_of(document="new"), hit_of(OLD, document="old", rank=2)]
    draft = drafted(QUESTION, {FEES: ("40 crowns", 0.8), OLD: ("35 crowns", 0.8)}, hits)
    assert draft.short_answer == "40 crowns"
    assert [item.hit.chunk.document_id for item in draft.evidence] == ["new", "old"]
    (other,) = draft.alternatives
    assert (other.text, other.evidence) == ("35 crowns", (1,))


def test_what_says_the_same_is_no_other_answer() -> None:
    hits = [hit_of(document="a"), hit_of(SAME, document="b", rank=2)]
    draft = drafted(QUESTION, {FEES: ("40 crowns", 0.5), SAME: ("40 crowns", 0.5)}, hits)
    assert len(draft.evidence) == 2
    assert draft.alternatives == ()
    assert draft.confidence > 0.7


def test_an_unlikely_answer_is_not_quoted_beside_a_likely_one() -> None:
    hits = [hit_of(document="a"), hit_of(OLD, document="b", rank=2)]
    draft = drafted(QUESTION, {FEES: ("40 crowns", 0.5), OLD: ("35 crowns", 0.1)}, hits)
    assert len(draft.evidence) == 1


def test_a_list_has_all_that_is_likely() -> None:
    texts = ["Ash grows here.", "Elm does.", "Oak, too.", "So they say."]
    hits = [hit_of(text, document=text, rank=rank) for rank, text in enumerate(texts, start=1)]
    answers = {texts[0]: ("Ash", 0.6), texts[1]: ("Elm", 0.6), texts[2]: ("Oak", 0.55)}
    answers[texts[3]] = ("they", 0.1)
    draft = drafted("Which three trees grow here?", answers, hits)
    assert draft.short_answer == "Ash, Elm, Oak"
    assert [item.quote for item in draft.evidence] == texts[:3]
    assert drafted("Where do trees grow?", answers, hits).short_answer == "Ash"


def test_a_list_of_one_is_an_answer() -> None:
    draft = drafted("List the fees.", {FEES: ("40 crowns", 0.8)}, [hit_of()])
    assert draft.short_answer == "40 crowns"


def test_yes_or_no_is_said_with_the_sentence_that_decides() -> None:
    law = VerdictLaw(yes=(1.0, 0.0, 0.0, 0.0, 0.0, 0.0), no=(1.0, 0.0, 0.0, 0.0, 0.0, 0.0))

    def asked(question: str, supported: float, contradicted: float) -> Draft:
        def script(_: str, chunk: Chunk) -> Reading:
            sides = {"supported": supported, "contradicted": contradicted, "unrelated": 0.1}
            return reading(chunk, "40 crowns", 0.5, relevance=0.9, **sides)

        own = replace(reader(ScriptedCrossReader(script)), verdicts={"en": law, "id": law})
        return own.draft(question, [hit_of()])

    sure = asked("Is a mooring permit free?", 0.02, 0.9)
    assert (sure.short_answer, sure.evidence[0].quote) == (
        "no",
        "A mooring permit costs 40 crowns a year.",
    )
    assert sure.confidence > 0.95
    assert asked("Apakah permit itu berlaku untuk mooring?", 0.9, 0.01).short_answer == "ya"
    unsure = asked("Is a mooring permit free?", 0.4, 0.5)
    assert (unsure.short_answer, unsure.confidence) == ("", 0.5)
    assert unsure.evidence[0].quote == sure.evidence[0].quote


ELM = "Elm Bridge was opened on 3 May 1990."
OAK = "Oak Bridge was opened in 1987."


def compared(question: str, *texts: str, score: float = 0.8) -> Draft:
    """A draft where hits hold when something was opened."""
    hits = [hit_of(text, document=text, rank=rank) for rank, text in enumerate(texts, start=1)]
    answers = {text: (text.split(" opened ")[1].rstrip("."), score) for text in texts}
    return drafted(question, answers, hits)


def test_a_comparison_is_decided_by_the_values_of_both_sides() -> None:
    older = compared("Was Elm Bridge opened before Oak Bridge?", ELM, OAK)
    assert older.short_answer == "no"
    assert [item.quote for item in older.evidence] == [ELM, OAK]
    assert compared("Was Elm Bridge opened after Oak Bridge?", ELM, OAK).short_answer == "yes"
    first = compared("Which was opened first, Elm Bridge or Oak Bridge?", ELM, OAK)
    assert first.short_answer == "Oak Bridge"


def test_a_side_that_is_missing_unsure_or_in_dispute_decides_nothing() -> None:
    asked = "Was Elm Bridge opened before Oak Bridge?"
    assert compared(asked, ELM).short_answer == ""
    assert compared(asked, ELM, OAK, score=0.2).short_answer == ""
    other = "Elm Bridge was opened in 1912."
    assert compared(asked, ELM, OAK, other).short_answer == ""


def test_nothing_to_read_is_nothing() -> None:
    for question in (QUESTION, "Is it free?", "List all fees.", ""):
        assert drafted(question, {}, []) == Draft()
        assert drafted(question, {}, [hit_of("", document="empty")]) == Draft()


def test_the_step_says_how_many_were_read() -> None:
    hits = [hit_of(document=f"d{rank}", rank=rank) for rank in range(1, 6)]
    pairs = ScriptedCrossReader(lambda _, chunk: reading(chunk, "40 crowns", 1.0))
    with run_context() as context:
        draft = asyncio.run(reader(pairs).read(QUESTION, hits, context))
        assert isinstance(context.scope, Recorder)
        (step,) = context.scope.seal(None).steps
    assert step.reason == "confidence 1.00, 2 of 5 chunks read"
    assert draft == reader(pairs).draft(QUESTION, hits)


def test_confidence_is_a_law_of_the_score() -> None:
    pairs = ScriptedCrossReader(lambda _, chunk: reading(chunk, "40 crowns", 0.5, answerable=0.8))
    wants = {(1.0, 0.0, 0.0): 0.5, (2.0, 0.0, -1.0): 0.268941, (0.0, 1.0, 0.0): 0.8}
    for law, wanted in wants.items():
        mind = LocalReader(pairs=pairs, laws=laws(0.8, law))
        assert mind.draft(QUESTION, [hit_of()]).confidence == pytest.approx(wanted, abs=1e-6)


def test_the_law_is_that_of_the_questions_language() -> None:
    pairs = ScriptedCrossReader(lambda _, chunk: reading(chunk, "40 crowns", 0.5, answerable=0.8))
    each = {
        "en": ReaderLaw(fall=0.8, sureness=(1.0, 0.0, 0.0)),
        "id": ReaderLaw(fall=0.8, sureness=(0.0, 1.0, 0.0)),
    }
    mind = LocalReader(pairs=pairs, laws=each)
    assert mind.draft("What does it cost?", [hit_of()]).confidence == pytest.approx(0.5, abs=1e-6)
    assert mind.draft("Berapa biayanya?", [hit_of()]).confidence == pytest.approx(0.8, abs=1e-6)
