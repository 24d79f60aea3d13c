"""The questions for each role: `experiments/models/*.toml`."""

from collections.abc import Sequence
from pathlib import Path

from experiments.lab.plan import Data, Part, Settings, format_value, parse_part
from pydantic import Field

from fathom.errors import UsageError


class RoleRow(Part):
    """A role to measure: one row of the table.

    Attributes:
        name: What the table calls it.
        role: Has the model; the others are local, unless the settings say otherwise.
        strategy: Asks it.
        settings: What differs from the defaults, `a.b` -> value.
        data: The questions.
    """

    name: str
    role: str
    strategy: str
    settings: Settings = Field(default_factory=dict)
    data: tuple[Data, ...] = Field(min_length=1)


class RolePlan(Part):
    """The plan of a file.

    Attributes:
        model: `provider:model`, unless another one is named.
        settings: Of every row.
    """

    title: str
    model: str
    settings: Settings = Field(default_factory=dict)
    role: tuple[RoleRow, ...] = Field(min_length=1)

    def assignments(self, row: RoleRow, *, model: str = "") -> list[str]:
        """Return the settings of a row in the form of `--set`.

        Args:
            row: One of `role`.
            model: Has the role; without one all roles are local.
        """
        settings = {**self.settings, **row.settings}
        if model:
            settings |= {"roles.reader": "local", **row.settings}
            settings |= {"llm.model": model, f"roles.{row.role}": "llm"}
        return [f"{key}={format_value(value)}" for key, value in settings.items()]

    def select_rows(self, names: Sequence[str]) -> tuple[RoleRow, ...]:
        """Return the rows with these names or roles, or all rows without any.

        Raises:
            UsageError: If one is called so by none.
        """
        for name in names:
            if not any(name in {row.name, row.role} for row in self.role):
                text = ", ".join(row.name for row in self.role)
                raise UsageError(f"there is no role {name!r}; there are {text}")
        return tuple(row for row in self.role if not names or {row.name, row.role} & {*names})


def read_plan(file: Path) -> RolePlan:
    """Read the plan of a TOML file.

    Raises:
        UsageError: If it is not TOML, or an unknown or missing key is in it.
    """
    return parse_part(RolePlan, file)
