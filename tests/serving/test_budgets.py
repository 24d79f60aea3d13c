"""The spending limits of clients over a network."""

from fathom.serving.budgets import Effort, limit_budget
from fathom.settings import Settings
from fathom.usage import Budget


def make_settings(**budget: object) -> Settings:
    return Settings.model_validate({"budget": budget})


def test_an_effort_names_its_own_limits() -> None:
    assert limit_budget(Settings()).tokens == 60_000
    assert limit_budget(Settings(), "low").tokens == 10_000
    assert limit_budget(Settings(), "high").tokens == 240_000
    assert limit_budget(make_settings(effort="low")).tokens == 10_000


def test_a_client_can_lower_a_limit_but_not_raise_it() -> None:
    lower = limit_budget(Settings(), asked=Budget(tokens=10, seconds=1.5, cost_usd=0.01))
    assert (lower.tokens, lower.seconds, lower.cost_usd, lower.calls) == (10, 1.5, 0.01, 30)
    higher = limit_budget(Settings(), "low", Budget(tokens=10**9, retrievals=10**9))
    assert (higher.tokens, higher.retrievals) == (10_000, 6)


def test_a_lower_limit_of_the_operator_applies_to_every_effort() -> None:
    tight = make_settings(tokens=500, cost_usd=0.1)
    efforts: tuple[Effort | None, ...] = ("low", "medium", "high", None)
    for effort in efforts:
        assert limit_budget(tight, effort).tokens == 500
        assert limit_budget(tight, effort).cost_usd == 0.1
    assert limit_budget(tight, "high").calls == 120
    assert limit_budget(make_settings(tokens=90_000)).tokens == 90_000
    assert limit_budget(make_settings(tokens=90_000), "high").tokens == 240_000
