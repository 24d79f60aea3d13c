"""The confidence of a model's answer rests on its quotes, not on its own claim."""

from dataclasses import replace

from tests.factories import QUESTION, hit_of, read_fees

from fathom.agents.reader.confidence import FACTORS, LAWS, AnswerConfidence, drafts_agree
from fathom.models.reading import Reading
from fathom.question.question import Question
from fathom.testing.doubles import ScriptedCrossReader, reading
from fathom.types import Chunk, Draft, Evidence, Span

HIT = hit_of("Dogs are welcome. A mooring permit costs 40 crowns a year.")
ON = Evidence(hit=HIT, span=Span(18, len(HIT.chunk.text)), support=1.0)
OFF = Evidence(hit=HIT, span=Span(0, 17), support=1.0)
DRAFT = Draft(evidence=(ON,), short_answer="40 crowns", confidence=0.9)
CONFIDENCE = AnswerConfidence(pairs=ScriptedCrossReader(read_fees))


def test_a_quote_is_weighed_alone_and_the_best_one_counts() -> None:
    beside = Draft(evidence=(OFF,), short_answer="welcome")
    on, off = (
        CONFIDENCE(Question(QUESTION), DRAFT, Draft()),
        CONFIDENCE(Question(QUESTION), beside, DRAFT),
    )
    assert off < 0.2 < on - 0.4
    both = replace(DRAFT, evidence=(OFF, ON))
    assert CONFIDENCE(Question(QUESTION), both, Draft()) == on
    assert CONFIDENCE(Question(QUESTION), Draft(), DRAFT) == 0.0


def test_the_local_readers_answer_counts_for_and_against() -> None:
    other = replace(DRAFT, short_answer="99 crowns")
    unsure = replace(other, confidence=0.1)
    sure = {name: CONFIDENCE(Question(QUESTION), DRAFT, first) for name, first in
            {"same": DRAFT, "other": other, "unsure": unsure, "none": Draft()}.items()}  # fmt: skip
    assert sure["same"] > sure["none"]
    assert sure["other"] <= sure["unsure"] <= sure["same"]


def test_drafts_agree_by_answer_or_else_by_place() -> None:
    assert drafts_agree(Question(QUESTION), DRAFT, replace(DRAFT, short_answer="40"))
    assert not drafts_agree(Question(QUESTION), DRAFT, replace(DRAFT, short_answer="50 crowns"))
    bare = replace(DRAFT, short_answer="")
    assert drafts_agree(Question(QUESTION), bare, DRAFT)
    assert not drafts_agree(Question(QUESTION), bare, replace(DRAFT, evidence=(OFF,)))
    assert not drafts_agree(Question(QUESTION), DRAFT, Draft())


def test_a_yes_is_as_sure_as_its_deciding_sentence() -> None:
    def measure_confidence(answers: float, word: str) -> float:
        def script(claim: str, chunk: Chunk) -> Reading:
            supported = 0.02 if " not " in claim else 0.97
            denied = 0.98 - supported
            return reading(
                chunk, yes=answers, supported=supported, contradicted=denied, unrelated=0.01
            )

        confidence = AnswerConfidence(pairs=ScriptedCrossReader(script))
        draft = replace(DRAFT, short_answer=word)
        return confidence(Question("Does a mooring permit cost 40 crowns?"), draft, DRAFT)

    assert measure_confidence(0.97, "yes") > 0.7
    assert measure_confidence(0.97, "yes") > measure_confidence(0.5, "yes") > 0.5
    assert abs(measure_confidence(0.97, "yes") + measure_confidence(0.97, "no") - 1) < 1e-6


def test_every_law_has_a_slope_of_the_right_sign_for_each_factor() -> None:
    for law in LAWS.values():
        assert len(law) == len(FACTORS)
        assert min(law[:-1]) >= 0
