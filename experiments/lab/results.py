"""What an experiment saw: the records of every arm on every data set."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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
    """

    set: str
    arm: Arm
    records: tuple[Record, ...]
    commits: tuple[str, ...] = ()

    @property
    def row(self) -> SystemScores:
        """Its measures."""
        return score_system(self.records)


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """All of an experiment."""

    experiment: Experiment
    cells: tuple[Cell, ...]

    @property
    def sets(self) -> list[str]:
        """The data sets, in order."""
        return list(dict.fromkeys(cell.set for cell in self.cells))

    @property
    def commits(self) -> tuple[str, ...]:
        """Of the code that asked, in order."""
        return tuple(dict.fromkeys(commit for cell in self.cells for commit in cell.commits))

    def on(self, name: str) -> list[Cell]:
        """The cells of a data set, in the order of the arms."""
        return [cell for cell in self.cells if cell.set == name]

    @property
    def by_set(self) -> list[Cell]:
        """All cells, one data set after the other."""
        return [cell for name in self.sets for cell in self.on(name)]

    def find_system(self, names: Sequence[str]) -> "Results":
        """Only the arms of these names, in this order; all where none is named.

        Raises:
            UsageError: If no arm is called so.
        """
        if not names:
            return self
        for name in names:
            if not any(cell.arm.name == name for cell in self.cells):
                raise UsageError(f"{self.experiment.id}: no arm is called {name!r}")
        kept = [cell for name in names for cell in self.cells if cell.arm.name == name]
        return Results(experiment=self.experiment, cells=tuple(kept))

    def pairs(self, first: str, second: str) -> Iterator[tuple[Cell, Cell]]:
        """Two arms side by side, on each data set that both were asked on."""
        theirs = {cell.set: cell for cell in self.find_system([second]).cells}
        for ours in self.find_system([first]).cells:
            if ours.set in theirs:
                yield ours, theirs[ours.set]
