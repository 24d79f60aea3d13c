import asyncio
from collections.abc import Mapping
from dataclasses import replace

import pytest
from tests.factories import FEES, QUESTION, hit_of

from fathom.agents.reader.local import LocalReader, ReaderLaw
from fathom.agents.reader.yes_no import VerdictLaw
from fathom.models.reading import Reading
from fathom.question.question import Question
from fathom.runs.recorder import Recorder
from fathom.testing.doubles import ScriptedCrossReader, reading, run_context
from fathom.types import Chunk, Draft, Hit

OLD = "In 2023 a mooring permit cost 35 crowns. It rained."
SAME = "A permit is had for 40 crowns, they say."


def make_reader(pairs: ScriptedCrossReader) -> LocalReader:
    """Return a reader whose confidence is the score itself."""
    return LocalReader(pairs=pairs, laws=make_laws(0.15, (1.0, 0.0, 0.0)))


def make_laws(fall: float, sureness: tuple[float, float, float]) -> dict[str, ReaderLaw]:
    return dict.fromkeys(("en", "id"), ReaderLaw(fall=fall, sureness=sureness))


def make_draft(
    question: str, answers: Mapping[str, tuple[str, float]], hits: list[Hit], **values: float
) -> Draft:
    """Return a draft over texts that hold these answers with these scores."""

    def script(_: str, chunk: Chunk) -> Reading:
        answer, score = answers.get(chunk.text, ("", 0.0))
        return reading(chunk, answer, score, **values)

    return make_reader(ScriptedCrossReader(script)).draft(Question(question), hits)


def test_the_sentence_of_the_best_span_is_quoted() -> None:
    hits = [hit_of("Dogs are welcome.", document="d0"), hit_of(rank=2)]
    answers = {hits[0].chunk.text: ("Dogs", 0.1), FEES: ("40 crowns", 0.8)}
    draft = make_draft(QUESTION, answers, hits)
    (evidence,) = draft.evidence
    assert evidence.quote == "A mooring permit costs 40 crowns a year."
    assert evidence.support == 0.8
    assert draft.short_answer == "40 crowns"
    assert 0.7 < draft.confidence < 0.8
    assert (draft.claims, draft.alternatives) == ((), ())


@pytest.mark.parametrize(
    "question", ["When did it begin?", "How many came?", "Kapankah itu mulai?"]
)
def test_an_answer_of_another_kind_is_dropped(question: str) -> None:
    hits = [hit_of("Ada Vale began it.", document="d0"), hit_of("Two came in 1890.", rank=2)]
    answers = {hits[0].chunk.text: ("Ada Vale", 0.9), hits[1].chunk.text: ("Two came in 1890", 0.4)}
    assert make_draft(question, answers, hits).short_answer == "Two came in 1890"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What did the mill grind beside rye?", "wheat"),
        ("Apa yang digiling the mill selain rye?", "wheat"),
    ],
)
def test_an_answer_that_only_repeats_the_question_is_dropped(question: str, answer: str) -> None:
    hits = [hit_of("The mill ground rye.", document="d0"), hit_of("It ground wheat too.", rank=2)]
    answers = {hits[0].chunk.text: ("rye", 0.9), hits[1].chunk.text: ("wheat", 0.4)}
    assert make_draft(question, answers, hits).short_answer == answer


def make_parts_draft(place_score: float) -> Draft:
    """Return a draft of a question in two parts, the second with this score."""
    year, place = "The mill was built in 1890.", "The mill stands in Merrow."

    def script(question: str, chunk: Chunk) -> Reading:
        if chunk.text == year:
            return reading(chunk, "1890", 0.8 if question.startswith("When") else 0.0)
        return reading(chunk, "Merrow", place_score if question.startswith("Where") else 0.0)

    hits = [hit_of(year, document="d0"), hit_of(place, document="d1", rank=2)]
    question = Question("When was the mill built, and where does it stand?")
    return make_reader(ScriptedCrossReader(script)).draft(question, hits)


def test_the_parts_of_a_question_are_answered_in_turn() -> None:
    draft = make_parts_draft(0.6)
    assert draft.short_answer == "1890; Merrow"
    assert [item.quote for item in draft.evidence] == [
        "The mill was built in 1890.",
        "The mill stands in Merrow.",
    ]
    assert draft.confidence == pytest.approx(0.6, abs=0.1)


def test_a_question_is_as_sure_as_its_least_sure_part() -> None:
    assert make_parts_draft(0.0).confidence < 0.1


