"""Data sets in the BEIR layout with answers; errors name the file and the line."""

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TextIO

from fathom.documents.discover import derive_document_id, digest_content, discover_files
from fathom.documents.formats.corpus import is_corpus
from fathom.documents.record_ids import name_record, restore_name
from fathom.errors import UsageError
from fathom.index.base import DocumentSummary
from fathom.jsonable import hash_text
from fathom.question.conversation import Dialogue, parse_dialogue
from fathom.retrieval.query import check_question

CORPUS_FOLDERS = ("corpus", "documents", "pdfs")
"""The possible names of the folder with a corpus of files."""
_CORPUS_FILES = ("corpus.jsonl", "corpus.jsonl.gz")
_QUESTION_FILES = ("queries.jsonl", "questions.jsonl")
_QRELS_FILE = "qrels.tsv"
_KEYS = ("_id", "text", "answers", "metadata", "history")
_METADATA_KEYS = (
    "answerable", "in_corpus", "documents", "without", "relevant", "pdfs", "pdfs_present",
    "wrong_answers", "type", "synthetic", "made",
)  # fmt: skip
_ALIKE = 0.8
"""The similarity from which on an unknown key counts as a misspelt one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetQuestion:
    """One question of a data set.

    Attributes:
        answers: The accepted answers; empty if there is no answer, or there are only qrels.
        answerable: Whether the corpus holds an answer.
        documents: The only documents for this question, if the data set names such documents. Here
            and in `Dataset`, documents are named by their ids in an index of the corpus.
        without: Documents that are left out for this question.
        kind: The kind of the question, as the data set names it (`metadata.type`).
        wrong: The wrong answers that some documents give; `None` if the data set names none. If it
            names some, an answer must give all of `answers`, else any of them.
        history: The earlier turns of the conversation, which strategies get. A retriever ranks for
            `text` alone.
        synthetic: Whether the question was made from the documents, not asked by a person.
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
        name: The name of the data set.
        corpus: The corpus to ingest: `corpus.jsonl`, `corpus.jsonl.gz` or a folder of files.
        questions: The questions.
        qrels: The grade (above 0) of each relevant document, by question id and document id.
        documents: The ids of the documents of the corpus.
        ingested: Whether the questions are about the documents of an existing index. Then there is
            no other corpus, and `corpus` is the file of the questions.
    """

    name: str
    corpus: Path
    questions: tuple[DatasetQuestion, ...]
    qrels: Mapping[str, Mapping[str, int]]
    documents: frozenset[str] = frozenset()
    ingested: bool = False

    @property
    def judged_questions(self) -> tuple[DatasetQuestion, ...]:
        """The questions with at least one relevant document."""
        return tuple(question for question in self.questions if question.id in self.qrels)

    def sample(
        self, count: int | None = None, *, seed: int = 0, judged: bool = False
    ) -> tuple[DatasetQuestion, ...]:
        """Draw a sample of questions by the hash of their ids.

        A smaller sample is the beginning of a larger one, so a larger run continues a smaller one.

        Args:
            count: The size of the sample; by default all questions.
            seed: The seed; another seed gives another sample.
            judged: Whether to draw only questions with at least one relevant document.
        """
        candidates = self.judged_questions if judged else self.questions
        # The order by hash does not depend on the other questions of the file.
        shuffled = sorted(
            candidates, key=lambda question: (hash_text(f"{seed} {question.id}"), question.id)
        )
        return tuple(shuffled[:count])


def load(directory: Path) -> Dataset:
    """Load a data set from a folder.

    The corpus is `corpus.jsonl[.gz]` or a folder of files, `corpus`, `documents` or `pdfs`; a file
    is named by its path below that folder. The questions are in `queries.jsonl[.gz]` or
    `questions.jsonl[.gz]`. Relevant documents are in `qrels.tsv`, in `metadata.relevant` of the
    questions (grade 1), or in both. `metadata.pdfs` is another name of `relevant`; questions with
    `"pdfs_present": false` are left out, because files that they need are absent.

    Raises:
        UsageError: If a file is missing or malformed, an id is unknown, or an id comes twice.
    """
    if not directory.is_dir():
        raise UsageError(f"{directory}: no such data set; name its folder, or a file of questions")
    corpus = find_corpus(directory)
    queries = find_file(directory, *_QUESTION_FILES)
    ids = map_documents(corpus)
    if not ids:
        raise UsageError(f"{corpus}: the corpus is empty")
    entries = _read_entries(queries, ids)
    qrels_file = directory / _QRELS_FILE
    if not qrels_file.is_file() and not any(entry.relevant for entry in entries):
        raise UsageError(f"{directory}: no qrels.tsv, and no question names relevant documents")
    qrels = _load_qrels(qrels_file, entries, ids)
    _check_gradable(queries, entries, qrels)
    return Dataset(
        name=directory.resolve().name,
        corpus=corpus,
        questions=tuple(entry.question for entry in entries),
        qrels=qrels,
        documents=frozenset(ids.values()),
    )


def list_places(path: Path) -> list[Path]:
    """Return the files and folders that are read of a data set, whether they exist or not.

    Args:
        path: The folder of the data set, or a file of questions.
    """
    if not path.is_dir():
        return [path]
    questions = [name + ending for name in _QUESTION_FILES for ending in ("", ".gz")]
    return [path / name for name in (*_CORPUS_FILES, *questions, _QRELS_FILE, *CORPUS_FOLDERS)]


def load_questions(file: Path, documents: Iterable[DocumentSummary]) -> Dataset:
    """Load a file of questions about the documents of an index, as `questions make` writes it.

    The file has the form of `queries.jsonl`. It names documents by their ids or paths, or by their
    file names if only one document has this file name.

    Args:
        file: The file of JSON lines, plain or gzip.
        documents: All documents of the index.

    Raises:
        UsageError: If the file is malformed, an id comes twice, a document is not in the index, or
            a question has answers although its line says that the documents have none.
    """
    if not file.is_file():
        raise UsageError(f"{file} is no file of questions; `fathom questions make` writes one")
    ids = _index_names(list(documents))
    entries = _read_entries(file, ids)
    _check_consistent(file, entries)
    qrels = _collect_own_qrels(entries)
    _check_gradable(file, entries, qrels)
    return Dataset(
        name=file.name.partition(".")[0] or file.name,
        corpus=file,
        questions=tuple(entry.question for entry in entries),
        qrels=qrels,
        documents=frozenset(ids.values()),
        ingested=True,
    )


def _index_names(documents: Sequence[DocumentSummary]) -> dict[str, str]:
    """Return the ids of documents by all names that a question may use."""
    # A file name that two documents share is ambiguous, so it names neither.
    files = Counter(Path(document.path).name for document in documents)
    short = {
        name: document.id for document in documents if files[name := Path(document.path).name] == 1
    }
    return {
        # Later entries win, so that an id never means the path or file name of another document.
        **{restore_name(document.id): document.id for document in documents},
        **short,
        **{document.path: document.id for document in documents},
        **{document.id: document.id for document in documents},
    }


def _read_entries(file: Path, ids: Mapping[str, str]) -> list["QuestionEntry"]:
    entries = list(_parse_entries(file, ids))
    if not entries:
        raise UsageError(f"{file}: there are no questions")
    return entries


def _check_gradable(
    file: Path, entries: Sequence["QuestionEntry"], qrels: Mapping[str, Mapping[str, int]]
) -> None:
    for entry in entries:
        question = entry.question
        if question.answerable and not question.answers and question.id not in qrels:
            raise UsageError(
                f"{file}:{entry.line}: question {question.id!r} has no answers and no relevant "
                "documents; add some, or set metadata.answerable to false"
            )


def _check_consistent(file: Path, entries: Sequence["QuestionEntry"]) -> None:
    for entry in entries:
        if entry.has_unused_answers:
            raise UsageError(
                f"{file}:{entry.line}: question {entry.question.id!r} has answers, but "
                "metadata.answerable is false; remove the answers, or set it to true"
            )
        if entry.misspelt:
            raise UsageError(
                f"{file}:{entry.line}: question {entry.question.id!r}: unknown key "
                f"{entry.misspelt[0]!r}; did you mean {entry.misspelt[1]!r}?"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionEntry:
    """A question with the other content of its line.

    Attributes:
        line: The number of the line.
        relevant: The relevant documents.
        has_unused_answers: Whether there are answers although `answerable` is false.
        misspelt: An unknown key and the known one that it resembles; empty without one.
    """

    line: int
    question: DatasetQuestion
    relevant: tuple[str, ...]
    has_unused_answers: bool = False
    misspelt: Sequence[str] = ()


def _parse_entries(file: Path, ids: Mapping[str, str]) -> Iterator[QuestionEntry]:
    for number, row in read_rows(file):
        if not isinstance(row.get("text"), str) or not row["text"].strip():
            raise UsageError(f"{file}:{number}: question {row['_id']!r} has no text")
        try:
            _check_askable(row)
            question, relevant = _parse_question(row)
        except TypeError as error:
            raise UsageError(f"{file}:{number}: question {row['_id']!r}: {error}") from None
        if relevant is None:
            continue
        for document in (*question.documents, *question.without, *relevant):
            if document not in ids:
                raise UsageError(f"{file}:{number}: unknown document {document!r}")
        documents = tuple(ids[document] for document in question.documents)
        without = tuple(ids[document] for document in question.without)
        yield QuestionEntry(
            line=number,
            question=replace(question, documents=documents, without=without),
            relevant=tuple(ids[document] for document in relevant),
            has_unused_answers=bool(row.get("answers"))
            and (row.get("metadata") or {}).get("answerable") is False,
            misspelt=_find_misspelt_key(row, _KEYS)
            or _find_misspelt_key(row.get("metadata") or {}, _METADATA_KEYS),
        )


def _find_misspelt_key(row: Collection[str], keys: Sequence[str]) -> Sequence[str]:
    """Return an unknown key with the absent known one that it resembles; empty without one."""
    absent = [name for name in keys if name not in row]
    for key in row:
        if key not in keys and (close := get_close_matches(key, absent, n=1, cutoff=_ALIKE)):
            return key, close[0]
    return ()


def _check_askable(row: Mapping[str, Any]) -> None:
    """Check that a question can be asked and recorded.

    Raises:
        TypeError: If a strategy would refuse the question, which would end an evaluation of hours,
            or a text of the line cannot be stored.
    """
    # Lone surrogates pass through JSON, but records cannot hold them.
    if _holds_surrogates(json.dumps(row, ensure_ascii=False)):
        raise TypeError("a text holds half of a character; write the whole one")
    try:
        check_question(row["text"])
    except UsageError as error:
        raise TypeError(str(error)) from None


def _parse_question(row: Mapping[str, Any]) -> tuple[DatasetQuestion, tuple[str, ...] | None]:
    """Parse a question and its relevant documents, which are `None` if their files are absent."""
    metadata = row.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise TypeError("metadata must be an object")
    # Data sets mark an unanswerable question by one of these names.
    answerable = _parse_flag(metadata, "answerable") and _parse_flag(metadata, "in_corpus")
    answers = _parse_texts(row.get("answers"), "answers")
    wrong = metadata.get("wrong_answers")
    question = DatasetQuestion(
        id=row["_id"],
        text=row["text"],
        # Published sets have texts such as "insufficient information" for a question without an
        # answer.
        answers=answers if answerable else (),
        answerable=answerable,
        documents=_parse_names(metadata, "documents"),
        without=_parse_names(metadata, "without"),
        kind=str(metadata.get("type") or ""),
        wrong=None if wrong is None else _parse_texts(wrong, "wrong_answers"),
        history=_parse_history(row.get("history")),
        synthetic=_parse_flag(metadata, "synthetic", default=False),
    )
    relevant = (*_parse_names(metadata, "relevant"), *_parse_names(metadata, "pdfs"))
    return question, relevant if _parse_flag(metadata, "pdfs_present") else None


def _parse_history(value: object) -> Dialogue:
    try:
        return parse_dialogue(_check_list(value, "history"))  # type: ignore[arg-type]  # it checks the turns
    except UsageError as error:
        raise TypeError(str(error)) from None


def _parse_flag(metadata: Mapping[str, Any], name: str, *, default: bool = True) -> bool:
    value = metadata.get(name, default)
    if not isinstance(value, bool):
        raise TypeError(f"metadata.{name} must be true or false")
    return value


def _parse_names(metadata: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Parse the names of documents, which some data sets put into objects."""
    items = _check_list(metadata.get(name), name)
    names = [item.get("doc") if isinstance(item, dict) else item for item in items]
    if not all(isinstance(text, str) for text in names):
        raise TypeError(f"{name} must hold ids")
    return tuple(map(str, names))


