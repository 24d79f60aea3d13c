"""Data sets in the BEIR layout with answers, read strictly: a mistake names its file and line."""

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fathom.errors import UsageError
from fathom.plain import digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question of a data set.

    Attributes:
        answers: Accepted answers; empty when unanswerable or when there are only qrels.
        answerable: Whether the corpus holds an answer.
        documents: The question's own documents, where the data set gives them: only they count.
        kind: What sort of question it is, in the data set's own words (`metadata.type`).
        wrong: Answers that some documents give and that are wrong; `None` where a data set
            names none. Such a data set wants every one of `answers`, others want any of them.
    """

    id: str
    text: str
    answers: tuple[str, ...] = ()
    answerable: bool = True
    documents: tuple[str, ...] = ()
    kind: str = ""
    wrong: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A corpus with questions.

    Attributes:
        corpus: The corpus file, `corpus.jsonl` or `corpus.jsonl.gz`.
        qrels: Question id -> document id -> grade above 0.
        documents: Ids of the documents of the corpus.
    """

    name: str
    corpus: Path
    questions: tuple[Question, ...]
    qrels: Mapping[str, Mapping[str, int]]
    documents: frozenset[str] = frozenset()

    @property
    def judged(self) -> tuple[Question, ...]:
        """The questions with at least one relevant document."""
        return tuple(question for question in self.questions if question.id in self.qrels)

    def sample(
        self, count: int | None = None, *, seed: int = 0, judged: bool = False
    ) -> tuple[Question, ...]:
        """So many questions (all by default), drawn by the hash of their ids.

        A smaller sample is the beginning of a larger one, so that asking more goes on.

        Args:
            count: At most so many.
            seed: Another seed, another sample.
            judged: Only of those with at least one relevant document.
        """
        among = self.judged if judged else self.questions
        shuffled = sorted(among, key=lambda each: (digest(f"{seed} {each.id}"), each.id))
        return tuple(shuffled[:count])


def load(directory: Path) -> Dataset:
    """Read a data set folder.

    Raises:
        UsageError: If a file is missing or malformed, an id is unknown or comes twice.
    """
    if not directory.is_dir():
        raise UsageError(f"{directory} is not a data set folder; expected corpus.jsonl[.gz] in it")
    corpus = _existing(directory, "corpus.jsonl")
    queries = _existing(directory, "queries.jsonl")
    documents = _ids(corpus)
    if not documents:
        raise UsageError(f"{corpus}: the corpus is empty")
    lines = dict(_questions(queries, documents))
    if not lines:
        raise UsageError(f"{queries}: there are no questions")
    known = {question.id for question in lines.values()}
    qrels = _qrels(directory / "qrels.tsv", known, documents)
    for number, question in lines.items():
        if question.answerable and not question.answers and question.id not in qrels:
            raise UsageError(
                f"{queries}:{number}: question {question.id!r} has no answers and no relevant "
                "documents; add some, or set metadata.answerable to false"
            )
    return Dataset(
        name=directory.resolve().name,
        corpus=corpus,
        questions=tuple(lines.values()),
        qrels=qrels,
        documents=frozenset(documents),
    )


def _existing(directory: Path, name: str) -> Path:
    for candidate in (directory / name, directory / f"{name}.gz"):
        if candidate.is_file():
            return candidate
    raise UsageError(f"{directory}: no {name} or {name}.gz")


