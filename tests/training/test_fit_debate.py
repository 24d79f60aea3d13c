from tests.factories import hit_of

from training.fit_debate import HeldDebate, fit_law, report  # isort: skip

import pytest

from fathom.agents.debate.debate import DebateOutcome
from fathom.evaluation.datasets import DatasetQuestion
from fathom.types import Draft, Evidence, Span

HIT = hit_of()


def make_debated(answer: str, share: float, sure: float, *, answerable: bool = True) -> HeldDebate:
    question = DatasetQuestion(
        id=answer, text="How much?", answers=("40 crowns",), answerable=answerable
    )
    draft = Draft(evidence=(Evidence(hit=HIT, span=Span(0, 4), support=0.5),), short_answer=answer)
    return HeldDebate(
        question, DebateOutcome(draft=draft, share=share, margin=2 * share - 1, sure=sure)
    )


RIGHT = [make_debated("40 crowns", share, 0.6) for share in (0.75, 1.0) * 10]
WRONG = [make_debated("50 crowns", share, 0.7) for share in (0.25, 0.5) * 10]


def test_agreement_raises_confidence_and_nothing_lowers_it() -> None:
    law = fit_law([*RIGHT, *WRONG])
    assert law.sure == 0.0  # here the wrong ones are the surer ones
    assert law.share + law.margin > 0
    assert law(0.6, 1.0, 1.0) > 0.5 > law(0.6, 0.25, 0.0)


def test_an_unanswerable_question_has_no_right_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert RIGHT[0].right
    assert not make_debated("40 crowns", 1.0, 0.9, answerable=False).right
    report("none", fit_law([*RIGHT, *WRONG]), [])
    report("some", fit_law([*RIGHT, *WRONG]), RIGHT)
    assert capsys.readouterr().out.splitlines()[0] == "none: no debates"