def _check_list(value: object, name: str) -> list[object]:
    if value is not None and not isinstance(value, list):
        raise TypeError(f"{name} must be a list")
    return value or []


def _parse_texts(value: object, name: str) -> tuple[str, ...]:
    items = _check_list(value, name)
    texts = tuple(str(item) for item in items if isinstance(item, str | int | float))
    # Numbers are accepted, since years and counts are often written as such.
    if len(texts) < len(items) or not all(item.strip() for item in texts):
        raise TypeError(f"{name} must hold texts that are not blank")
    return texts


def _load_qrels(
    file: Path, entries: Sequence[QuestionEntry], ids: Mapping[str, str]
) -> dict[str, dict[str, int]]:
    qrels = _collect_own_qrels(entries)
    questions = {entry.question.id for entry in entries}
    for number, line in read_lines(file) if file.is_file() else ():
        # The header of the BEIR layout is optional.
        if number == 1 and line.startswith("query-id"):
            continue
        question, document, grade = _parse_qrel(file, number, line)
        if question not in questions:
            raise UsageError(f"{file}:{number}: unknown question {question!r}")
        if document not in ids:
            raise UsageError(f"{file}:{number}: unknown document {document!r}")
        # Two equal files have the same id, so a pair may come twice, but only with the same grade.
        if qrels.setdefault(question, {}).setdefault(ids[document], grade) != grade:
            raise UsageError(f"{file}:{number}: {question!r} and {document!r} have two grades")
    # Grades of 0 are removed last, so that a contradiction with another grade is noticed.
    relevant = {
        question: {document: grade for document, grade in grades.items() if grade > 0}
        for question, grades in qrels.items()
    }
    return {question: grades for question, grades in relevant.items() if grades}


