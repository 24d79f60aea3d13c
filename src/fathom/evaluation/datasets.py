"""Data sets in the BEIR layout with answers, read strictly: a mistake names its file and line."""

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fathom.documents.discover import content_digest, discover, document_id
from fathom.documents.formats.corpus import recognise
from fathom.errors import UsageError
from fathom.index.base import DocumentSummary
from fathom.jsonable import digest
from fathom.question.conversation import Dialogue, dialogue_of

FOLDERS = ("corpus", "documents", "pdfs")
"""What a corpus of files may be called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question of a data set.

    Attributes:
        answers: Accepted answers; empty when unanswerable or when there are only qrels.
        answerable: Whether the corpus holds an answer.
        documents: The question's own documents, where the data set gives them: only they count.
            Here and in `Dataset` a document is told by its id in an index of the corpus.
        without: Documents that do not count: it is asked as if they were not there.
        kind: What sort of question it is, in the data set's own words (`metadata.type`).
        wrong: Answers that some documents give and that are wrong; `None` where a data set
            names none. Such a data set wants every one of `answers`, others want any of them.
        history: What was asked and answered before it (`history`, turns of `role` and `content`).
            Strategies are given it; a retriever ranks for `text` alone.
        synthetic: Whether nobody asked it: it was made from the documents.
    """

    id: str
    text: str
    answers: tuple[str, ...] = ()
    answerable: bool = True
    documents: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    kind: str = ""
    wrong: tuple[str, ...] | None = None
    history: Dialogue = ()
    synthetic: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A corpus with questions.

    Attributes:
        corpus: What is ingested: `corpus.jsonl`, `corpus.jsonl.gz` or a folder of files.
        qrels: Question id -> document id -> grade above 0.
        documents: Ids of the documents of the corpus.
        ingested: Whether the questions are about what an index holds already; there is no other
            corpus then, and the questions' own file stands in its place.
    """

    name: str
    corpus: Path
    questions: tuple[Question, ...]
    qrels: Mapping[str, Mapping[str, int]]
    documents: frozenset[str] = frozenset()
    ingested: bool = False

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

    Its corpus is `corpus.jsonl[.gz]` or a folder of files, `corpus`, `documents` or `pdfs`; a file
    is named by its path below that folder. Its questions are `queries.jsonl[.gz]` or
    `questions.jsonl[.gz]`. Relevant documents stand in `qrels.tsv`, in the questions'
    `metadata.relevant` (grade 1), or in both. `metadata.pdfs` is another word for `relevant`;
    questions marked `"pdfs_present": false` are left out, since files that they need are not here.

    Raises:
        UsageError: If a file is missing or malformed, an id is unknown or comes twice.
    """
    if not directory.is_dir():
        raise UsageError(f"{directory}: no such data set; name its folder, or a file of questions")
    corpus = corpus_of(directory)
    queries = existing(directory, "queries.jsonl", "questions.jsonl")
    known = documents_of(corpus)
    if not known:
        raise UsageError(f"{corpus}: the corpus is empty")
    entries = _asked(queries, known)
    judged = directory / "qrels.tsv"
    if not judged.is_file() and not any(entry.relevant for entry in entries):
        raise UsageError(f"{directory}: no qrels.tsv, and no question names relevant documents")
    qrels = _qrels(judged, entries, known)
    _check_gradable(queries, entries, qrels)
    return Dataset(
        name=directory.resolve().name,
        corpus=corpus,
        questions=tuple(entry.question for entry in entries),
        qrels=qrels,
        documents=frozenset(known.values()),
    )


def load_questions(file: Path, documents: Iterable[DocumentSummary]) -> Dataset:
    """Read a file of questions about what an index holds; `questions make` writes such files.

    It has the form of `queries.jsonl`. Documents are named by their ids or paths, or by the names
    of their files where only one has that name.

    Args:
        file: JSON lines, plain or gzip.
        documents: All that the index holds.

    Raises:
        UsageError: If it is malformed, an id comes twice, or a document is not in the index.
    """
    if not file.is_file():
        raise UsageError(f"{file} is no file of questions; `fathom questions make` writes one")
    known = _named(list(documents))
    entries = _asked(file, known)
    qrels = _named_by(entries)
    _check_gradable(file, entries, qrels)
    return Dataset(
        name=file.name.partition(".")[0] or file.name,
        corpus=file,
        questions=tuple(entry.question for entry in entries),
        qrels=qrels,
        documents=frozenset(known.values()),
        ingested=True,
    )


