"""How well an arm did on each question: by a measure, by what it cites, or by its own retrieval."""

from collections.abc import Iterator, Mapping

from experiments.lab.results import Cell, Results

from fathom.errors import UsageError
from fathom.evaluation.measures import SCORES
from fathom.evaluation.records import Record
from fathom.evaluation.rows import score_questions
from fathom.strategies.maf import NOT_ACCEPTED

DEPTH = 5
"""So many documents are compared with those of the retrieval-only run (MAF-RAG, section II.A)."""
SELF = "self_retrieval_"
"""Before `precision`, `recall` and `f1`: agreement with the system's own retrieval."""
CITED = "right-document"
"""1 where the answer cites a relevant document, else 0; only where relevant ones are known."""

Qualities = Mapping[str, float]
"""Question -> value; questions that cannot have one are absent."""


def quality(seen: Results, cell: Cell, of: str, against: str = "") -> Qualities:
    """The value of every question.

    Args:
        seen: All arms, also the one of `against`.
        cell: Whose values are wanted.
        of: A measure, `right-document`, or `self_retrieval_precision`, `_recall`, `_f1`: the ground
            truth of MAF-RAG (section II.D) is what a run of retrieval alone finds in the same
            corpus, so these say how far a system agrees with itself and not how good it is.
        against: The arm that retrieves alone, for agreement.

    Raises:
        UsageError: If nothing is called so.
    """
    if of.startswith(SELF):
        return dict(_agreement(cell, _alone(seen, cell, against), of.removeprefix(SELF)))
    if of == CITED:
        return {record.question: _cites(record) for record in cell.records if record.relevant}
    if of not in SCORES:
        raise UsageError(f"{seen.experiment.id}: no measure {of!r}; see docs/measures.md")
    return score_questions(of, cell.records)


def accepted(record: Record) -> bool:
    """Whether a phase of the ladder accepted what it found; the web would be asked otherwise."""
    return record.status != "failed" and not record.phase.endswith(NOT_ACCEPTED)


def _cites(record: Record) -> float:
    found = any(citation.document in record.relevant for citation in record.citations)
    return float(record.is_answered and found)


def _alone(seen: Results, cell: Cell, against: str) -> Mapping[str, Record]:
    """What the arm that retrieves alone found in the corpus of this cell."""
    for each in seen.find_system([against]).on(cell.set):
        if each.arm.corpus == cell.arm.corpus:
            return {record.question: record for record in each.records}
    return {}


def _agreement(cell: Cell, alone: Mapping[str, Record], part: str) -> Iterator[tuple[str, float]]:
    """What ended without acceptance goes to the web in the paper: it has found nothing."""
    for record in cell.records:
        if record.question in alone:
            found = set(record.evidence[:DEPTH]) if accepted(record) else set()
            wanted = set(alone[record.question].evidence[:DEPTH])
            sizes = {"precision": len(found), "recall": len(wanted)}
            whole = sizes.get(part, (len(found) + len(wanted)) / 2)
            yield record.question, len(found & wanted) / whole if whole else 0.0
