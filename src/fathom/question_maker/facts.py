"""Facts: statements in the chunks of an index, each as a question with its answer."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from fathom.index.base import IndexReader
from fathom.jsonable import hash_text
from fathom.question_maker.asking import PosedQuestion, pose_questions
from fathom.tables.rows import NamedCell, list_chunk_tables
from fathom.text.entities import find_names
from fathom.text.instructions import gives_orders
from fathom.text.language import Language, detect_language
from fathom.text.quotable import list_units
from fathom.types import Chunk, Span

MOST_CHUNKS = 20_000
"""The number of chunks that facts are extracted from, at most."""
_LOWER_WORD = re.compile(r"\b[a-z][\w-]+")
_ROW_NAME = re.compile(r"[^\W\d_][^<>{}=|]{1,60}$")
_COLUMN = re.compile(
    r"(?!(?:id|no|nr|number|notes?|comments?|url|links?|unit|name|catatan|satuan|nomor)$)"
    r"[^\W\d_][^<>{}=|:?]{2,38}$(?<! at)(?<! in)(?<! on)(?<! by)(?<! to)"
    r"|(?:stored|kept|located|found) (?:at|in)$",
    re.IGNORECASE,
)
_LONGEST_CELL = 60
_AMOUNT = re.compile(r"\D{0,3}\d[\d.,]*(?:\s[^\W\d]+){0,3}$")
_AMOUNTS = re.compile(r"biaya|harga|tarif|denda|jumlah|luas|tinggi|berat|umur|batas", re.IGNORECASE)
_PLACE_COLUMN = re.compile(r"(stored|kept|located|found) (?:at|in)$")
_PERSON = re.compile(r"[A-Z][a-z]+ [A-Z][a-z]+$")
_FOR_COLUMN = re.compile(r"\b(?:in|per|fee|fine|price|cost|limit|default|deadline|rate)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A question that a span of a chunk answers.

    Attributes:
        question: The question.
        answer: The answer, verbatim from the chunk except for white space.
        chunk: The chunk.
        span: The span of the answer in the text of the chunk.
        rule: The rule or the prompt that made the question.
        language: The language of the question.
        numeric: Whether the answer is a number or an amount.
        several: Whether the answer is a list.
        subject: The subject of the question in the words of the chunk; empty if it is the answer.
        items: The items of a list.
    """

    question: str
    answer: str
    chunk: Chunk
    span: Span
    rule: str
    language: Language
    numeric: bool = False
    several: bool = False
    subject: str = ""
    items: tuple[str, ...] = ()

    @property
    def document(self) -> str:
        """The id of the document of the chunk."""
        return self.chunk.document_id


def is_named(subject: str) -> bool:
    """Return whether a subject contains a name, so that it means the same in all documents."""
    return bool(find_names(f"x {subject}"))


def shuffle_chunks(index: IndexReader, seed: int) -> list[Chunk]:
    """Return at most `MOST_CHUNKS` chunks of all documents, in an order that the seed decides."""
    ids = [f"{item.id}#{at}" for item in index.list_documents() for at in range(item.chunks)]
    # Sorted by a hash, so that a new document does not change the order of the other chunks.
    drawn = sorted(ids, key=lambda chunk_id: (hash_text(f"{seed} {chunk_id}"), chunk_id))[
        :MOST_CHUNKS
    ]
    return index.chunks(drawn)


def extract_facts(chunk: Chunk, languages: Sequence[Language]) -> Iterator[Fact]:
    """Yield the facts of a chunk in order; none if its text gives orders to a language model."""
    language = detect_chunk_language(chunk)
    if language not in languages or gives_orders(chunk.text):
        return
    small = frozenset(_LOWER_WORD.findall(chunk.text))
    for unit in list_units(chunk):
        if unit.kind in {"paragraph", "list_item"}:
            for question in pose_questions(unit.span.cut(chunk.text), language, small):
                yield _make_fact(question, chunk, unit.span.start, language)
    for table in (raw_table.rows for raw_table in list_chunk_tables(chunk)):
        for row in table:
            yield from _extract_cells(row, chunk, language, small)


def detect_chunk_language(chunk: Chunk) -> Language:
    """Return the language of the text, or else of the text with its titles, or else English."""
    languages = (detect_language(text) for text in (chunk.text, chunk.context))
    return next((language for language in languages if language != "und"), "en")


def _make_fact(question: PosedQuestion, chunk: Chunk, start: int, language: Language) -> Fact:
    span = question.answer.shift(start)
    return Fact(
        question=question.text,
        answer=" ".join(span.cut(chunk.text).split()),
        chunk=chunk,
        span=span,
        rule=question.rule,
        language=language,
        numeric=question.numeric,
        several=question.several,
        subject=question.subject,
        items=question.items,
    )


def _extract_cells(
    row: Sequence[NamedCell], chunk: Chunk, language: Language, small: Collection[str]
) -> Iterator[Fact]:
    """Yield a fact for each named cell of a row whose first cell names the subject."""
    key, *cells = row
    about = " ".join(key.text.split())
    if not _ROW_NAME.match(about):
        return
    for cell in cells:
        name, value = " ".join(cell.name.split()), " ".join(cell.text.split())
        if not _COLUMN.match(name) or not 0 < len(value) < _LONGEST_CELL:
            continue
        yield Fact(
            question=_word_question(name, _lower_row_name(about, small), language),
            answer=value,
            chunk=chunk,
            span=cell.span,
            rule="cell",
            language=language,
            numeric=bool(_AMOUNT.match(value)),
            subject=about,
        )


def _lower_row_name(about: str, small: Collection[str]) -> str:
    """Return the first cell of a row for use in a question, where only names have a capital."""
    first, second, *_ = [*about.split(), "", ""]
    is_common = second.islower() or first.lower() in small
    return about[0].lower() + about[1:] if first[1:].islower() and is_common else about


def _word_question(name: str, about: str, language: Language) -> str:
    column = name if name.isupper() else name[0].lower() + name[1:]
    if language == "id":
        return f"{'Berapa' if _AMOUNTS.search(name) else 'Apa'} {column} {about}?"
    place = _PLACE_COLUMN.match(column)
    if place:
        return f"Where {'are' if re.search(r'[^su]s$', about) else 'is'} {about} {place[1]}?"
    many = re.search(r"[^su]s$", column.split(" in ")[0])
    if _PERSON.match(about) and not many:
        return f"What is {about}'s {column}?"
    link = "for" if _FOR_COLUMN.search(column) else "of"
    return f"What {'are' if many else 'is'} the {column} {link} {about}?"
