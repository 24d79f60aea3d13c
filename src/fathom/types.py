"""The frozen values that all rooms of Fathom exchange."""

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Literal, NamedTuple

from fathom.usage import Budget, Usage

_WORD = re.compile(r"[^\W_]+")
_DATE_KEYS = ("modified", "date", "created")
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)

DIGITS = 6
"""The decimals of scores; they are rounded, because the last bits differ between processors and
traces must not."""
Scalar = str | int | float | bool
BlockKind = Literal[
    "heading", "paragraph", "list_item", "table_row", "code", "footnote", "table_head"
]
"""The kinds of blocks; `table_head` is the row of a table that names its columns."""
HEADS: frozenset[BlockKind] = frozenset({"heading", "table_head"})
"""The kinds of blocks that only announce the blocks below them, and so hold no answer."""
Source = Literal["corpus", "web"]
AnswerStatus = Literal["answered", "abstained", "failed"]
AbstentionReason = Literal["no_evidence", "missing_anchor", "conflict", "low_confidence", "budget"]
VERIFIED = "verified"
"""The phase of an answer that a person verified and that is given again."""
SECTION_SEPARATOR = " > "
"""The separator of the headings of a section."""
PARTIAL_LIST = "partial_list"
"""The stop reason of an answer that gives fewer things than the question asks for."""


@dataclass(frozen=True, slots=True)
class Span:
    """Character offsets into a text, half-open: `0 <= start <= end`.

    Raises:
        ValueError: If the offsets are in another order or negative.
    """

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise ValueError(f"span ({self.start}, {self.end}) must satisfy 0 <= start <= end")

    def cut(self, text: str) -> str:
        """Return the part of `text` that the span covers."""
        return text[self.start : self.end]

    def shift(self, by: int) -> "Span":
        """Return a span of the same length that begins `by` characters later."""
        return Span(self.start + by, self.end + by)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A piece of a document's structure; blocks come in reading order and do not overlap.

    Attributes:
        kind: The kind of the piece.
        span: The place of the piece in the document's text.
        headings: The titles of the sections around it, outermost first; those of a heading end with
            the heading itself.
        page: The number of the page, slide or sheet, from 1; `None` if the format has none.
        recognised: The certainty of text that was recognised in a picture, in [0, 1]; `None` if the
            file itself holds the text.
    """

    kind: BlockKind
    span: Span
    headings: tuple[str, ...] = ()
    page: int | None = None
    recognised: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One document as text with its structure.

    Attributes:
        id: For a record of a corpus file, its `_id`, with a `_` before it if it looks like the id
            of a file. For a file, the start of the sha256 of the content, so that equal files are
            one document.
        text: The whole text; offsets in documents, chunks and citations point into it.
        path: The file that it was read from; `file#_id` for a record of a corpus file.
        title: The document's own title, else its file name.
        language: `en` (English), `id` (Indonesian), or `und` if neither is likely.
        metadata: The values that filters compare.
        blocks: The structure of the text, in reading order.
        lines: The beginnings of the file's lines in the text, as pairs of an offset and a line from
            1, both growing; empty if the format has no lines, such as PDF.
        tables: The long tables, typed and packed by `fathom.tables.packing`; empty without one.
    """

    id: str
    text: str
    path: str
    title: str
    language: str = "und"
    metadata: Mapping[str, Scalar] = field(default_factory=dict)
    blocks: Sequence[Block] = ()
    lines: tuple[tuple[int, int], ...] = ()
    tables: bytes = field(default=b"", repr=False)

    @property
    def date(self) -> str:
        """The day of the last change, as YYYY-MM-DD, by the metadata; empty if they have no day."""
        values = (str(self.metadata.get(key, ""))[:10] for key in _DATE_KEYS)
        return next(filter(_DAY.fullmatch, values), "")

    def place_at(self, offset: int) -> "Place":
        """Return the place of the character at `offset`."""
        block = self._block_at(offset)
        return Place(
            path=self.path,
            title=self.title,
            section=join_headings(self.title, block.headings if block else ()),
            page=block.page if block else None,
            line=self.line_at(offset),
            recognised=block.recognised if block else None,
        )

    def headings_at(self, offset: int) -> tuple[str, ...]:
        """Return the section path of the character at `offset`, outermost first."""
        block = self._block_at(offset)
        return block.headings if block else ()

    def _block_at(self, offset: int) -> "Block | None":
        """Return the last block that begins at or before `offset`; `None` if there is none."""
        # Blocks are in reading order and do not overlap, so the last one that begins at or before
        # the offset is the one.
        before = bisect_right(self.blocks, offset, key=lambda block: block.span.start)
        return self.blocks[before - 1] if before else None

    def line_at(self, offset: int) -> int:
        """Return the line, from 1, of the character at `offset`, counted as in `Place`."""
        if not self.lines:
            return self.text.count("\n", 0, offset) + 1
        before = bisect_right(self.lines, offset, key=lambda line: line[0])
        return self.lines[max(before - 1, 0)][1]

    def line_span(self, line: int) -> Span:
        """Return the span of a line without the blanks at its end.

        Args:
            line: The line from 1, counted as in `line_at`. For a line of the file without text, the
                last line with text before it is taken, and for one past the end the last line.
        """
        starts = self.lines or tuple(
            (start, number) for number, start in enumerate(_find_line_starts(self.text), start=1)
        )
        # Lines without text have no entry, so the last entry up to `line` counts.
        after = max(bisect_right(starts, line, key=lambda entry: entry[1]), 1)
        start = starts[after - 1][0]
        end = starts[after][0] if after < len(starts) else len(self.text)
        return Span(start, max(start, start + len(self.text[start:end].rstrip())))


