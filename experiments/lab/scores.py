"""The scores of every question of an experiment: ids, fingerprints and figures, no texts.

`<experiment>.scores.jsonl.gz` beside the summary has a line for each question, with what each
system scored on it. The means of a system's figures are those of its row in the summary.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from experiments.lab.prints import Print
from experiments.lab.results import Cell, Results
from research.packed import pack, unpack

from fathom.evaluation.measures import SCORES
from fathom.evaluation.records import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """One question and its scores.

    Attributes:
        question: Its id in the data set.
        answerable: Whether the corpus holds an answer.
        print: Of the question and of what it is about.
        scores: One for each system: `system`, the name of the arm; `of`, its strategy or
            retriever; `corpus`, where it is a variant; the measures that the question can have,
            `status`, `confidence`, `seconds`, and what was spent.
    """

    set: str
    question: str
    answerable: bool
    print: Print
    scores: tuple[Mapping[str, Any], ...]

    @property
    def systems(self) -> frozenset[str]:
        """The strategies and retrievers that were asked."""
        return frozenset(score["of"] for score in self.scores)


def score_experiment(
    results: Results, prints: Mapping[str, Mapping[str, Print]]
) -> Iterator[Scored]:
    """Yield the questions of an experiment, one data set after the other.

    Args:
        results: The records.
        prints: By data set and question.
    """
    for name in results.sets:
        records: dict[str, list[tuple[Cell, Record]]] = {}
        for cell in results.select_set(name):
            for record in cell.records:
                records.setdefault(record.question, []).append((cell, record))
        for question, entries in records.items():
            yield Scored(
                set=name,
                question=question,
                answerable=entries[0][1].answerable,
                print=prints[name][question],
                scores=tuple(_score_record(cell, record) for cell, record in entries),
            )


def save_scores(folder: Path, experiment: str, questions: Sequence[Scored]) -> Path:
    """Write the scores below a folder; equal scores give equal bytes."""
    file = locate_scores(folder, experiment)
    file.parent.mkdir(parents=True, exist_ok=True)
    pack(file, map(asdict, questions))
    return file


def load_scores(folder: Path, experiment: str) -> tuple[Scored, ...]:
    """Return the saved scores; none if nothing was saved."""
    file = locate_scores(folder, experiment)
    return tuple(map(_restore_score, unpack(file))) if file.is_file() else ()


def locate_scores(folder: Path, experiment: str) -> Path:
    """Return the path of the scores of an experiment."""
    return folder / f"{experiment}.scores.jsonl.gz"


def _score_record(cell: Cell, record: Record) -> dict[str, Any]:
    values = {name: score(record) for name, score in SCORES.items()}
    row = {
        "system": cell.arm.name,
        "of": cell.arm.system,
        "corpus": cell.arm.corpus,
        "status": record.status,
        "confidence": record.sureness,
        "seconds": round(record.seconds, 4),
        **{name: value for name, value in record.usage.items() if value and name != "seconds"},
        **{name: round(value, 6) for name, value in values.items() if value is not None},
    }
    return {key: value for key, value in row.items() if value not in ("", None)}


def _restore_score(stored: Mapping[str, Any]) -> Scored:
    of = stored["print"]
    print_ = Print(
        question=of["question"],
        articles=tuple(of["articles"]),
        documents=tuple(of["documents"]),
    )
    return Scored(**{**stored, "print": print_, "scores": tuple(stored["scores"])})
