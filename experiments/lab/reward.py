"""The reward of a workflow: that of MAO-ARAG's planner (arXiv 2508.01005, section 3.2)."""

from experiments.lab.oracle_router import Value, get_measure

from fathom.evaluation.records import Record
from fathom.planner.process import find_process
from fathom.planner.workflows import is_legal_workflow

RETRIEVAL = 0.25
SPLIT = 0.25
TOKENS = 1000
"""So many tokens cost 1; the paper says only that they are normalised."""

_f1 = get_measure("F1")


def compute_cost(record: Record) -> float:
    """Return the cost of a question: tokens, searches and waiting for sub-questions (equation 4).

    A parallel split waits once, a serial one for each sub-question. A first look costs nothing by
    itself; R that takes its hits costs a search.
    """
    spent = {name: record.usage.get(name) or 0.0 for name in record.usage}
    tokens = spent.get("prompt_tokens", 0.0) + spent.get("completion_tokens", 0.0)
    return tokens / TOKENS + RETRIEVAL * _count_searches(record) + SPLIT * _count_waits(record)


def make_reward(alpha: float) -> Value:
    """Return the reward F1 - alpha * cost, less 1 for an illegal workflow (equation 6).

    Args:
        alpha: What cost weighs; at least 0.
    """
    return lambda record: _f1(record) - alpha * compute_cost(record) - _is_illegal(record)


def _count_searches(record: Record) -> int:
    """Count the searches of R; an illegal workflow was replaced by the default."""
    process = find_process("mao")
    plans = [
        plan if is_legal_workflow(plan.split(","), first=at == 0) else process.fallback
        for at, plan in enumerate(record.actions)
    ]
    retrievals = int(record.usage.get("retrievals") or 0)
    return process.count_searches(plans, retrievals, is_open=False)


def _count_waits(record: Record) -> int:
    """Count the sub-questions that were answered one after the other."""
    first, *subs = record.actions or ("",)
    return len(subs) if first == "QDS" else min(1, len(subs))


def _is_illegal(record: Record) -> float:
    plans = (action.split(",") for action in record.actions)
    return float(not all(is_legal_workflow(plan, first=at == 0) for at, plan in enumerate(plans)))
