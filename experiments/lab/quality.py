"""The quality of an arm on each question: a measure, its citations, or its retrieval."""

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


def measure_quality(results: Results, cell: Cell, of: str, against: str = "") -> Qualities:
    """Return the value of every question.

    Args:
        results: All arms, also the one of `against`.
        cell: Whose values are wanted.
        of: A measure, `right-document`, or `self_retrieval_precision`, `_recall`, `_f1`: the ground
            truth of MAF-RAG (section II.D) is what a run of retrieval alone finds in the same
            corpus, so these say how far a system agrees with itself and not how good it is.
        against: The arm that retrieves alone, for agreement.

    Raises:
        UsageError: If nothing is called so.
    """
    if of.startswith(SELF):
        return dict(
            _measure_agreement(cell, _collect_alone(results, cell, against), of.removeprefix(SELF))
        )
    if of == CITED:
        return {
            record.question: _cites_relevant(record) for record in cell.records if record.relevant
        }
    if of not in SCORES:
        raise UsageError(f"{results.experiment.id}: no measure {of!r}; see docs/measures.md")
    return score_questions(of, cell.records)


def is_accepted(record: Record) -> bool:
    """Return whether a phase of the ladder accepted its evidence."""
    return record.status != "failed" and not record.phase.endswith(NOT_ACCEPTED)


def _cites_relevant(record: Record) -> float:
    is_cited = any(citation.document in record.relevant for citation in record.citations)
    return float(record.is_answered and is_cited)


def _collect_alone(results: Results, cell: Cell, against: str) -> Mapping[str, Record]:
    """Return the records of the arm that only retrieves, from the corpus of this cell."""
    for candidate in results.select_arms([against]).select_set(cell.set):
        if candidate.arm.corpus == cell.arm.corpus:
            return {record.question: record for record in candidate.records}
    return {}


def _measure_agreement(
    cell: Cell, alone: Mapping[str, Record], part: str
) -> Iterator[tuple[str, float]]:
    """Compare the evidence with that of plain retrieval."""
    for record in cell.records:
        if record.question in alone:
            evidence = set(record.evidence[:DEPTH]) if is_accepted(record) else set()
            expected = set(alone[record.question].evidence[:DEPTH])
            sizes = {"precision": len(evidence), "recall": len(expected)}
            whole = sizes.get(part, (len(evidence) + len(expected)) / 2)
            yield record.question, len(evidence & expected) / whole if whole else 0.0
