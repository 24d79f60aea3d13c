"""What the planner of a run chose: what the entropy of a planner's actions is measured on."""

from fathom.tracing.trace import Trace


def actions(trace: Trace) -> tuple[str, ...]:
    """The workflows that a planner wanted, legal or not, in the order of their turns.

    Returns:
        One a turn, as `mao.policy` spells it (`R,DS,AG`); nothing where nobody plans.
    """
    steps = sorted(trace.steps, key=lambda step: (step.started_at, step.id))
    wanted = [step.outputs.get("workflow") for step in steps if step.agent == "planner"]
    return tuple(",".join(map(str, each)) for each in wanted if isinstance(each, list))