def _collect_own_qrels(entries: Sequence[QuestionEntry]) -> dict[str, dict[str, int]]:
    """Return the relevant documents that the lines of the questions name, with grade 1."""
    return {
        entry.question.id: dict.fromkeys(entry.relevant, 1) for entry in entries if entry.relevant
    }


def _parse_qrel(file: Path, number: int, line: str) -> tuple[str, str, int]:
    try:
        question, document, grade = line.rstrip("\r\n").split("\t")
        return question, document, int(grade)
    except ValueError:
        raise UsageError(f"{file}:{number}: expected query-id, corpus-id, score") from None


def find_file(directory: Path, *names: str) -> Path:
    """Return the first of these files that exists, each plain or with `.gz`.

    Raises:
        UsageError: If none exists.
    """
    candidates = [candidate for name in names for candidate in (name, f"{name}.gz")]
    for name in candidates:
        if (directory / name).is_file():
            return directory / name
    raise UsageError(f"{directory}: no {' or '.join(candidates)}")


def find_corpus(directory: Path) -> Path:
    """Return the corpus of a data set folder: its `corpus.jsonl[.gz]`, else its folder of files.

    Raises:
        UsageError: If there is no corpus, or more than one folder that could be the corpus.
    """
    for name in _CORPUS_FILES:
        if (directory / name).is_file():
            return directory / name
    folders = [directory / name for name in CORPUS_FOLDERS if (directory / name).is_dir()]
    choices = " and ".join(f"{folder.name}/" for folder in folders)
    if len(folders) > 1:
        raise UsageError(f"{directory}: {choices} could both be the corpus; rename one")
    if not folders:
        raise UsageError(
            f"{directory}: no corpus.jsonl or corpus.jsonl.gz, and no folder "
            f"{', '.join(CORPUS_FOLDERS)}"
        )
    return folders[0]


