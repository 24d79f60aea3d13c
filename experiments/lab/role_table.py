"""The table of roles: what their calls came to, and what they changed."""

from collections.abc import Sequence
from dataclasses import dataclass

from experiments.lab.plan import written
from experiments.lab.role_calls import AskedTwice, RoleCall
from experiments.lab.role_plan import RolePlan

from fathom.calibration.certificate import compute_upper_bound

_TAIL = 0.025
HEAD = (
    "role",
    "questions",
    "calls",
    "valid",
    "of these repaired",
    "used",
    "quotes named",
    "found",
    "shown",
    "verbatim",
    "tokens read a call",
    "written",
    "seconds a call",
    "answers changed",
    "right, all local",
    "right, with it",
    "over budget",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleLine:
    """A row of the table: its name, and all that was asked for it."""

    name: str
    asked: tuple[AskedTwice, ...]

    @property
    def calls(self) -> tuple[RoleCall, ...]:
        """All calls."""
        return tuple(call for each in self.asked for call in each.calls)

    @property
    def cells(self) -> tuple[str, ...]:
        """What stands under `HEAD`."""
        calls, asked = self.calls, self.asked
        count, named = len(calls), sum(call.named for call in calls)
        valid = sum(call.valid for call in calls)
        shown = sum(each.model.quotes for each in asked)
        return (
            self.name,
            str(len(asked)),
            str(count),
            _sure(valid, count),
            str(sum(call.repaired for call in calls)),
            _share(sum(call.used for call in calls), count),
            str(named) if named else "",
            _sure(sum(call.found for call in calls), named),
            str(shown),
            _share(sum(each.model.verbatim for each in asked), shown),
            _mean(sum(call.prompt_tokens for call in calls), count),
            _mean(sum(call.completion_tokens for call in calls), count),
            _mean(sum(call.seconds for call in calls), count, digits=1),
            str(sum(not each.same for each in asked)),
            str(sum(each.local.right for each in asked)),
            str(sum(each.model.right for each in asked)),
            str(sum(each.overshoot for each in asked)),
        )


def summary(asked: Sequence[AskedTwice]) -> list[RoleLine]:
    """A line for each role that was asked, in the order in which they were."""
    names = dict.fromkeys(each.row for each in asked)
    return [
        RoleLine(name=name, asked=tuple(each for each in asked if each.row == name))
        for name in names
    ]


def table(lines: Sequence[RoleLine]) -> str:
    """The lines in Markdown."""
    rows = [HEAD, tuple("---" for _ in HEAD), *(line.cells for line in lines)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def page(plan: RolePlan, model: str, lines: Sequence[RoleLine]) -> str:
    """The table under its title, with the settings that are not the default ones."""
    text = ", ".join(f"`{name} = {written(value)}`" for name, value in plan.settings.items())
    return f"# {plan.title}\n\nModel: `{model}`. Settings: {text}.\n\n{table(lines)}\n"


def _sure(part: int, whole: int) -> str:
    """A share with its exact 95 % interval (Clopper and Pearson 1934)."""
    if not whole:
        return ""
    low = 1 - compute_upper_bound(whole - part, whole, _TAIL)
    high = compute_upper_bound(part, whole, _TAIL)
    return f"{part / whole:.0%} [{100 * low:.0f}, {100 * high:.0f}]"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else ""


def _mean(total: float, count: int, *, digits: int = 0) -> str:
    return f"{total / count:.{digits}f}" if count else ""
