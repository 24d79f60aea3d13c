"""The nouns of Fathom: frozen values that every room understands."""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from fathom.usage import Budget, Usage

Scalar = str | int | float | bool
BlockKind = Literal["heading", "paragraph", "list_item", "table_row", "code", "footnote"]
Source = Literal["corpus", "web"]
AnswerStatus = Literal["answered", "abstained", "failed"]
AbstentionReason = Literal["no_evidence", "missing_anchor", "conflict", "low_confidence", "budget"]


@dataclass(frozen=True, slots=True)
class Span:
    """Character offsets into a text, half-open: `0 <= start <= end`."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise ValueError(f"span ({self.start}, {self.end}) must satisfy 0 <= start <= end")

    def cut(self, text: str) -> str:
        """The part of `text` the span covers."""
        return text[self.start : self.end]

    def shifted(self, by: int) -> "Span":
        """The same length, `by` characters further on."""
        return Span(self.start + by, self.end + by)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A piece of a document's structure; blocks come in reading order and do not overlap.

    Attributes:
        kind: What the piece is.
        span: Where it stands in the document's text.
        headings: The titles of the sections around it, outermost first; a heading's own path
            ends with itself.
        page: Page, slide or sheet number from 1; `None` where the format has none.
    """

    kind: BlockKind
    span: Span
    headings: tuple[str, ...] = ()
    page: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One document as text with its structure.

    Attributes:
        id: The corpus's own id (`_id` of a record) or, for files, the start of the sha256 of the
            content, so that equal files are one document.
        text: The whole text; every offset anywhere in Fathom points into it.
        path: Where it was read from (`file`, or `file#_id` for a record of a corpus file).
        title: The document's own title, else its file name.
        language: `en`, `id`, or `und` when neither is likely.
        metadata: Typed values to filter by.
    """

    id: str
    text: str
    path: str
    title: str
    language: str = "und"
    metadata: Mapping[str, Scalar] = field(default_factory=dict)
    blocks: tuple[Block, ...] = ()

    def page_at(self, offset: int) -> int | None:
        """The page that the character at `offset` stands on."""
        place = bisect_right(self.blocks, offset, key=lambda block: block.span.start)
        return self.blocks[place - 1].page if place else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A part of a document small enough to rank and read.

    `span.cut(document.text) == text` always holds.

    Attributes:
        id: `<document id>#<ordinal>`.
        ordinal: Position among the document's chunks, from 0.
        headings: Section path at the chunk's start, outermost first.
        page: Page at the chunk's start, from 1.
        title: Title of the document.
        source: Where it comes from; of the web nothing is known but this text.
    """

    id: str
    document_id: str
    text: str
    span: Span
    ordinal: int
    title: str = ""
    headings: tuple[str, ...] = ()
    page: int | None = None
    source: Source = "corpus"

    @property
    def context(self) -> str:
        """What embedder and BM25 see: title and section path, a line break, the text."""
        path = dict.fromkeys(part for part in (self.title, *self.headings) if part)
        head = " > ".join(path)
        return f"{head}\n{self.text}" if head else self.text


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on a document's metadata; several are joined by "and".

    Attributes:
        key: A metadata key, or `path`, `title`, `language`, `document`.
        op: Comparison; `in` takes a tuple, `prefix` a string.
        value: What to compare with. Values of another type than the stored one never match.
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
        rank: From 1, without gaps.
        score: Comparable within one ranking only.
        retriever: Who ranked it.
    """

    chunk: Chunk
    score: float
    rank: int
    retriever: str

    def __post_init__(self) -> None:
        if self.rank < 1:
            raise ValueError(f"rank {self.rank} must be at least 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A verbatim quote that supports an answer.

    Attributes:
        n: Number of the marker in the answer, from 1.
        start: Offset of the quote in the document's text.
        end: End of the quote, half-open.
        verified: Whether the document's text holds the quote at these offsets, checked last.
        support: How well the quote supports the answer, in [0, 1].
    """

    n: int
    document: str
    title: str
    page: int | None
    start: int
    end: int
    quote: str
    verified: bool
    support: float
    source: Source = "corpus"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Another reading of the evidence, with the numbers of the citations that hold it."""

    answer: str
    citations: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A part of a hit's chunk and how well it supports an answer.

    Attributes:
        span: Where the part stands in the chunk's text.
        support: In [0, 1].
    """

    hit: Hit
    span: Span
    support: float

    @property
    def quote(self) -> str:
        """The part, verbatim."""
        return self.span.cut(self.hit.chunk.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One sentence of an answer in the words of whoever wrote it.

    Attributes:
        evidence: Places in the draft's evidence of what supports it, from 0.
    """

    text: str
    evidence: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """Another answer that the evidence supports.

    Attributes:
        text: The answer in a few words.
        evidence: Places in the draft's evidence of what supports it, from 0.
    """

    text: str
    evidence: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a reader makes of its evidence, before anything is verified.

    Attributes:
        evidence: Best first; empty when nothing supports an answer.
        claims: The answer, sentence by sentence; empty when the quotes themselves are the answer.
        short_answer: The answer in a few words, where the reader can tell; else empty.
        alternatives: What else the evidence says, where it does not agree.
        confidence: Probability that the evidence holds the answer, in [0, 1].
    """

    evidence: tuple[Evidence, ...] = ()
    claims: tuple[Claim, ...] = ()
    short_answer: str = ""
    alternatives: tuple[Alternative, ...] = ()
    confidence: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the user gets; `dataclasses.asdict` gives the shape of `ask --json`.

    Attributes:
        status: `failed` only when something broke; not to know is `abstained`.
        answer: Text with the markers of its citations, `[1]`; empty unless answered.
        short_answer: A few words, where they can be told.
        confidence: Probability of being right, in [0, 1]; `None` where nobody can say.
        phase: The step of the strategy that answered.
        stop_reason: Why it stopped: `answered`, the reason of the abstention, or what broke.
        trace_id: Under which the run can be replayed; `None` when it was not recorded.
    """

    question: str
    status: AnswerStatus
    answer: str = ""
    short_answer: str = ""
    confidence: float | None = None
    citations: tuple[Citation, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    strategy: str
    phase: str
    stop_reason: str
    usage: Usage
    budget: Budget
    trace_id: str | None = None