def map_documents(corpus: Path) -> dict[str, str]:
    """Return the ids of the documents of a corpus, as an index has them, by their names.

    The name of a record is its `_id`, that of a file its path below the corpus. The id of a file is
    made from its content, so two equal files have the same id.

    Raises:
        UsageError: If a line of a corpus file is malformed, or a file cannot be read.
    """
    if corpus.is_file():
        return _map_records(corpus)
    ids: dict[str, str] = {}
    for file in discover_files([corpus]):
        try:
            with file.open("rb") as stream:
                holds_records = is_corpus(stream)
            if holds_records:
                ids |= _map_records(file)
            else:
                name = file.relative_to(corpus).as_posix()
                ids[name] = derive_document_id(digest_content(file))
        except OSError as error:
            raise UsageError(f"{file}: cannot be read: {error.strerror}") from None
    return ids


def _map_records(file: Path) -> dict[str, str]:
    return {row["_id"]: name_record(row["_id"]) for _, row in read_rows(file)}


def read_rows(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a file of JSON lines, plain or gzip, with their line numbers from 1.

    Raises:
        UsageError: If a line is not an object with a text `_id`, or an id comes twice.
    """
    seen: set[str] = set()
    for number, line in read_lines(file):
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise UsageError(
                f"{file}:{number}: not JSON: {error.msg}; write each object in one line"
            ) from None
        # A number has too many digits, or lists are nested too deeply.
        except (ValueError, RecursionError):
            raise UsageError(f"{file}:{number}: not JSON that can be read") from None
        if not isinstance(row, dict) or not isinstance(row.get("_id"), str):
            raise UsageError(f"{file}:{number}: expected an object with a text '_id'")
        if row["_id"] in seen:
            raise UsageError(f"{file}:{number}: the id {row['_id']!r} comes twice")
        seen.add(row["_id"])
        yield number, row


def read_lines(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the non-blank lines of a text file, plain or gzip, with their numbers from 1.

    Raises:
        UsageError: If the file is not UTF-8, or the gzip file is damaged.
    """
    number = 0
    try:
        with _open_text(file) as text:
            for number, line in enumerate(text, start=1):
                if line.strip():
                    yield number, line
    except UnicodeDecodeError:
        place = _find_foreign_line(file)
        raise UsageError(f"{file}:{place}: not UTF-8; save the file as UTF-8") from None
    # An incomplete gzip file raises one of these, depending on where it ends.
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise UsageError(f"{file}:{number + 1}: not a whole gzip file; copy it again") from None


def _open_text(file: Path, *, errors: str = "strict") -> TextIO:
    open_file: Any = gzip.open if file.suffix == ".gz" else open
    # Editors on Windows begin a file with a byte order mark.
    text: TextIO = open_file(file, "rt", encoding="utf-8-sig", errors=errors)
    return text


def _find_foreign_line(file: Path) -> int:
    """Return the number of the first line that is not UTF-8.

    A file is decoded in blocks, so the error comes before the lines of its block are counted.
    """
    with _open_text(file, errors="surrogateescape") as text:
        lines = enumerate(text, start=1)
        return next(number for number, line in lines if _holds_surrogates(line))


def _holds_surrogates(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
