"""What every parser gives: a text with its structure, or a refusal with its reason."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from fathom.types import Block, BlockKind, Scalar, Span

ParseOutcome = Literal[
    "ok", "empty", "no_text_layer", "encrypted", "unsupported", "no_document", "failed"
]
"""`unsupported` is a document that cannot be read; `no_document` a picture, a program and so on."""


TABLE: frozenset[BlockKind] = frozenset({"table_row", "table_head"})
"""What a table is made of."""
CELLS = " | "
"""What stands between the cells of a row."""
NEEDS_OCR = "pip install 'fathom-qa[ocr]' to have it read"
"""How a reason ends that says of a page or a picture that nothing here can read it."""


class Refused(Exception):
    """A parser's word that a file gives no text, and why.

    Attributes:
        outcome: Any but `ok`.
        reason: One line that names what was found and, where there is one, the next step.
    """

    def __init__(self, outcome: ParseOutcome, reason: str) -> None:
        super().__init__(outcome, reason)  # both in args, so that it can cross a process border
        self.outcome = outcome
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """A file's or a record's text, before it has an id, a language or a path.

    Attributes:
        text: The whole text; the spans of `blocks` point into it.
        title: The document's own title; empty when it has none.
        metadata: Typed values such as author or date.
        record: The id of a corpus record, see `record_ids.name_record`; `None` for a file.
        lines: See `Document`.
        unread: One line about pages that could not be read; empty where all were.
    """

    text: str
    title: str = ""
    blocks: tuple[Block, ...] = ()
    metadata: Mapping[str, Scalar] = field(default_factory=dict)
    record: str | None = None
    lines: tuple[tuple[int, int], ...] = ()
    unread: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why one line of a corpus gave no document.

    Attributes:
        line: Line number in the (unpacked) file, from 1.
        outcome: Any but `ok`.
        reason: One line that names what was found.
        record: The record's id where its `_id` could be read, see `Parsed`.
    """

    line: int
    outcome: ParseOutcome
    reason: str
    record: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseLimits:
    """Caps for one file; for a corpus, time and CPU hold for each batch of records.

    Attributes:
        memory_bytes: Address space of the reading process.
        cpu_s: Seconds of processor time.
        wall_s: Seconds by the clock.
        file_bytes: Size of a file that is read as a whole.
        text_chars: Characters of text one document may give.
        corpus_bytes: Unpacked size of a corpus that is read record by record.
        ocr_pages: Pages of one file that are read off their pictures; 0 for none.
        ocr_memory_bytes: Address space of the process that does so.
        ocr_cpu_s: Its seconds of processor time, for each page.
        ocr_wall_s: Its seconds by the clock, for each page.
    """

    memory_bytes: int = 1 << 30
    cpu_s: int = 20
    wall_s: float = 30
    file_bytes: int = 200_000_000
    text_chars: int = 20_000_000
    corpus_bytes: int = 20_000_000_000
    ocr_pages: int = 1000
    ocr_memory_bytes: int = 3 << 30
    ocr_cpu_s: int = 60
    ocr_wall_s: float = 300


class Parser(Protocol):
    """Turns the bytes of one format into text with structure; runs inside the sandbox only.

    Every one passes `testing.FormatConformance`.
    """

    def __call__(self, data: bytes) -> Parsed:
        """Parse `data`.

        Raises:
            Refused: With the typed outcome when no text can be given.
        """
        ...


