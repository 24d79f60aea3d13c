"""What one `fathom eval` asks of each data set, and how the parts become one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from fathom.errors import UsageError
from fathom.serving.asked import answers, rankings
from fathom.serving.panel import Panel

if TYPE_CHECKING:  # a command imports what it needs: `--help` must not wait for it
    from fathom.engine import Engine
    from fathom.evaluation.datasets import Dataset
    from fathom.evaluation.findings import Findings
    from fathom.evaluation.grading import Judgement
    from fathom.evaluation.records import Record

DEFAULT = "hybrid"
"""The retriever that is measured where nothing is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Systems:
    """What is measured.

    Attributes:
        compared: Two retrievers or two strategies among them, or nothing.
    """

    retrievers: Sequence[str]
    strategies: Sequence[str]
    compared: tuple[str, str] | None = None

    @classmethod
    def of(
        cls,
        retrievers: Sequence[str],
        strategies: Sequence[str],
        compared: tuple[str, str] | None = None,
    ) -> Self:
        """Those that are named, each once.

        Two that are compared are strategies, unless both are named among the retrievers.
        """
        answering = [*strategies]
        if compared and not {*compared} <= {*retrievers}:
            answering += compared
        ranking = retrievers if retrievers or answering else [DEFAULT]
        return cls(
            retrievers=list(dict.fromkeys(ranking)),
            strategies=list(dict.fromkeys(answering)),
            compared=compared,
        )

    def check(self) -> None:
        """See to it that all are known, before hours are spent.

        Raises:
            UsageError: If one is not.
        """
        from fathom.settings.retrievers import split

        for name in self.retrievers:
            try:
                split(name)
            except ValueError as error:
                raise UsageError(str(error)) from None
        if self.strategies:
            from fathom.engine import check_strategy

            for name in self.strategies:
                check_strategy(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What came of one data set with one choice of settings.

    Attributes:
        ranked: Records by retriever.
        answered: Records by strategy.
    """

    ranked: "Mapping[str, Sequence[Record]]"
    answered: "Mapping[str, Sequence[Record]]"
    judgements: "Sequence[Judgement]"

    def pair(self, names: tuple[str, str]) -> "tuple[Sequence[Record], Sequence[Record]]":
        """The records of two retrievers, or else of two strategies."""
        found = self.ranked if {*names} <= {*self.ranked} else self.answered
        return found[names[0]], found[names[1]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is done with each data set.

    Attributes:
        queries: A sample of so many questions; all by default.
        folder: Where records are kept.
    """

    systems: Systems
    queries: int | None
    folder: Path | None
    panel: Panel

    def carried_out(self, dataset: "Dataset", engine: "Engine", varied: Mapping[str, str]) -> Part:
        """Measure all systems on a data set.

        Raises:
            UsageError: If what was asked for cannot be had.
        """
        judges = self.panel.seated(engine)
        rank, ask = (
            partial(made, dataset, engine, queries=self.queries, folder=self.folder, varied=varied)
            for made in (rankings, answers)
        )
        ranked = {name: rank(name) for name in self.systems.retrievers}
        answered = {name: ask(name) for name in self.systems.strategies}
        judgements = [
            judgement
            for group in answered.values()
            for judgement in self.panel.graded(judges, engine, group)
        ]
        return Part(ranked=ranked, answered=answered, judgements=judgements)

    def together(self, parts: Sequence[Part]) -> "Findings":
        """All parts as one, with two systems compared where that is wanted."""
        from fathom.evaluation.comparison import compare
        from fathom.evaluation.findings import Findings
        from fathom.evaluation.grading import with_grades
        from fathom.evaluation.report import row_of

        ranked = [group for part in parts for group in part.ranked.values()]
        answered = [group for part in parts for group in part.answered.values()]
        judgements = [each for part in parts for each in part.judgements]
        names = self.systems.compared
        return Findings(
            retrieval=[row_of(group) for group in ranked],
            rows=[with_grades(row_of(group), judgements) for group in answered],
            ranked=ranked,
            answered=answered,
            comparisons=compare([part.pair(names) for part in parts]) if names else (),
            judgements=judgements,
            agreements=self.panel.believed(judgements, answered),
        )
