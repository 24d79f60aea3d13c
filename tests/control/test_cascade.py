"""The ladder of Table I, case by case."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.hypothesis_settings import CALM

from fathom.control.cascade import Cascade, CascadeVerdict
from fathom.domains.domain import load_domain
from fathom.settings.maf import PHASES, Phase

FULL = Cascade(phases=PHASES, debate_on="doubt")
DIFFER = Cascade(phases=PHASES)
ACCEPT = CascadeVerdict(action="accept", reason="CONFIDENT")
LOST = CascadeVerdict(action="give_up", reason="NO_PHASE_LEFT")


def climb(to: Phase, reason: str = "BELOW_THRESHOLD") -> CascadeVerdict:
    return CascadeVerdict(action="escalate", reason=reason, to=to)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("phase", "confidence", "is_known", "verdict"),
    [
        ("vor", 0.75, True, ACCEPT),
        ("vor", 0.7499, True, climb("evr")),
        ("vor", 0.9, False, climb("evr", "UNKNOWN")),
        ("evr", 0.60, True, ACCEPT),
        ("evr", 0.59, True, climb("debate")),
        ("debate", 0.65, True, ACCEPT),
        ("debate", 0.64, True, climb("web")),
        ("debate", 1.0, False, climb("web", "UNKNOWN")),
        ("web", 0.55, True, CascadeVerdict(action="accept", reason="WEB_FOUND")),
        (
            "web",
            0.1,
            True,
            CascadeVerdict(action="accept", reason="WEB_LOW_CONFIDENCE", low_confidence=True),
        ),
        ("web", 0.9, False, LOST),
    ],
)
def test_every_case_of_the_ladder(
    phase: Phase, confidence: float, is_known: bool, verdict: CascadeVerdict
) -> None:
    assert FULL.decide(phase, confidence, has_answer=is_known) == verdict


def test_conflict_alone_leads_to_the_debate_from_any_phase() -> None:
    for phase in ("vor", "evr"):
        assert DIFFER.decide(phase, 0.99, conflict=True) == climb("debate", "CONFLICT")
    assert DIFFER.decide("vor", 0.1) == climb("evr")
    assert DIFFER.decide("evr", 0.1) == climb("web")
    assert Cascade().decide("evr", 0.1) == LOST
    assert DIFFER.decide("debate", 0.65, conflict=True) == ACCEPT
    assert DIFFER.decide("debate", 0.64, conflict=True) == climb("web")
    assert FULL.decide("vor", 0.99, conflict=True) == ACCEPT
    baseline = Cascade(phases=("vor", "evr", "web"))
    assert baseline.decide("vor", 0.99, conflict=True) == ACCEPT


def test_the_web_is_off_by_default() -> None:
    assert Cascade().decide("debate", 0.5) == LOST
    assert Cascade().decide("debate", 0.9, has_answer=False) == LOST


def test_the_baselines_have_no_debate() -> None:
    baseline = Cascade(phases=("vor", "evr", "web"))
    assert baseline.decide("evr", 0.2) == climb("web")


def test_a_class_has_its_own_thresholds() -> None:
    ladder = FULL.override_thresholds({"vor": 0.8})
    assert ladder.decide("vor", 0.78) == climb("evr")
    assert ladder.decide("evr", 0.6) == ACCEPT
    assert FULL.decide("vor", 0.78) == ACCEPT


def test_every_class_of_the_licensing_domain_is_valid() -> None:
    for question_class in load_domain("licensing-id").classes:
        assert FULL.override_thresholds(question_class.thresholds).decide("vor", 1.0) == ACCEPT


@pytest.mark.parametrize("phases", [(), ("evr", "vor"), ("vor", "vor"), ("vor", "internet")])
def test_phases_have_names_and_an_order(phases: tuple[Phase, ...]) -> None:
    with pytest.raises(ValueError, match="in this order"):
        Cascade(phases=phases)


@CALM
@given(data=st.data())
def test_every_climb_ends(data: st.DataObject) -> None:
    phases = tuple(p for p in PHASES if p == "vor" or data.draw(st.booleans()))
    ladder = Cascade(phases=phases, debate_on=data.draw(st.sampled_from(("conflict", "doubt"))))
    phase: Phase | None = "vor"
    for _ in phases:
        assert phase is not None
        confidence = data.draw(st.floats(0, 1))
        is_known, conflict = data.draw(st.booleans()), data.draw(st.booleans())
        verdict = ladder.decide(phase, confidence, has_answer=is_known, conflict=conflict)
        assert (verdict.to is not None) == (verdict.action == "escalate")
        phase = verdict.to
        if phase is None:
            return
    pytest.fail("climbed further than the ladder reaches")