def _find_line_starts(text: str) -> list[int]:
    """Return the offsets at which the lines of a text begin."""
    return [0, *(match.end() for match in re.finditer("\n", text))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The place of a text in the documents, for people who want to look it up.

    Attributes:
        path: The file; `file#_id` for a record of a corpus file.
        title: The document's own title, else the file's name.
        section: The headings above it, outermost first, joined by ` > `, without the title.
        page: The page, slide or sheet from 1; `None` if the format has none.
        line: The line from 1: in the file if its format has lines, else in the text as it was read;
            `None` if it is not known. `fathom docs show PATH --at LINE` opens there.
        recognised: The certainty of recognised text, as in `Block`.
    """

    path: str
    title: str
    section: str = ""
    page: int | None = None
    line: int | None = None
    recognised: float | None = None

    @property
    def address(self) -> str:
        """The path with the line, or with the page if the line is not known, for people."""
        if self.line:
            return f"{self.path}:{self.line}"
        return f"{self.path} page {self.page}" if self.page else self.path


def join_headings(title: str, headings: tuple[str, ...]) -> str:
    """Return a section path in one line, without the document's title at its beginning.

    Args:
        title: The title of the document.
        headings: The headings, outermost first.
    """
    inner = headings[1:] if headings[:1] == (title,) else headings
    return SECTION_SEPARATOR.join(inner)


class ChunkBlock(NamedTuple):
    """A block of a document, or the part of it that lies in a chunk.

    Attributes:
        kind: The kind of the block.
        start: The offset of its beginning in the chunk's text.
        end: The offset behind its end in the chunk's text.
    """

    kind: BlockKind
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A part of a document that is small enough to rank and read.

    `span.cut(document.text) == text` always holds.

    Attributes:
        id: `<document id>#<ordinal>`.
        document_id: The id of the document.
        text: The text of the chunk.
        span: The place of the chunk in the document's text.
        ordinal: The position among the document's chunks, from 0.
        title: The title of the document.
        path: The path of the document; empty if there is none.
        site: The host of the document, or its domain by the metadata; empty if it has neither.
        headings: The section path at the chunk's start, outermost first.
        page: The page at the chunk's start, from 1; `None` if the format has none.
        source: The origin of the text. For a page of the web, only this text is known.
        blocks: The blocks of the document within the chunk, in order; empty if they are not known.
    """

    id: str
    document_id: str
    text: str
    span: Span
    ordinal: int
    title: str = ""
    path: str = ""
    site: str = ""
    headings: tuple[str, ...] = ()
    page: int | None = None
    source: Source = "corpus"
    blocks: tuple[ChunkBlock, ...] = ()

    @property
    def label(self) -> str:
        """The name of the document: words of its path, then its title.

        The words are those of the names of its folder and file that the title lacks. For a record
        of a corpus file it is the title alone.
        """
        return SECTION_SEPARATOR.join(filter(None, (self._list_path_words(), self.title)))

    @property
    def breadcrumb(self) -> str:
        """The label and the section path, each component once; empty if there is neither."""
        return SECTION_SEPARATOR.join(
            dict.fromkeys(filter(None, (self._list_path_words(), self.title, *self.headings)))
        )

    @property
    def place(self) -> "Place":
        """The place of the chunk, without the line, which only the document knows."""
        section = join_headings(self.title, self.headings)
        return Place(path=self.path, title=self.title, section=section, page=self.page)

    @property
    def context(self) -> str:
        """The text for the embedder and BM25: the breadcrumb, a line break, the chunk's text."""
        return f"{self.breadcrumb}\n{self.text}" if self.breadcrumb else self.text

    def _list_path_words(self) -> str:
        """Return the words of the names of folder and file that the title lacks, each once."""
        # All records of a corpus file share its name, so the name does not tell them apart.
        if not self.path or self.path.endswith(f"#{self.document_id}"):
            return ""
        file = PurePath(self.path)
        words = {word.casefold(): word for word in _WORD.findall(f"{file.parent.name} {file.stem}")}
        title_words = set(_WORD.findall(self.title.casefold()))
        return " ".join(word for key, word in words.items() if key not in title_words)


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on a document's metadata; of several filters all must hold.

    Attributes:
        key: A metadata key, or `path`, `file`, `folder`, `title`, `language`, `document`.
        op: The comparison; `in` takes a tuple, `prefix` a string.
        value: The value to compare with; it never matches a stored value of another type.
    """

    key: str
    op: Literal["=", "!=", "<", "<=", ">", ">=", "in", "prefix"]
    value: Scalar | tuple[Scalar, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A text to search for, with the conditions that every hit must meet."""

    text: str
    filters: tuple[Filter, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A chunk at its place in a ranking.

    Attributes:
        chunk: The chunk.
        score: The score, which can be compared only within one ranking; higher is better.
        rank: The rank, from 1, without gaps.
        retriever: The name of the retriever that ranked it.
        found_by: The number of fused rankings that have it among their few best; 1 without fusion.

    Raises:
        ValueError: If the rank is below 1.
    """

    chunk: Chunk
    score: float
    rank: int
    retriever: str
    found_by: int = 1

    def __post_init__(self) -> None:
        if self.rank < 1:
            raise ValueError(f"rank {self.rank} must be at least 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A verbatim quote that supports an answer, with its place.

    Attributes:
        n: The number of the citation's mark in the answer, from 1.
        document: The id of the document; for a page of the web, `web:` and its address.
        path: The path of the file, or `FILE#ID` for a record of a corpus file.
        title: The title of the document, or else the name of its file.
        section: The headings above the quote, outermost first, joined by ` > `.
        page: The page, slide or sheet, from 1; `None` if the format has none.
        line: The line, from 1; `None` if it is not known, as for the web.
        start: The offset of the quote in the document's text, in characters.
        end: The offset of the end of the quote; the character there does not belong to it.
        quote: The text of the quote.
        verified: Whether the document's text has the quote at these offsets.
        support: The support of the answer by the quote, in [0, 1].
        source: `corpus` for a document of the index, or `web`.
        recognised: The certainty of text that was recognised in a picture, in [0, 1]; `None` if the
            file itself holds the text.
        date: The day of the document, such as `2026-11-30`; empty if it is not known.
    """

    n: int
    document: str
    path: str = ""
    title: str
    section: str = ""
    page: int | None = None
    line: int | None = None
    start: int
    end: int
    quote: str
    verified: bool
    support: float
    source: Source = "corpus"
    recognised: float | None = None
    date: str = ""

    @property
    def place(self) -> Place:
        """The place of the quote; for a page of the web, the path is its address."""
        return Place(
            path=self.document.removeprefix("web:") if self.source == "web" else self.path,
            title=self.title,
            section=self.section,
            page=self.page,
            line=self.line,
            recognised=self.recognised,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Another answer that a part of the evidence gives.

    Attributes:
        answer: This answer.
        citations: The numbers of the citations that support it.
        refuted: Whether better supported evidence about the same thing contradicts it. If not, it
            may be right too, because a name in a question can mean several things.
    """

    answer: str
    citations: tuple[int, ...]
    refuted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A part of a hit's chunk, or a heading above it, and its support of an answer.

    Attributes:
        hit: The hit.
        span: The place of the part in the chunk's text.
        support: The support of the answer, in [0, 1].
        heading: A title or heading above the chunk that is quoted instead of the part; empty to
            quote the part. Its place in the document is found when the quote is verified.
    """

    hit: Hit
    span: Span
    support: float
    heading: str = ""

    @property
    def quote(self) -> str:
        """The verbatim text of the heading, or else of the part."""
        return self.heading or self.span.cut(self.hit.chunk.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One sentence of an answer, as a language model wrote it.

    Attributes:
        text: The sentence.
        evidence: The positions of its support in the draft's evidence, from 0.
    """

    text: str
    evidence: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """Another answer that the evidence gives.

    Attributes:
        text: The answer in a few words.
        evidence: The positions of its support in the draft's evidence, from 0.
        refuted: Whether better supported evidence contradicts it, as in `Conflict`.
    """

    text: str
    evidence: tuple[int, ...]
    refuted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CalculationCell:
    """A cell of a table whose value a computation uses.

    Attributes:
        row: The number of its row below the head of the table, from 1.
        column: The number of its column, from 1.
        name: The name of its column; empty if the column has none.
        text: Its text.
        start: The offset of its beginning in the document's text.
        end: The offset of its end; the character there does not belong to it.
        citation: The number of the citation that quotes its row. In a draft of an answer, it is the
            position of its row in the evidence, from 0.
    """

    row: int
    column: int
    name: str
    text: str
    start: int
    end: int
    citation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Calculation:
    """A computation over a table.

    Attributes:
        operation: The operation, such as `sum`.
        value: The result; empty if several cells are the answer.
        unit: The unit of the result; empty if it has none.
        line: The computation in one line.
        table: The title of the table.
        cell_count: The number of cells that the computation uses.
        cells: The cells in the rows that citations quote.
    """

    operation: str
    value: str
    unit: str
    line: str
    table: str
    cell_count: int
    cells: tuple[CalculationCell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceCount:
    """The number of sentences that a language model wrote for a draft, dropped ones included.

    Attributes:
        written: The number of sentences; at least 1.
        supported: The number of those that their evidence supports.
    """

    written: int
    supported: int

    @property
    def share(self) -> float:
        """The share of the written sentences that are supported, in [0, 1]."""
        return self.supported / self.written


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A reader's answer from its evidence, before anything is verified.

    Attributes:
        evidence: The evidence, best first; empty if nothing supports an answer.
        claims: The answer, sentence by sentence; empty if the quotes themselves are the answer.
        short_answer: The answer in a few words; empty if the reader has none.
        alternatives: The other answers in the evidence, if it does not agree.
        confidence: The probability that the evidence holds the answer, in [0, 1].
        calculation: The computation of the answer; `None` if the answer was read and not computed.
        is_doubted: Whether a computation contradicts the answer that was read.
        sentences: The count of the written sentences; `None` if no language model wrote any.
    """

    evidence: tuple[Evidence, ...] = ()
    claims: tuple[Claim, ...] = ()
    short_answer: str = ""
    alternatives: tuple[Alternative, ...] = ()
    confidence: float = 0.0
    calculation: Calculation | None = None
    is_doubted: bool = False
    sentences: SentenceCount | None = None

    @property
    def support(self) -> float:
        """The share of the written sentences that are supported; the confidence without any."""
        return self.sentences.share if self.sentences else self.confidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The outcome of a question: an answer, an abstention or a failure.

    It has the fields of `ask --json`.

    Attributes:
        question: The question as it was asked.
        standalone_question: The question that was answered, if it differs from `question`: it can
            be understood without the earlier conversation, and its typing errors are corrected.
            Else `None`.
        status: `answered`; `abstained` if the documents hold no answer that is sure enough;
            `failed` if an error occurred.
        tentative: Whether the answer is shown although it is not sure. No certificate covers it.
        disputed: Whether the documents give different answers, and nothing decides which one is
            right. Then `short_answer` and `conflicts` name all of them, and the answer is
            tentative.
        answer: The text with the marks of its citations, such as `[1]`; empty unless `status` is
            `answered`.
        short_answer: The answer in a few words; empty if there is no short form.
        confidence: The probability that the answer is right, in [0, 1]; `None` if it is not known.
        calibration: The basis of the confidence: `own questions`, `public questions` or `a person`;
            `None` if there is no calibration for these settings.
        citations: The quotes that support the answer, in the order of their numbers.
        conflicts: Other answers that a part of the evidence gives.
        strategy: The name of the strategy.
        phase: The step of the strategy that gave the answer.
        stop_reason: The reason for the end of the run: `answered`; `partial_list` if the answer
            names fewer things than the question asks for; the reason of the abstention; or the
            error.
        usage: The resources that the run spent.
        budget: The resources that the run was allowed to spend.
        calculation: The computation that gave the answer; `None` if the answer was read from the
            documents.
        trace_id: The id of the trace, from which the run can be replayed; `None` if no trace was
            recorded.
        warnings: Remarks on the cited sources, such as that one is out of date. Like `trace_id`,
            they are not part of the recorded answer.
    """

    question: str
    standalone_question: str | None = None
    status: AnswerStatus
    tentative: bool = False
    disputed: bool = False
    answer: str = ""
    short_answer: str = ""
    confidence: float | None = None
    calibration: str | None = None
    citations: tuple[Citation, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    strategy: str
    phase: str
    stop_reason: str
    usage: Usage
    budget: Budget
    calculation: Calculation | None = None
    trace_id: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def first_reading(self) -> Conflict:
        """The reading that the answer gives, with the citations that no conflict has."""
        others = {n for conflict in self.conflicts for n in conflict.citations}
        supporting = tuple(citation.n for citation in self.citations if citation.n not in others)
        return Conflict(answer=self.short_answer, citations=supporting)
