"""Yes or no is decided by what sentences say to a statement and to its negation."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.making import hit_of

from fathom.agents.reader.base import ReadHit
from fathom.agents.reader.yes_no import Verdict, VerdictLaw, YesNoJudge
from fathom.models.reading import NOTHING, Reading
from fathom.question.statement import parse_statement
from fathom.testing.doubles import ScriptedCrossReader, reading
from fathom.types import Chunk, Hit

ASKED = "Are dogs allowed in the library?"
YES = "Dogs are allowed in the library. Cats sleep."
NO = "In the library dogs are forbidden."
LAW = VerdictLaw(yes=(1.0, 0.0, 0.0, 0.0, 0.0, 0.0), no=(1.0, 0.0, 0.0, 0.0, 0.0, 0.0))


def script(claim: str, chunk: Chunk) -> Reading:
    """A sentence supports what it says, and contradicts the opposite."""
    denies = " not " in claim
    if "Dogs are allowed" in chunk.text:
        told: dict[str, Any] = {"supported": 0.9}
        if denies:
            told = {"supported": 0.02, "contradicted": 0.9}
    elif "forbidden" in chunk.text:
        told = {"supported": 0.9} if denies else {"contradicted": 0.9, "supported": 0.02}
    else:
        told = {"unrelated": 1.0}
    return replace(reading(chunk), **{"unrelated": 0.05, **told})


def decided(texts: Sequence[str], question: str = ASKED, sure: float = 0.8) -> Verdict | None:
    hits = [hit_of(text, document=f"d{rank}", rank=rank) for rank, text in enumerate(texts, 1)]
    seen = [ReadHit(hit=hit, reading=NOTHING, trust=1.0) for hit in hits]
    laws = {"en": LAW, "id": LAW}
    return YesNoJudge(pairs=ScriptedCrossReader(script), laws=laws, sure=sure)(question, seen)


def test_the_sentence_that_supports_the_statement_says_yes() -> None:
    found = decided([YES])
    assert found is not None
    assert (found.yes, found.evidence.quote) == (True, "Dogs are allowed in the library.")
    assert found.confidence > 0.99


def test_the_sentence_that_contradicts_it_says_no() -> None:
    found = decided(["Cats sleep.", NO])
    assert found is not None
    assert (found.yes, found.evidence.quote) == (False, NO)


def test_a_yes_beside_a_no_decides_nothing() -> None:
    assert decided([YES, NO]) is None


def test_what_is_not_sure_decides_nothing() -> None:
    assert decided([YES], sure=0.9999) is None
    assert decided(["Cats sleep in the library."]) is None
    assert decided([]) is None


def test_a_question_of_another_form_is_not_decided() -> None:
    assert decided([YES], "Where are dogs allowed?") is None


def test_what_a_verdict_depends_on() -> None:
    hit: Hit = hit_of(YES)
    statement = parse_statement(ASKED)
    assert statement is not None
    look = ReadHit(hit=hit, reading=NOTHING, trust=1.0)
    (weighed,) = YesNoJudge(pairs=ScriptedCrossReader(script)).weigh_sentences(statement, look)
    tells, decides, words, denial, answers, one = weighed.factors
    assert weighed.yes
    assert answers == 0
    assert tells > decides > 0
    assert denial > 0
    assert (words, one) == (1.0, 1.0)


def test_a_sentence_that_decides_nothing_is_not_read_twice() -> None:
    statement = parse_statement(ASKED)
    assert statement is not None
    look = ReadHit(hit=hit_of("Cats sleep in the library."), reading=NOTHING, trust=1.0)
    verdicts = YesNoJudge(pairs=ScriptedCrossReader(script))
    assert list(verdicts.weigh_sentences(statement, look)) == []
    (weighed,) = verdicts.weigh_sentences(statement, look, every=True)
    assert weighed.factors[1] < 0


def test_what_the_hit_answers_to_the_question_counts_for_its_side() -> None:
    statement = parse_statement(ASKED)
    assert statement is not None
    verdicts = YesNoJudge(pairs=ScriptedCrossReader(script))

    def answers(text: str, share: float) -> float:
        look = ReadHit(hit=hit_of(text), reading=replace(NOTHING, yes=share), trust=1.0)
        return max(
            verdicts.weigh_sentences(statement, look), key=lambda each: each.factors[1]
        ).factors[4]

    assert answers(YES, 0.9) == pytest.approx(-answers(NO, 0.9)) == pytest.approx(2.197, abs=1e-3)
    assert answers(YES, 0.2) < 0 < answers(NO, 0.2)