def _named(documents: Sequence[DocumentSummary]) -> dict[str, str]:
    """Ids of documents by what they may be called."""
    files = Counter(Path(each.path).name for each in documents)
    short = {name: each.id for each in documents if files[name := Path(each.path).name] == 1}
    return {
        **short,
        **{each.path: each.id for each in documents},
        **{d.id: d.id for d in documents},
    }


def _asked(file: Path, known: Mapping[str, str]) -> list["_Entry"]:
    entries = list(_entries(file, known))
    if not entries:
        raise UsageError(f"{file}: there are no questions")
    return entries


def _check_gradable(
    file: Path, entries: Sequence["_Entry"], qrels: Mapping[str, Mapping[str, int]]
) -> None:
    for entry in entries:
        question = entry.question
        if question.answerable and not question.answers and question.id not in qrels:
            raise UsageError(
                f"{file}:{entry.line}: question {question.id!r} has no answers and no relevant "
                "documents; add some, or set metadata.answerable to false"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """A question with its line, and the relevant documents that it names itself."""

    line: int
    question: Question
    relevant: tuple[str, ...]


def _entries(file: Path, known: Mapping[str, str]) -> Iterator[_Entry]:
    for number, row in rows(file):
        if not isinstance(row.get("text"), str) or not row["text"].strip():
            raise UsageError(f"{file}:{number}: question {row['_id']!r} has no text")
        try:
            question, relevant = _question(row)
        except TypeError as wrong:
            raise UsageError(f"{file}:{number}: question {row['_id']!r}: {wrong}") from None
        if relevant is None:
            continue
        for document in (*question.documents, *question.without, *relevant):
            if document not in known:
                raise UsageError(f"{file}:{number}: unknown document {document!r}")
        own = tuple(known[document] for document in question.documents)
        without = tuple(known[document] for document in question.without)
        yield _Entry(
            line=number,
            question=replace(question, documents=own, without=without),
            relevant=tuple(known[document] for document in relevant),
        )


def _question(row: Mapping[str, Any]) -> tuple[Question, tuple[str, ...] | None]:
    """A question and the names of its relevant documents; `None` if some are known to be absent."""
    metadata = row.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise TypeError("metadata must be an object")
    answerable = _flag(metadata, "answerable") and _flag(metadata, "in_corpus")
    answers = _texts(row.get("answers"), "answers")
    wrong = metadata.get("wrong_answers")
    question = Question(
        id=row["_id"],
        text=row["text"],
        # Some sets put words such as "insufficient information" where there is no answer.
        answers=answers if answerable else (),
        answerable=answerable,
        documents=_names(metadata, "documents"),
        without=_names(metadata, "without"),
        kind=str(metadata.get("type") or ""),
        wrong=None if wrong is None else _texts(wrong, "wrong_answers"),
        history=_history(row.get("history")),
        synthetic=_flag(metadata, "synthetic", default=False),
    )
    relevant = (*_names(metadata, "relevant"), *_names(metadata, "pdfs"))
    return question, relevant if _flag(metadata, "pdfs_present") else None


def _history(value: object) -> Dialogue:
    try:
        return dialogue_of(_listed(value, "history"))  # type: ignore[arg-type]  # it checks
    except UsageError as error:
        raise TypeError(str(error)) from None


def _flag(metadata: Mapping[str, Any], name: str, *, default: bool = True) -> bool:
    value = metadata.get(name, default)
    if not isinstance(value, bool):
        raise TypeError(f"metadata.{name} must be true or false")
    return value


def _names(metadata: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Names of documents; some sets give objects that hold them."""
    listed = _listed(metadata.get(name), name)
    names = [item.get("doc") if isinstance(item, dict) else item for item in listed]
    if not all(isinstance(each, str) for each in names):
        raise TypeError(f"{name} must hold ids")
    return tuple(map(str, names))


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


def _qrels(
    file: Path, entries: Sequence[_Entry], known: Mapping[str, str]
) -> dict[str, dict[str, int]]:
    qrels = _named_by(entries)
    questions = {entry.question.id for entry in entries}
    for number, line in lines(file) if file.is_file() else ():
        if number == 1 and line.startswith("query-id"):
            continue
        question, document, grade = _judged(file, number, line)
        if question not in questions:
            raise UsageError(f"{file}:{number}: unknown question {question!r}")
        if document not in known:
            raise UsageError(f"{file}:{number}: unknown document {document!r}")
        if qrels.setdefault(question, {}).setdefault(known[document], grade) != grade:
            raise UsageError(f"{file}:{number}: {question!r} and {document!r} have two grades")
    relevant = {
        question: {document: grade for document, grade in grades.items() if grade > 0}
        for question, grades in qrels.items()
    }
    return {question: grades for question, grades in relevant.items() if grades}


def _named_by(entries: Sequence[_Entry]) -> dict[str, dict[str, int]]:
    """The relevant documents that questions name themselves."""
    return {
        entry.question.id: dict.fromkeys(entry.relevant, 1) for entry in entries if entry.relevant
    }


def _judged(file: Path, number: int, line: str) -> tuple[str, str, int]:
    try:
        question, document, grade = line.rstrip("\r\n").split("\t")
        return question, document, int(grade)
    except ValueError:
        raise UsageError(f"{file}:{number}: expected query-id, corpus-id, score") from None


def existing(directory: Path, *names: str) -> Path:
    """The first of these files that is there, each plain or with `.gz`.

    Raises:
        UsageError: If none is.
    """
    packed = [each for name in names for each in (name, f"{name}.gz")]
    for name in packed:
        if (directory / name).is_file():
            return directory / name
    raise UsageError(f"{directory}: no {' or '.join(packed)}")


def corpus_of(directory: Path) -> Path:
    """The corpus of a data set folder: its `corpus.jsonl[.gz]`, else its folder of files.

    Raises:
        UsageError: If there is none, or more than one folder that could be it.
    """
    for name in ("corpus.jsonl", "corpus.jsonl.gz"):
        if (directory / name).is_file():
            return directory / name
    folders = [directory / name for name in FOLDERS if (directory / name).is_dir()]
    told = " and ".join(f"{folder.name}/" for folder in folders)
    if len(folders) > 1:
        raise UsageError(f"{directory}: {told} could both be the corpus; rename one")
    if not folders:
        raise UsageError(
            f"{directory}: no corpus.jsonl or corpus.jsonl.gz, and no folder {', '.join(FOLDERS)}"
        )
    return folders[0]


def documents_of(corpus: Path) -> dict[str, str]:
    """Document ids by name: a record's name is its id, a file's its path below the corpus.

    An index holds a file under an id made of its content, so two equal files have one id.

    Raises:
        UsageError: If a line of a corpus file is malformed, or a file cannot be read.
    """
    if corpus.is_file():
        return _records(corpus)
    found: dict[str, str] = {}
    for file in discover([corpus]):
        try:
            with file.open("rb") as stream:
                holds_records = recognise(stream)
            if holds_records:
                found |= _records(file)
            else:
                name = file.relative_to(corpus).as_posix()
                found[name] = document_id(content_digest(file))
        except OSError as error:
            raise UsageError(f"{file}: cannot be read: {error.strerror}") from None
    return found


def _records(file: Path) -> dict[str, str]:
    return {row["_id"]: row["_id"] for _, row in rows(file)}


def rows(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file of JSON lines, plain or gzip, with their numbers from 1.

    Raises:
        UsageError: If a line is no object with a text `_id`, or an id comes twice.
    """
    seen: set[str] = set()
    for number, line in lines(file):
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise UsageError(f"{file}:{number}: not JSON: {error.msg}") from None
        if not isinstance(row, dict) or not isinstance(row.get("_id"), str):
            raise UsageError(f"{file}:{number}: expected an object with a text '_id'")
        if row["_id"] in seen:
            raise UsageError(f"{file}:{number}: the id {row['_id']!r} comes twice")
        seen.add(row["_id"])
        yield number, row


def lines(file: Path) -> Iterator[tuple[int, str]]:
    """The lines of a text file, plain or gzip, that are not blank, with their numbers from 1.

    Raises:
        UsageError: If the file is not UTF-8, or no whole gzip file.
    """
    opened = gzip.open if file.suffix == ".gz" else open
    number = 0
    try:
        with opened(file, "rt", encoding="utf-8") as text:
            for number, line in enumerate(text, start=1):
                if line.strip():
                    yield number, line
    except (UnicodeDecodeError, gzip.BadGzipFile, EOFError, zlib.error) as error:
        kind = "UTF-8" if isinstance(error, UnicodeDecodeError) else "a whole gzip file"
        raise UsageError(f"{file}:{number + 1}: not {kind}") from None
