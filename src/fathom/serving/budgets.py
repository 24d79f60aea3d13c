"""What somebody who asks over a network may spend: as much as the operator allows, or less."""

from dataclasses import asdict
from typing import Any, Literal

from fathom.settings import Settings
from fathom.usage import Budget

Effort = Literal["low", "medium", "high"]


def budget_of(
    settings: Settings, effort: Effort | None = None, asked: Budget | None = None
) -> Budget:
    """The budget of one question.

    Args:
        settings: The operator's: what each effort may spend, and what `[budget]` sets lower than
            its own effort does, which then holds for every question.
        effort: By default that of the settings.
        asked: Limits of whoever asks; they lower what may be spent and never raise it.
    """
    usual = getattr(settings.effort, settings.budget.effort)
    chosen = settings.budget if effort is None else getattr(settings.effort, effort)
    limits: dict[str, Any] = {}
    for name, own in asdict(asked or Budget()).items():
        least = strictest(getattr(settings.budget, name), getattr(usual, name))
        ceiling = None if least == getattr(usual, name) else least
        limits[name] = strictest(getattr(chosen, name), own, ceiling)
    return Budget(**limits)


def strictest(*limits: float | None) -> float | None:
    """The least of some limits; `None` is without limit."""
    return min((limit for limit in limits if limit is not None), default=None)