def _rows(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in _lines(file):
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise UsageError(f"{file}:{number}: not JSON: {error.msg}") from None
        if not isinstance(row, dict) or not isinstance(row.get("_id"), str):
            raise UsageError(f"{file}:{number}: expected an object with a text '_id'")
        yield number, row


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers."""
    opened = gzip.open if file.suffix == ".gz" else open
    number = 0
    try:
        with opened(file, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield number, line
    except (UnicodeDecodeError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        kind = "UTF-8" if isinstance(error, UnicodeDecodeError) else "a whole gzip file"
        raise UsageError(f"{file}:{number + 1}: not {kind}") from None


def _ids(file: Path) -> set[str]:
    ids: set[str] = set()
    for number, row in _rows(file):
        if row["_id"] in ids:
            raise UsageError(f"{file}:{number}: the id {row['_id']!r} comes twice")
        ids.add(row["_id"])
    return ids


def _questions(file: Path, documents: set[str]) -> Iterator[tuple[int, Question]]:
    """The questions, each with the number of its line."""
    seen: set[str] = set()
    for number, row in _rows(file):
        if row["_id"] in seen:
            raise UsageError(f"{file}:{number}: the id {row['_id']!r} comes twice")
        if not isinstance(row.get("text"), str) or not row["text"].strip():
            raise UsageError(f"{file}:{number}: question {row['_id']!r} has no text")
        seen.add(row["_id"])
        try:
            question = _question(row)
        except TypeError as wrong:
            raise UsageError(f"{file}:{number}: question {row['_id']!r}: {wrong}") from None
        for document in question.documents:
            if document not in documents:
                raise UsageError(f"{file}:{number}: unknown document {document!r}")
        yield number, question


def _question(row: Mapping[str, Any]) -> Question:
    metadata = row.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise TypeError("metadata must be an object")
    answerable = metadata.get("answerable", True)
    if not isinstance(answerable, bool):
        raise TypeError("metadata.answerable must be true or false")
    answers = _texts(row.get("answers"), "answers")
    wrong = metadata.get("wrong_answers")
    return Question(
        id=row["_id"],
        text=row["text"],
        # Some sets put words such as "insufficient information" where there is no answer.
        answers=answers if answerable else (),
        answerable=answerable,
        documents=tuple(map(_document_id, _listed(metadata.get("documents"), "documents"))),
        kind=str(metadata.get("type") or ""),
        wrong=None if wrong is None else _texts(wrong, "wrong_answers"),
    )


def _listed(value: object, name: str) -> list[object]:
    if value is not None and not isinstance(value, list):
        raise TypeError(f"{name} must be a list")
    return value or []


def _texts(value: object, name: str) -> tuple[str, ...]:
    given = _listed(value, name)
    texts = tuple(str(each) for each in given if isinstance(each, str | int | float))
    if len(texts) < len(given) or not all(each.strip() for each in texts):
        raise TypeError(f"{name} must hold texts that are not blank")
    return texts


def _document_id(item: object) -> str:
    if isinstance(item, dict):
        item = item.get("doc")
    if not isinstance(item, str):
        raise TypeError("documents must hold ids")
    return item


def _qrels(file: Path, questions: set[str], documents: set[str]) -> dict[str, dict[str, int]]:
    if not file.is_file():
        raise UsageError(f"{file.parent}: no qrels.tsv")
    qrels: dict[str, dict[str, int]] = {}
    for number, line in _lines(file):
        if number == 1 and line.startswith("query-id"):
            continue
        question, document, relevance = _judged(file, number, line)
        if question not in questions:
            raise UsageError(f"{file}:{number}: unknown question {question!r}")
        if document not in documents:
            raise UsageError(f"{file}:{number}: unknown document {document!r}")
        grades = qrels.setdefault(question, {})
        if grades.setdefault(document, relevance) != relevance:
            raise UsageError(f"{file}:{number}: {question!r} and {document!r} have two grades")
    relevant = {
        question: {document: grade for document, grade in grades.items() if grade > 0}
        for question, grades in qrels.items()
    }
    return {question: grades for question, grades in relevant.items() if grades}


def _judged(file: Path, number: int, line: str) -> tuple[str, str, int]:
    try:
        question, document, grade = line.rstrip("\r\n").split("\t")
        return question, document, int(grade)
    except ValueError:
        raise UsageError(f"{file}:{number}: expected query-id, corpus-id, score") from None