def test_sides_are_compared_by_values_only() -> None:
    hits = [
        hit_of("Ama Peak, the twin peak, is 7,546 m high.", document="d0"),
        hit_of("Oru Peak is the eighth, and 8163 m high.", document="d1", rank=2),
    ]
    first, second = (hit.chunk.text for hit in hits)

    def script(_: str, chunk: Chunk) -> Reading:
        answers = {first: ("twin peak", "7,546 m"), second: ("eighth", "8163 m")}[chunk.text]
        likely, other = (
            reading(chunk, answer, score) for answer, score in zip(answers, (0.9, 0.6), strict=True)
        )
        return replace(likely, spans=(*likely.spans, *other.spans))

    draft = make_reader(ScriptedCrossReader(script)).draft(
        Question("Which is higher, Ama Peak or Oru Peak?"), hits
    )
    assert draft.short_answer == "Oru Peak"


def test_one_of_the_offered_options_is_the_answer() -> None:
    hits = [hit_of("Works end in 2026-11.", document="d0"), hit_of("The old mill.", rank=2)]
    answers = {hits[0].chunk.text: ("2026-11", 0.9), hits[1].chunk.text: ("The old mill", 0.4)}
    question = "Which is older, the office or the mill?"
    assert make_draft(question, answers, hits).short_answer == "The old mill"
    assert make_draft(question, answers, hits[:1]) == Draft()


def test_another_answer_of_another_document_is_reported() -> None:
    hits = [hit_of(document="new"), hit_of(OLD, document="old", rank=2)]
    draft = make_draft(QUESTION, {FEES: ("40 crowns", 0.8), OLD: ("35 crowns", 0.8)}, hits)
    assert draft.short_answer == "40 crowns"
    assert [item.hit.chunk.document_id for item in draft.evidence] == ["new", "old"]
    (other,) = draft.alternatives
    assert (other.text, other.evidence) == ("35 crowns", (1,))


def test_an_equal_answer_is_no_alternative() -> None:
    hits = [hit_of(document="a"), hit_of(SAME, document="b", rank=2)]
    draft = make_draft(QUESTION, {FEES: ("40 crowns", 0.5), SAME: ("40 crowns", 0.5)}, hits)
    assert len(draft.evidence) == 2
    assert draft.alternatives == ()
    assert draft.confidence > 0.7


def test_an_unlikely_answer_is_not_quoted_beside_a_likely_one() -> None:
    hits = [hit_of(document="a"), hit_of(OLD, document="b", rank=2)]
    draft = make_draft(QUESTION, {FEES: ("40 crowns", 0.5), OLD: ("35 crowns", 0.1)}, hits)
    assert len(draft.evidence) == 1


def test_a_list_contains_every_likely_item() -> None:
    texts = ["Ash grows here.", "Elm does.", "Oak, too.", "So they say."]
    hits = [hit_of(text, document=text, rank=rank) for rank, text in enumerate(texts, start=1)]
    answers = {texts[0]: ("Ash", 0.6), texts[1]: ("Elm", 0.6), texts[2]: ("Oak", 0.55)}
    answers[texts[3]] = ("they", 0.1)
    draft = make_draft("Which three trees grow here?", answers, hits)
    assert draft.short_answer == "Ash, Elm, Oak"
    assert [item.quote for item in draft.evidence] == texts[:3]
    assert make_draft("Where do trees grow?", answers, hits).short_answer == "Ash"


def test_a_list_may_have_one_item() -> None:
    draft = make_draft("List the fees.", {FEES: ("40 crowns", 0.8)}, [hit_of()])
    assert draft.short_answer == "40 crowns"


def test_yes_or_no_is_given_with_its_deciding_sentence() -> None:
    law = VerdictLaw(yes=(1.0, 0.0, 0.0, 0.0, 0.0, 0.0), no=(1.0, 0.0, 0.0, 0.0, 0.0, 0.0))

    def ask_yes_no(question: str, supported: float, contradicted: float) -> Draft:
        def script(_: str, chunk: Chunk) -> Reading:
            sides = {"supported": supported, "contradicted": contradicted, "unrelated": 0.1}
            return reading(chunk, "40 crowns", 0.5, relevance=0.9, **sides)

        local_reader = replace(
            make_reader(ScriptedCrossReader(script)), verdicts={"en": law, "id": law}
        )
        return local_reader.draft(Question(question), [hit_of()])

    sure = ask_yes_no("Is a mooring permit free?", 0.02, 0.9)
    assert (sure.short_answer, sure.evidence[0].quote) == (
        "no",
        "A mooring permit costs 40 crowns a year.",
    )
    assert sure.confidence > 0.95
    assert ask_yes_no("Apakah permit itu berlaku untuk mooring?", 0.9, 0.01).short_answer == "ya"
    unsure = ask_yes_no("Is a mooring permit free?", 0.4, 0.5)
    assert (unsure.short_answer, unsure.confidence) == ("", 0.5)
    assert unsure.evidence[0].quote == sure.evidence[0].quote


