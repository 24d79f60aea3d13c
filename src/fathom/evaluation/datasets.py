"""Data sets in the BEIR layout with answers, read strictly: a mistake names its file and line."""

import gzip
import json
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
    questions = tuple(_questions(queries, documents))
    known = {question.id for question in questions}
    qrels = _qrels(directory / "qrels.tsv", known, documents)
    return Dataset(
        name=directory.resolve().name,
        corpus=corpus,
        questions=questions,
        qrels=qrels,
        documents=frozenset(documents),
    )


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


def _questions(file: Path, documents: set[str]) -> Iterator[Question]:
    seen: set[str] = set()
    for number, row in _rows(file):
        if row["_id"] in seen:
            raise UsageError(f"{file}:{number}: the id {row['_id']!r} comes twice")
        if not isinstance(row.get("text"), str) or not row["text"].strip():
            raise UsageError(f"{file}:{number}: question {row['_id']!r} has no text")
        seen.add(row["_id"])
        question = _question(row)
        for document in question.documents:
            if document not in documents:
                raise UsageError(f"{file}:{number}: unknown document {document!r}")
        yield question


def _question(row: Mapping[str, Any]) -> Question:
    metadata = row.get("metadata") or {}
    answerable = bool(metadata.get("answerable", True))
    wrong = metadata.get("wrong_answers")
    return Question(
        id=row["_id"],
        text=row["text"],
        # Some sets put words such as "insufficient information" where there is no answer.
        answers=tuple(str(answer) for answer in row.get("answers") or ()) if answerable else (),
        answerable=answerable,
        documents=tuple(_document_id(item) for item in metadata.get("documents") or ()),
        kind=str(metadata.get("type") or ""),
        wrong=None if wrong is None else tuple(str(answer) for answer in wrong),
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
