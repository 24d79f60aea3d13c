"""The table of roles: their calls and their effect on answers."""

from collections.abc import Sequence
from dataclasses import dataclass

from experiments.lab.plan import format_value
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
    """A row of the table: its name, and its questions."""

    name: str
    asked: tuple[AskedTwice, ...]

    @property
    def calls(self) -> tuple[RoleCall, ...]:
        """All calls."""
        return tuple(call for entry in self.asked for call in entry.calls)

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells below `HEAD`."""
        calls, entries = self.calls, self.asked
        count, named = len(calls), sum(call.named for call in calls)
        valid = sum(call.valid for call in calls)
        quotes = sum(entry.model.quotes for entry in entries)
        return (
            self.name,
            str(len(entries)),
            str(count),
            _format_interval(valid, count),
            str(sum(call.repaired for call in calls)),
            _format_share(sum(call.used for call in calls), count),
            str(named) if named else "",
            _format_interval(sum(call.found for call in calls), named),
            str(quotes),
            _format_share(sum(entry.model.verbatim for entry in entries), quotes),
            _format_mean(sum(call.prompt_tokens for call in calls), count),
            _format_mean(sum(call.completion_tokens for call in calls), count),
            _format_mean(sum(call.seconds for call in calls), count, digits=1),
            str(sum(not entry.same for entry in entries)),
            str(sum(entry.local.right for entry in entries)),
            str(sum(entry.model.right for entry in entries)),
            str(sum(entry.overshoot for entry in entries)),
        )


def summarize_roles(entries: Sequence[AskedTwice]) -> list[RoleLine]:
    """Return a line for each role, in the order of the questions."""
    names = dict.fromkeys(entry.row for entry in entries)
    return [
        RoleLine(name=name, asked=tuple(entry for entry in entries if entry.row == name))
        for name in names
    ]


def format_table(lines: Sequence[RoleLine]) -> str:
    """Return the lines in Markdown."""
    rows = [HEAD, tuple("---" for _ in HEAD), *(line.cells for line in lines)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def format_page(plan: RolePlan, model: str, lines: Sequence[RoleLine]) -> str:
    """Return the table under its title, with the settings that differ from the defaults."""
    text = ", ".join(f"`{name} = {format_value(value)}`" for name, value in plan.settings.items())
    return f"# {plan.title}\n\nModel: `{model}`. Settings: {text}.\n\n{format_table(lines)}\n"


def _format_interval(part: int, whole: int) -> str:
    """Format a share with its exact 95 % interval (Clopper and Pearson 1934)."""
    if not whole:
        return ""
    low = 1 - compute_upper_bound(whole - part, whole, _TAIL)
    high = compute_upper_bound(part, whole, _TAIL)
    return f"{part / whole:.0%} [{100 * low:.0f}, {100 * high:.0f}]"


def _format_share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else ""


def _format_mean(total: float, count: int, *, digits: int = 0) -> str:
    return f"{total / count:.{digits}f}" if count else ""
