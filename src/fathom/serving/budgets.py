"""The budget of a question over a network, at most what the operator allows."""

from dataclasses import asdict
from typing import Any, Literal

from fathom.settings import Settings
from fathom.usage import Budget

Effort = Literal["low", "medium", "high"]
MOST_TOKENS = 10**9
"""The largest limit of tokens that a caller may name."""
MOST_CALLS = 10**6
"""The largest limit of calls of language models that a caller may name."""
MOST_SECONDS = 10**6
"""The longest deadline that a caller may name."""
MOST_USD = 10**6
"""The largest limit of cost that a caller may name."""


def limit_budget(
    settings: Settings, effort: Effort | None = None, asked: Budget | None = None
) -> Budget:
    """Return the budget of one question.

    Args:
        settings: The operator's settings. A limit of `[budget]` that is lower than the limit of the
            default effort holds for every question.
        effort: The effort; by default that of the settings.
        asked: The caller's own limits; they lower the budget and never raise it.
    """
    default = getattr(settings.effort, settings.budget.effort)
    chosen = settings.budget if effort is None else getattr(settings.effort, effort)
    limits: dict[str, Any] = {}
    for name, limit in asdict(asked or Budget()).items():
        operator_limit = find_lowest_limit(getattr(settings.budget, name), getattr(default, name))
        # Only a limit that the operator lowered is a ceiling; otherwise a higher effort may spend
        # more.
        ceiling = None if operator_limit == getattr(default, name) else operator_limit
        limits[name] = find_lowest_limit(getattr(chosen, name), limit, ceiling)
    return Budget(**limits)


def find_lowest_limit(*limits: float | None) -> float | None:
    """Return the lowest of several limits; `None` means no limit."""
    return min((limit for limit in limits if limit is not None), default=None)