class Builder:
    """Collects the pieces of a document in reading order and keeps their spans.

    Pieces are joined by a blank line, table rows, list items and code lines that follow each
    other by a line break. Empty pieces are dropped. NUL and other control characters are
    removed, line ends become line feeds; nothing else of the text is changed.
    """

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._blocks: list[Block] = []
        self._length = 0
        self._headings: list[tuple[int, str]] = []
        self._page: int | None = None
        self._recognised: float | None = None

    def recognised(self, sureness: float | None) -> None:
        """What follows was read off a picture, so surely; `None` for text of the file itself."""
        self._recognised = None if sureness is None else round(min(max(sureness, 0.0), 1.0), 3)

    def page(self, number: int) -> None:
        """What follows stands on page (slide, sheet) `number`, from 1."""
        self._page = number

    def heading(self, text: str, level: int) -> None:
        """A section title; `level` 1 is the outermost."""
        title = " ".join(clean(text).split())
        if not title:
            return
        while self._headings and self._headings[-1][0] >= level:
            self._headings.pop()
        self._headings.append((level, title))
        self._add("heading", title)

    def paragraph(self, text: str) -> None:
        """A paragraph of prose."""
        self._add("paragraph", text)

    def item(self, text: str, label: str = "") -> None:
        """A list item or step with its printed label, such as `3.` or `-`."""
        self._add("list_item", f"{label} {text.strip()}" if label and text.strip() else text)

    def row(self, cells: list[str], *, head: bool = False) -> None:
        """A table row; cells are joined by ` | `, a row without any text is dropped.

        Args:
            cells: Their texts.
            head: Whether the file says that the row names the columns. Where it says so of none,
                the first row is taken for one if that is plain; see `names_columns`.
        """
        flat = [" ".join(clean(cell).split()) for cell in cells]
        if any(flat):
            self._add("table_head" if head else "table_row", CELLS.join(flat))

    def code(self, text: str) -> None:
        """Preformatted text; inner line breaks and indentation stay."""
        self._add("code", text.rstrip())

    def footnote(self, text: str, label: str = "") -> None:
        """A foot- or endnote with its mark."""
        self._add("footnote", f"[{label}] {text.strip()}" if label and text.strip() else text)

    def build(
        self,
        title: str = "",
        metadata: Mapping[str, Scalar] | None = None,
        *,
        opening: bool = True,
    ) -> Parsed:
        """The document.

        Args:
            title: What it calls itself; what only a program called it is left out.
            metadata: See `Parsed`.
            opening: Take the heading that opens it for its title, where it has none.

        Raises:
            Refused: `empty` when nothing but white space was added.
        """
        if not self._blocks:
            raise Refused("empty", "holds no text")
        self._end_table()
        text = "".join(self._parts)
        own = " ".join(clean(title).split())
        return Parsed(
            text=text,
            title=own if is_title(own) else self._opening(text) if opening else "",
            blocks=tuple(self._blocks),
            metadata=dict(metadata or {}),
        )

    def _opening(self, text: str) -> str:
        """The heading that opens the document, or the only one of the highest level."""
        headings = [block for block in self._blocks if block.kind == "heading"]
        highest = [block for block in headings if len(block.headings) == 1]
        if not headings or (headings[0] != self._blocks[0] and highest != headings[:1]):
            return ""
        found = headings[0].span.cut(text)
        return "" if _NUMBERED.match(found) else found

    def _add(self, kind: BlockKind, raw: str) -> None:
        text = clean(raw).strip("\n") if kind == "code" else clean(raw).strip()
        if not text.strip():
            return
        if kind not in TABLE:
            self._end_table()
        if self._blocks:
            tight = any({kind, self._blocks[-1].kind} <= each for each in (TABLE, {"list_item"}))
            gap = "\n" if tight else "\n\n"
            self._parts.append(gap)
            self._length += len(gap)
        span = Span(self._length, self._length + len(text))
        self._parts.append(text)
        self._length = span.end
        path = tuple(title for _, title in self._headings)
        self._blocks.append(
            Block(kind=kind, span=span, headings=path, page=self._page, recognised=self._recognised)
        )

    def _end_table(self) -> None:
        """The rows at the end are a table; its first one becomes its head if it is plainly one."""
        first = len(self._blocks)
        while first and self._blocks[first - 1].kind == "table_row":
            first -= 1
        if first < len(self._blocks) - 1 and not (first and self._blocks[first - 1].kind in TABLE):
            whole = "".join(self._parts[2 * first :])
            if names_columns(*(line.split(CELLS) for line in whole.strip().split("\n"))):
                self._blocks[first] = replace(self._blocks[first], kind="table_head")


_FIGURE = re.compile(r"\d")
_LONGEST_NAME = 60


def names_columns(first: Sequence[str], *rows: Sequence[str]) -> bool:
    """Whether the cells of a table's first row plainly name the columns of the other rows.

    They do if all are filled, short and without digits, and one column or more holds digits in
    most of the rows that have as many cells. A table of words alone may as well begin with its
    first entry.
    """
    if len(first) < 2 or not all(first) or any(len(name) > _LONGEST_NAME for name in first):
        return False
    full = [row for row in rows if len(row) == len(first)]
    if _FIGURE.search(CELLS.join(first)) or 2 * len(full) < len(rows):
        return False
    columns = zip(*full, strict=True)
    return any(2 * sum(bool(_FIGURE.search(cell)) for cell in c) > len(full) for c in columns)


# Titles that programs give to what has none.
_MADE_UP = re.compile(
    r"(?i)(?:microsoft (?:word|powerpoint|excel)\b.*|powerpoint presentation|untitled.*"
    r"|.*\.(?:docx?|pdf|indd|tex|pptx?|xlsx?|qxd|rtf|odt|exe)|document ?\d*|slide \d+"
    r"|\(?anonymous\)?|\W*)"
)
# A section of a document is not what the document is called.
_NUMBERED = re.compile(
    r"\d+(?:\.\d+)*[.)]?\s|[IVX]+\.\s|(?i:chapter|part|section|article|item|bab|pasal|bagian)\s+[\dIVX]"
)
_CONTROLS = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127, 0xFEFF, 0xFFFE))


def is_title(text: str) -> bool:
    """Whether a document is called so by people, and not by a program."""
    return not _MADE_UP.fullmatch(text.strip())


def clean(text: str) -> str:
    """`text` with line feeds as line ends and no control characters, else unchanged."""
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_CONTROLS)


def add_parsed(builder: Builder, inner: Parsed, below: int = 0) -> None:
    """Add all blocks of `inner`.

    Args:
        builder: Where to.
        inner: What to add; its pages are dropped, they count in another document.
        below: Level of the heading it stands under; 0 for none.
    """
    for block in inner.blocks:
        text = block.span.cut(inner.text)
        builder.recognised(block.recognised)
        if block.kind == "heading":
            builder.heading(text, below + max(1, len(block.headings)))
        elif block.kind == "list_item":
            builder.item(text)
        elif block.kind in TABLE:
            builder.row([text], head=block.kind == "table_head")
        elif block.kind == "code":
            builder.code(text)
        elif block.kind == "footnote":
            builder.footnote(text)
        else:
            builder.paragraph(text)
    builder.recognised(None)