ELM = "Elm Bridge was opened on 3 May 1990."
OAK = "Oak Bridge was opened in 1987."


def compare_dates(question: str, *texts: str, score: float = 0.8) -> Draft:
    """Return a draft over hits that tell when something was opened."""
    hits = [hit_of(text, document=text, rank=rank) for rank, text in enumerate(texts, start=1)]
    answers = {text: (text.split(" opened ")[1].rstrip("."), score) for text in texts}
    return make_draft(question, answers, hits)


def test_a_comparison_is_decided_by_the_values_of_both_sides() -> None:
    older = compare_dates("Was Elm Bridge opened before Oak Bridge?", ELM, OAK)
    assert older.short_answer == "no"
    assert [item.quote for item in older.evidence] == [ELM, OAK]
    assert compare_dates("Was Elm Bridge opened after Oak Bridge?", ELM, OAK).short_answer == "yes"
    first = compare_dates("Which was opened first, Elm Bridge or Oak Bridge?", ELM, OAK)
    assert first.short_answer == "Oak Bridge"


def test_a_missing_unsure_or_disputed_side_decides_nothing() -> None:
    question = "Was Elm Bridge opened before Oak Bridge?"
    assert compare_dates(question, ELM).short_answer == ""
    assert compare_dates(question, ELM, OAK, score=0.2).short_answer == ""
    other = "Elm Bridge was opened in 1912."
    assert compare_dates(question, ELM, OAK, other).short_answer == ""


def test_without_hits_the_draft_is_empty() -> None:
    for question in (QUESTION, "Is it free?", "List all fees.", ""):
        assert make_draft(question, {}, []) == Draft()
        assert make_draft(question, {}, [hit_of("", document="empty")]) == Draft()


def test_the_step_records_how_many_hits_were_read() -> None:
    hits = [hit_of(document=f"d{rank}", rank=rank) for rank in range(1, 6)]
    pairs = ScriptedCrossReader(lambda _, chunk: reading(chunk, "40 crowns", 1.0))
    with run_context() as context:
        draft = asyncio.run(make_reader(pairs).read(Question(QUESTION), hits, context))
        assert isinstance(context.scope, Recorder)
        (step,) = context.scope.seal(None).steps
    assert step.reason == "confidence 1.00, 2 of 5 chunks read"
    assert draft == make_reader(pairs).draft(Question(QUESTION), hits)


def test_confidence_is_a_law_of_the_score() -> None:
    pairs = ScriptedCrossReader(lambda _, chunk: reading(chunk, "40 crowns", 0.5, answerable=0.8))
    wants = {(1.0, 0.0, 0.0): 0.5, (2.0, 0.0, -1.0): 0.268941, (0.0, 1.0, 0.0): 0.8}
    for law, expected in wants.items():
        reader = LocalReader(pairs=pairs, laws=make_laws(0.8, law))
        assert reader.draft(Question(QUESTION), [hit_of()]).confidence == pytest.approx(
            expected, abs=1e-6
        )


def test_the_law_depends_on_the_language_of_the_question() -> None:
    pairs = ScriptedCrossReader(lambda _, chunk: reading(chunk, "40 crowns", 0.5, answerable=0.8))
    laws = {
        "en": ReaderLaw(fall=0.8, sureness=(1.0, 0.0, 0.0)),
        "id": ReaderLaw(fall=0.8, sureness=(0.0, 1.0, 0.0)),
    }
    reader = LocalReader(pairs=pairs, laws=laws)
    assert reader.draft(Question("What does it cost?"), [hit_of()]).confidence == pytest.approx(
        0.5, abs=1e-6
    )
    assert reader.draft(Question("Berapa biayanya?"), [hit_of()]).confidence == pytest.approx(
        0.8, abs=1e-6
    )
