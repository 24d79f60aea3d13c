"""The bounds of the levels of caution."""

from fathom.calibration.caution import LEVELS, ProbabilityBounds, choose_bounds
from fathom.settings import AskSettings


def test_a_level_shows_as_not_sure_what_it_does_not_give() -> None:
    for level, bounds in LEVELS.items():
        assert bounds.tentative is not None, level
        assert 0 <= bounds.tentative < bounds.given < 1, level
        assert bounds.tentative <= (bounds.unsure or bounds.given) <= bounds.given, level


def test_more_caution_gives_and_shows_less() -> None:
    levels = [LEVELS[name] for name in ("eager", "balanced", "cautious")]
    assert [level.given for level in levels] == sorted(level.given for level in levels)
    assert [level.tentative for level in levels] == sorted(level.tentative or 0 for level in levels)


def test_the_level_chooses_both_bounds() -> None:
    assert choose_bounds(AskSettings()) == LEVELS["balanced"]
    assert choose_bounds(AskSettings(caution="eager")) == LEVELS["eager"]


def test_a_bound_of_the_users_own_is_the_only_one() -> None:
    ask = AskSettings(caution="eager", min_probability=0.45)
    assert choose_bounds(ask) == ProbabilityBounds(given=0.45, tentative=None)


def test_no_answer_is_tentative_beside_a_certified_rate() -> None:
    assert choose_bounds(AskSettings(caution="eager", max_error=0.1)).tentative is None
