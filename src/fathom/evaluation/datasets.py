"""Data sets in the BEIR layout with answers, read strictly: a mistake names its file and line."""

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fathom.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question of a data set.

    Attributes:
        answers: Accepted answers; empty when unanswerable or when there are only qrels.
        answerable: Whether the corpus holds an answer.
        documents: The question's own documents, where the data set gives them.
    """

    id: str
    text: str
    answers: tuple[str, ...] = ()
    answerable: bool = True
    documents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A corpus with questions.

    Attributes:
        corpus: The corpus file, `corpus.jsonl` or `corpus.jsonl.gz`.
        qrels: Question id -> document id -> grade above 0.
    """

    name: str
    corpus: Path
    questions: tuple[Question, ...]
    qrels: Mapping[str, Mapping[str, int]]

    @property
    def judged(self) -> tuple[Question, ...]:
        """The questions with at least one relevant document."""
        return tuple(question for question in self.questions if question.id in self.qrels)


def load(directory: Path) -> Dataset:
    """Read a data set folder.

    Raises:
        UsageError: If a file is missing or malformed, an id is unknown or comes twice.
    """
    if not directory.is_dir():
        raise UsageError(f"{directory} is not a data set folder; expected corpus.jsonl[.gz] in it")
    corpus = _existing(directory, "corpus.jsonl")
    queries = _existing(directory, "queries.jsonl")
    questions = tuple(_questions(queries))
    documents = _ids(corpus)
    if not documents:
        raise UsageError(f"{corpus}: the corpus is empty")
    known = {question.id for question in questions}
    qrels = _qrels(directory / "qrels.tsv", known, documents)
    return Dataset(name=directory.name, corpus=corpus, questions=questions, qrels=qrels)


def _existing(directory: Path, name: str) -> Path:
    for candidate in (directory / name, directory / f"{name}.gz"):
        if candidate.is_file():
            return candidate
    raise UsageError(f"{directory}: no {name} or {name}.gz")


def _rows(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    opened = gzip.open if file.suffix == ".gz" else open
    with opened(file, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise UsageError(f"{file}:{number}: not JSON: {error.msg}") from None
            if not isinstance(row, dict) or not isinstance(row.get("_id"), str):
                raise UsageError(f"{file}:{number}: expected an object with a text '_id'")
            yield number, row


def _ids(file: Path) -> set[str]:
    ids: set[str] = set()
    for number, row in _rows(file):
        if row["_id"] in ids:
            raise UsageError(f"{file}:{number}: the id {row['_id']!r} comes twice")
        ids.add(row["_id"])
    return ids


def _questions(file: Path) -> Iterator[Question]:
    seen: set[str] = set()
    for number, row in _rows(file):
        if row["_id"] in seen:
            raise UsageError(f"{file}:{number}: the id {row['_id']!r} comes twice")
        if not isinstance(row.get("text"), str) or not row["text"].strip():
            raise UsageError(f"{file}:{number}: question {row['_id']!r} has no text")
        seen.add(row["_id"])
        metadata = row.get("metadata") or {}
        yield Question(
            id=row["_id"],
            text=row["text"],
            answers=tuple(str(answer) for answer in row.get("answers") or ()),
            answerable=bool(metadata.get("answerable", True)),
            documents=tuple(_document_id(item) for item in metadata.get("documents") or ()),
        )


def _document_id(item: object) -> str:
    return str(item["doc"]) if isinstance(item, dict) else str(item)


def _qrels(file: Path, questions: set[str], documents: set[str]) -> dict[str, dict[str, int]]:
    if not file.is_file():
        raise UsageError(f"{file.parent}: no qrels.tsv")
    qrels: dict[str, dict[str, int]] = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or (number == 1 and line.startswith("query-id")):
            continue
        try:
            question, document, grade = line.split("\t")
            relevance = int(grade)
        except ValueError:
            raise UsageError(f"{file}:{number}: expected query-id, corpus-id, score") from None
        if question not in questions:
            raise UsageError(f"{file}:{number}: unknown question {question!r}")
        if document not in documents:
            raise UsageError(f"{file}:{number}: unknown document {document!r}")
        if relevance > 0:
            qrels.setdefault(question, {})[document] = relevance
    return qrels
