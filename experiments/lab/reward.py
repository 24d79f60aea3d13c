"""What a workflow earns: the reward of MAO-ARAG's planner (arXiv 2508.01005, section 3.2)."""

from experiments.lab.oracle_router import Value, measure_named

from fathom.evaluation.records import Record
from fathom.planner.workflows import is_legal_workflow

RETRIEVAL = 0.25
SPLIT = 0.25
TOKENS = 1000
"""So many tokens cost 1; the paper says only that they are normalised."""

_f1 = measure_named("F1")


def cost(record: Record) -> float:
    """What a question cost: tokens, searches and waiting for sub-questions (equation 4).

    A parallel split waits once, a serial one for each sub-question. The first look of `mao` counts
    as a search.
    """
    spent = {name: record.usage.get(name) or 0.0 for name in record.usage}
    tokens = spent.get("prompt_tokens", 0.0) + spent.get("completion_tokens", 0.0)
    return tokens / TOKENS + RETRIEVAL * spent.get("retrievals", 0.0) + SPLIT * _waits(record)


def reward(alpha: float) -> Value:
    """F1 - alpha * cost, less 1 for an illegal workflow (equation 6).

    Args:
        alpha: What cost weighs; at least 0.
    """
    return lambda record: _f1(record) - alpha * cost(record) - _illegal(record)


def _waits(record: Record) -> int:
    """How many sub-questions were answered one after the other."""
    first, *subs = record.actions or ("",)
    return len(subs) if first == "QDS" else min(1, len(subs))


def _illegal(record: Record) -> float:
    plans = (action.split(",") for action in record.actions)
    return float(not all(is_legal_workflow(plan, first=at == 0) for at, plan in enumerate(plans)))
