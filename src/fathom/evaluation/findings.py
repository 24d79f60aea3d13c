"""All that one evaluation found: what every report is made of."""

from collections.abc import Sequence
from dataclasses import dataclass

from fathom.evaluation.agreement import Agreement
from fathom.evaluation.comparison import Comparison
from fathom.evaluation.gate import Verdict
from fathom.evaluation.grading import Judgement
from fathom.evaluation.records import Record
from fathom.evaluation.report import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What was measured, and what was said about it.

    Attributes:
        retrieval: Rows of retrievers, one for each of `ranked`.
        rows: Rows of strategies, one for each of `answered`.
        ranked: The records of each retriever on each data set.
        answered: The records of each strategy on each data set.
        comparisons: Those that were asked for.
        judgements: Of all judges that were asked.
        agreements: How far they can be believed.
        verdict: Of the gate, where there was one.
    """

    retrieval: Sequence[Row] = ()
    rows: Sequence[Row] = ()
    ranked: Sequence[Sequence[Record]] = ()
    answered: Sequence[Sequence[Record]] = ()
    comparisons: Sequence[Comparison] = ()
    judgements: Sequence[Judgement] = ()
    agreements: Sequence[Agreement] = ()
    verdict: Verdict | None = None

    @property
    def recorded(self) -> Sequence[Sequence[Record]]:
        """The records of all systems."""
        return [*self.ranked, *self.answered]

    @property
    def failed(self) -> bool:
        """Whether systems were asked and not one run came through."""
        records = [record for group in self.recorded for record in group]
        return bool(records) and all(record.status == "failed" for record in records)
