"""Yes or no, decided by what sentences say about a statement and its negation."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.factories import hit_of

from fathom.agents.reader.base import ReadHit
from fathom.agents.reader.yes_no import Verdict, VerdictLaw, YesNoJudge
from fathom.models.reading import NOTHING, Reading
from fathom.question.question import Question
from fathom.question.statement import parse_statement
from fathom.testing.doubles import ScriptedCrossReader, reading
from fathom.types import Chunk, Evidence, Hit, Span

QUESTION = "Are dogs allowed in the library?"
YES = "Dogs are allowed in the library. Cats sleep."
NO = "In the library dogs are forbidden."
LAW = VerdictLaw(yes=(1.0, 0.0, 0.0, 0.0, 0.0, 0.0), no=(1.0, 0.0, 0.0, 0.0, 0.0, 0.0))


def read_claim(claim: str, chunk: Chunk) -> Reading:
    """Read a sentence that supports itself and contradicts its opposite."""
    denies = " not " in claim
    if "Dogs are allowed" in chunk.text:
        scores: dict[str, Any] = {"supported": 0.9}
        if denies:
            scores = {"supported": 0.02, "contradicted": 0.9}
    elif "forbidden" in chunk.text:
        scores = {"supported": 0.9} if denies else {"contradicted": 0.9, "supported": 0.02}
    else:
        scores = {"unrelated": 1.0}
    return replace(reading(chunk), **{"unrelated": 0.05, **scores})


def decide(texts: Sequence[str], question: str = QUESTION, sure: float = 0.8) -> Verdict | None:
    hits = [hit_of(text, document=f"d{rank}", rank=rank) for rank, text in enumerate(texts, 1)]
    read_hits = [ReadHit(hit=hit, reading=NOTHING, trust=1.0) for hit in hits]
    laws = {"en": LAW, "id": LAW}
    return YesNoJudge(pairs=ScriptedCrossReader(read_claim), laws=laws, sure=sure)(
        Question(question), read_hits
    )


def test_a_supporting_sentence_decides_yes() -> None:
    verdict = decide([YES])
    assert verdict is not None
    assert (verdict.yes, verdict.evidence.quote) == (True, "Dogs are allowed in the library.")
    assert verdict.confidence > 0.99


def test_a_contradicting_sentence_decides_no() -> None:
    verdict = decide(["Cats sleep.", NO])
    assert verdict is not None
    assert (verdict.yes, verdict.evidence.quote) == (False, NO)


def test_a_yes_beside_a_no_decides_nothing() -> None:
    assert decide([YES, NO]) is None


def test_a_no_that_is_nearly_sure_leaves_a_yes_undecided() -> None:
    quote, opposite = (
        Evidence(hit=hit_of(text), span=Span(0, 4), support=0.9) for text in (YES, NO)
    )

    def judge(opposed: float) -> Verdict | None:
        sides = [Verdict(yes=True, confidence=0.65, evidence=quote)]
        sides += [Verdict(yes=False, confidence=opposed, evidence=opposite)]
        return YesNoJudge(pairs=ScriptedCrossReader(read_claim)).choose(sides)

    assert judge(0.55) is None
    undisputed = judge(0.45)
    assert undisputed is not None
    assert undisputed.yes


def test_an_unsure_sentence_decides_nothing() -> None:
    assert decide([YES], sure=0.9999) is None
    assert decide(["Cats sleep in the library."]) is None
    assert decide([]) is None


def test_a_question_of_another_form_is_not_decided() -> None:
    assert decide([YES], "Where are dogs allowed?") is None


def test_a_verdict_has_these_factors() -> None:
    hit: Hit = hit_of(YES)
    statement = parse_statement(QUESTION)
    assert statement is not None
    look = ReadHit(hit=hit, reading=NOTHING, trust=1.0)
    (weighed,) = YesNoJudge(pairs=ScriptedCrossReader(read_claim)).weigh_sentences(statement, look)
    tells, decides, words, denial, answers, bias = weighed.factors
    assert weighed.yes
    assert answers == 0
    assert tells > decides > 0
    assert denial > 0
    assert (words, bias) == (1.0, 1.0)


def test_an_indecisive_sentence_is_not_read_twice() -> None:
    statement = parse_statement(QUESTION)
    assert statement is not None
    look = ReadHit(hit=hit_of("Cats sleep in the library."), reading=NOTHING, trust=1.0)
    verdicts = YesNoJudge(pairs=ScriptedCrossReader(read_claim))
    assert list(verdicts.weigh_sentences(statement, look)) == []
    (weighed,) = verdicts.weigh_sentences(statement, look, every=True)
    assert weighed.factors[1] < 0


def test_the_answer_of_the_hit_counts_for_its_side() -> None:
    statement = parse_statement(QUESTION)
    assert statement is not None
    verdicts = YesNoJudge(pairs=ScriptedCrossReader(read_claim))

    def weigh_answer(text: str, share: float) -> float:
        look = ReadHit(hit=hit_of(text), reading=replace(NOTHING, yes=share), trust=1.0)
        return max(
            verdicts.weigh_sentences(statement, look), key=lambda sentence: sentence.factors[1]
        ).factors[4]

    assert (
        weigh_answer(YES, 0.9)
        == pytest.approx(-weigh_answer(NO, 0.9))
        == pytest.approx(2.197, abs=1e-3)
    )
    assert weigh_answer(YES, 0.2) < 0 < weigh_answer(NO, 0.2)


def support_all(_claim: str, chunk: Chunk) -> Reading:
    return replace(reading(chunk), supported=0.95, contradicted=0.01, unrelated=0.04)


def decide_row(question: str, text: str, *, title: str) -> Verdict | None:
    hit = hit_of(text, title=title)
    look = [ReadHit(hit=hit, reading=NOTHING, trust=1.0)]
    return YesNoJudge(pairs=ScriptedCrossReader(support_all))(Question(question), look)


@pytest.mark.parametrize(
    ("question", "row", "title", "yes"),
    [
        ("Does Mia Harlow have kids?", "Has kids: FALSE", "Mia Harlow", False),
        ("Is Mia Harlow married?", "Married: TRUE", "Mia Harlow", True),
        ("Does Mia Harlow have siblings?", "Siblings: 0", "Mia Harlow", False),
        ("Is stapling on in the printer settings?", "Stapling: none", "Printer settings", False),
        ("Is duplex off in the printer settings?", "Duplex: off", "Printer settings", True),
        ("Does the ferry Sandholm take cars?", "Takes cars | no", "Ferry Sandholm", False),
        ("Apakah Budi Santoso punya anak?", "Punya anak: tidak", "Budi Santoso", False),
        ("Apakah Budi Santoso sudah menikah?", "Sudah menikah: ya", "Budi Santoso", True),
        ("Apakah Budi Santoso merokok?", "Merokok: TIDAK", "Budi Santoso", False),
    ],
)
def test_a_value_decides_against_the_words_of_its_row(
    question: str, row: str, title: str, yes: bool
) -> None:
    verdict = decide_row(question, row, title=title)
    assert verdict is not None
    assert (verdict.yes, verdict.evidence.quote) == (yes, row)


def test_the_row_whose_key_is_nearest_to_the_question_decides() -> None:
    verdict = decide_row(
        "Apakah Budi punya kendaraan?", "Punya anak: ya\nKendaraan: tidak ada", title="Budi"
    )
    assert verdict is not None
    assert not verdict.yes


def test_a_row_about_another_subject_does_not_decide() -> None:
    assert decide_row("Does Mia Harlow have kids?", "Has kids: FALSE", title="Tom Bell") is None


def test_rows_that_disagree_decide_nothing() -> None:
    rows = "Has kids: FALSE\nHas kids: TRUE"
    assert decide_row("Does Mia Harlow have kids?", rows, title="Mia Harlow") is None


@pytest.mark.parametrize(
    "question", ["Does Mia not have kids?", "Doesn\u2019t Mia have kids?", "Mia cannot have kids?"]
)
def test_a_denied_question_is_not_decided_by_a_value(question: str) -> None:
    assert decide_row(question, "Has kids: FALSE", title="Mia") is None
