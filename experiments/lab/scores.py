"""The scores of every question of an experiment: ids, fingerprints and figures, no texts.

`<experiment>.scores.jsonl.gz` beside the summary has a line for each question, with what each
system scored on it. The means of a system's figures are those of its row in the summary.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from experiments.lab.packed import pack, unpack
from experiments.lab.prints import Print
from experiments.lab.results import Cell, Results

from fathom.evaluation.measures import SCORES
from fathom.evaluation.records import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """One question, and what became of it.

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


def scored(seen: Results, prints: Mapping[str, Mapping[str, Print]]) -> Iterator[Scored]:
    """The questions of an experiment, one data set after the other.

    Args:
        seen: The records.
        prints: By data set and question.
    """
    for name in seen.sets:
        asked: dict[str, list[tuple[Cell, Record]]] = {}
        for cell in seen.on(name):
            for record in cell.records:
                asked.setdefault(record.question, []).append((cell, record))
        for question, own in asked.items():
            yield Scored(
                set=name,
                question=question,
                answerable=own[0][1].answerable,
                print=prints[name][question],
                scores=tuple(_score(cell, record) for cell, record in own),
            )


def save(folder: Path, experiment: str, questions: Sequence[Scored]) -> Path:
    """Write them below a folder; the same scores give the same bytes."""
    file = scores_file(folder, experiment)
    file.parent.mkdir(parents=True, exist_ok=True)
    pack(file, map(asdict, questions))
    return file


def load(folder: Path, experiment: str) -> tuple[Scored, ...]:
    """What was saved; none where nothing was."""
    file = scores_file(folder, experiment)
    return tuple(map(_scored, unpack(file))) if file.is_file() else ()


def scores_file(folder: Path, experiment: str) -> Path:
    """Where the scores of an experiment lie."""
    return folder / f"{experiment}.scores.jsonl.gz"


def _score(cell: Cell, record: Record) -> dict[str, Any]:
    values = {name: score(record) for name, score in SCORES.items()}
    told = {
        "system": cell.arm.name,
        "of": cell.arm.system,
        "corpus": cell.arm.corpus,
        "status": record.status,
        "confidence": record.sureness,
        "seconds": round(record.seconds, 4),
        **{name: value for name, value in record.usage.items() if value and name != "seconds"},
        **{name: round(value, 6) for name, value in values.items() if value is not None},
    }
    return {key: value for key, value in told.items() if value not in ("", None)}


def _scored(told: Mapping[str, Any]) -> Scored:
    of = told["print"]
    print_ = Print(
        question=of["question"],
        articles=tuple(of["articles"]),
        documents=tuple(of["documents"]),
    )
    return Scored(**{**told, "print": print_, "scores": tuple(told["scores"])})
