"""Which role is asked what: `experiments/models/*.toml`."""

from collections.abc import Sequence
from pathlib import Path

from experiments.lab.plan import Data, Part, Settings, parsed, written
from pydantic import Field

from fathom.errors import UsageError


class RoleRow(Part):
    """A role that is measured: one row of the table.

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
    """A file.

    Attributes:
        model: `provider:model`, unless another one is named.
        settings: Of every row.
    """

    title: str
    model: str
    settings: Settings = Field(default_factory=dict)
    role: tuple[RoleRow, ...] = Field(min_length=1)

    def assignments(self, row: RoleRow, *, model: str = "") -> list[str]:
        """The settings of a row as `--set` takes them.

        Args:
            row: One of `role`.
            model: Has the role; without one all roles are local.
        """
        own = {**self.settings, **row.settings}
        if model:
            own |= {"roles.reader": "local", **row.settings}
            own |= {"llm.model": model, f"roles.{row.role}": "llm"}
        return [f"{key}={written(value)}" for key, value in own.items()]

    def find_system(self, names: Sequence[str]) -> tuple[RoleRow, ...]:
        """The rows with these names or roles; without any, all.

        Raises:
            UsageError: If one is called so by none.
        """
        for name in names:
            if not any(name in {row.name, row.role} for row in self.role):
                text = ", ".join(row.name for row in self.role)
                raise UsageError(f"there is no role {name!r}; there are {text}")
        return tuple(row for row in self.role if not names or {row.name, row.role} & {*names})


def read_plan(file: Path) -> RolePlan:
    """The plan of a TOML file.

    Raises:
        UsageError: If it is not TOML, or an unknown or missing key is in it.
    """
    return parsed(RolePlan, file)
