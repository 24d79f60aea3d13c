"""The results of an experiment: the records of every arm on every data set."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from experiments.lab.code import Code
from experiments.lab.plan import Arm, Experiment

from fathom.errors import UsageError
from fathom.evaluation.records import Record
from fathom.evaluation.rows import SystemScores, score_system


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One arm on one data set.

    Attributes:
        set: The data set, whatever variant of its corpus the arm searched.
        records: In the order of the questions, the same for all arms; they bear the arm's name.
        commits: Of the code that asked.
        codes: The code of its system then; `None` where it was not noted.
    """

    set: str
    arm: Arm
    records: tuple[Record, ...]
    commits: tuple[str, ...] = ()
    codes: tuple[Code, ...] | None = None

    @property
    def row(self) -> SystemScores:
        """Its measures."""
        return score_system(self.records)


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """All cells of an experiment."""

    experiment: Experiment
    cells: tuple[Cell, ...]

    @property
    def sets(self) -> list[str]:
        """The data sets, in order."""
        return list(dict.fromkeys(cell.set for cell in self.cells))

    @property
    def commits(self) -> tuple[str, ...]:
        """The commits of the code that made the records, in order."""
        return tuple(dict.fromkeys(commit for cell in self.cells for commit in cell.commits))

    def select_set(self, name: str) -> list[Cell]:
        """Return the cells of a data set, in the order of the arms."""
        return [cell for cell in self.cells if cell.set == name]

    @property
    def by_set(self) -> list[Cell]:
        """All cells, one data set after the other."""
        return [cell for name in self.sets for cell in self.select_set(name)]

    def select_arms(self, names: Sequence[str]) -> "Results":
        """Return only the arms of these names, in this order; all if none is named.

        Raises:
            UsageError: If no arm is called so.
        """
        if not names:
            return self
        for name in names:
            if not any(cell.arm.name == name for cell in self.cells):
                raise UsageError(f"{self.experiment.id}: no arm is called {name!r}")
        cells = [cell for name in names for cell in self.cells if cell.arm.name == name]
        return Results(experiment=self.experiment, cells=tuple(cells))

    def pair_arms(self, first: str, second: str) -> Iterator[tuple[Cell, Cell]]:
        """Yield two arms side by side, on each data set that both were asked on."""
        theirs = {cell.set: cell for cell in self.select_arms([second]).cells}
        for ours in self.select_arms([first]).cells:
            if ours.set in theirs:
                yield ours, theirs[ours.set]
