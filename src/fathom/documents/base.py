"""The results of a parser (a text with its structure, or a refusal), and their builder."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from fathom.types import Block, BlockKind, Scalar, Span

ParseOutcome = Literal[
    "ok", "empty", "no_text_layer", "encrypted", "unsupported", "no_document", "failed"
]
"""The outcomes of parsing.

`unsupported` is a document that cannot be read; `no_document` is a picture, a program and so on.
"""


TABLE_KINDS: frozenset[BlockKind] = frozenset({"table_row", "table_head"})
"""The kinds of blocks that make up a table."""
MOST_TITLE = 300
"""The largest number of characters of a title or heading in a chunk; the text has all of it."""
MOST_LEVELS = 16
"""The largest number of headings above a text that a chunk carries."""
CELL_SEPARATOR = " | "
"""The separator between the cells of a row; no cell contains it."""
NEEDS_OCR = "pip install 'fathom-qa[ocr]' to have it read"
"""The end of every reason that says that a page or picture needs text recognition."""


class ParseRefusal(Exception):
    """A parser's refusal of a file that gives no text.

    Attributes:
        outcome: The kind of refusal; any outcome but `ok`.
        reason: One line that names the cause and, where there is one, the next step.
    """

    def __init__(self, outcome: ParseOutcome, reason: str) -> None:
        super().__init__(outcome, reason)  # pickling needs both in args
        self.outcome = outcome
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedDocument:
    """The text of a file or a record, before it has an id, a language or a path.

    Attributes:
        text: The whole text; the spans of `blocks` point into it.
        title: The document's own title; empty when it has none.
        metadata: Typed values such as author or date.
        blocks: The blocks of the text, in order.
        record: The id of a corpus record as `record_ids.name_record` makes it; `None` for a file.
        lines: Pairs of offset and line number, as in `Document`.
        unread: One line about pages that could not be read and hidden or struck-through text that
            was left out; empty if there are none.
    """

    text: str
    title: str = ""
    blocks: tuple[Block, ...] = ()
    metadata: Mapping[str, Scalar] = field(default_factory=dict)
    record: str | None = None
    lines: tuple[tuple[int, int], ...] = ()
    unread: str = ""

    def note_unread(self, note: str) -> "ParsedDocument":
        """Return the document with a note added to `unread`; an empty note adds nothing."""
        return replace(self, unread="; ".join(filter(None, (self.unread, note))))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFailure:
    """The reason why one line of a corpus gave no document.

    Attributes:
        line: The number of the line in the unpacked file, from 1.
        outcome: The kind of failure; any outcome but `ok`.
        reason: One line that names the cause.
        record: The record's id, as in `ParsedDocument`; `None` if its `_id` could not be read.
    """

    line: int
    outcome: ParseOutcome
    reason: str
    record: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseLimits:
    """The limits for reading one file; for a corpus, the times hold for each batch of records.

    Attributes:
        memory_bytes: The largest address space of the reading process, in bytes.
        cpu_s: The longest processor time, in seconds.
        wall_s: The longest time by the clock, in seconds.
        file_bytes: The largest size of a file that is read as a whole, in bytes.
        text_chars: The largest number of characters in the text of a document.
        corpus_bytes: The largest unpacked size of a corpus, which is read record by record.
        ocr_pages: The largest number of pages of a file whose text is recognised; 0 for none.
        ocr_memory_bytes: The largest address space of the process that recognises text, in bytes.
        ocr_cpu_s: The longest processor time of that process for a page, in seconds.
        ocr_wall_s: The longest time of that process for a page by the clock, in seconds.
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


def cut_title(title: str) -> str:
    """Cut a title or heading to the part that every chunk below it carries (`MOST_TITLE`).

    Without the cut, one long heading above many short sections would fill an index by itself.
    """
    return title[:MOST_TITLE].rstrip()


class Parser(Protocol):
    """A function that turns the bytes of a file of one format into text with structure.

    It runs only inside the sandbox. Every implementation passes `testing.FormatConformance`.
    """

    def __call__(self, data: bytes) -> ParsedDocument:
        """Parse the bytes of a whole file.

        Raises:
            ParseRefusal: If the file gives no text.
        """
        ...


def _describe_hidden(count: int) -> str:
    """Describe the number of hidden or struck-through texts that were left out; empty for 0."""
    places = "1 place" if count == 1 else f"{count} places"
    return f"hidden or struck-through text left out in {places}" if count else ""


class Builder:
    """A collector of a document's pieces in reading order, with their spans.

    A blank line joins pieces; a line break joins adjacent table rows and adjacent list items.
    Empty pieces are dropped. NUL and other control characters are removed and line ends become line
    feeds; the rest of the text is unchanged.
    """

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._blocks: list[Block] = []
        self._length = 0
        self._headings: list[tuple[int, str]] = []
        self._page: int | None = None
        self._recognised: float | None = None
        self._hidden = 0

    def set_sureness(self, sureness: float | None) -> None:
        """Set the sureness with which the following pieces were recognised on a picture.

        Args:
            sureness: The sureness in [0, 1]; `None` for text that the file itself contains.
        """
        self._recognised = None if sureness is None else round(min(max(sureness, 0.0), 1.0), 3)

    def set_page(self, number: int) -> None:
        """Set the page (slide, sheet) of the following pieces.

        Args:
            number: The number of the page, from 1.
        """
        self._page = number

    def add_heading(self, text: str, level: int) -> None:
        """Add the title of a section, which also closes the sections of its level and below.

        Args:
            text: The title.
            level: The level, 1 for the outermost.
        """
        title = " ".join(clean_text(text).split())
        if not title:
            return
        while self._headings and self._headings[-1][0] >= level:
            self._headings.pop()
        self._headings.append((level, cut_title(title)))
        self._add_block("heading", title)

    def add_paragraph(self, text: str) -> None:
        """Add a paragraph of prose."""
        self._add_block("paragraph", text)

    def add_item(self, text: str, label: str = "") -> None:
        """Add a list item or step.

        Args:
            text: The item.
            label: Its printed label, such as `3.` or `-`.
        """
        self._add_block("list_item", f"{label} {text.strip()}" if label and text.strip() else text)

    def add_labelled(self, text: str, label: str = "", level: int = 0) -> None:
        """Add a heading if there is a level, a list item if there is a label, else a paragraph.

        Args:
            text: The text.
            label: Its printed label, which becomes a part of a heading; empty for none.
            level: The level, as for `add_heading`; 0 for a text that is no heading.
        """
        if level:
            self.add_heading(f"{label} {text}".strip(), level)
        elif label:
            self.add_item(text, label)
        else:
            self.add_paragraph(text)

    def add_row(self, cells: list[str], *, head: bool = False) -> None:
        r"""Add a table row; cells are joined by ` | `, and a row without any text is dropped.

        A bar inside a cell that would look like the separator of two cells becomes `\|`.

        Args:
            cells: The texts of the cells.
            head: Whether the file says that the row names the columns. If the file marks no such
                row, the first row becomes the head if `names_columns` accepts it.
        """
        flat = [" ".join(clean_text(cell).split()) for cell in cells]
        if any(flat):
            escaped = (_LONE_BAR.sub(r"\\|", cell) if "|" in cell else cell for cell in flat)
            self.add_joined_row(CELL_SEPARATOR.join(escaped), head=head)

    def add_joined_row(self, row: str, *, head: bool = False) -> None:
        """Add a table row whose cells are joined already, such as a row of another document."""
        self._add_block("table_head" if head else "table_row", row)

    def add_code(self, text: str) -> None:
        """Add preformatted text; its line breaks and indentation stay."""
        self._add_block("code", text.rstrip())

    def add_footnote(self, text: str, label: str = "") -> None:
        """Add a foot- or endnote with its mark."""
        self._add_block("footnote", f"[{label}] {text.strip()}" if label and text.strip() else text)

    def skip_hidden(self, count: int) -> None:
        """Count texts that are left out because they are struck through or no reader sees them."""
        self._hidden += count

    def build(
        self,
        title: str = "",
        metadata: Mapping[str, Scalar] | None = None,
        *,
        opening: bool = True,
    ) -> ParsedDocument:
        """Build the document.

        Args:
            title: The document's own title; a title that a program made up is dropped.
            metadata: Typed values, as in `ParsedDocument`.
            opening: Whether a document without a title takes the heading that opens it.

        Raises:
            ParseRefusal: `empty` if nothing but white space was added.
        """
        if not self._blocks:
            raise ParseRefusal("empty", "holds no text")
        self._end_table()
        text = "".join(self._parts)
        stated = " ".join(clean_text(title).split())
        return ParsedDocument(
            text=text,
            title=cut_title(
                stated if is_title(stated) else self._find_opening_heading(text) if opening else ""
            ),
            blocks=tuple(self._blocks),
            metadata=dict(metadata or {}),
            unread=_describe_hidden(self._hidden),
        )

    def _find_opening_heading(self, text: str) -> str:
        """Return the title that the headings give, or `""`.

        It is the first block if that is a heading, or the first heading if it is the only one of
        the highest level; numbered headings are no titles.
        """
        headings = [block for block in self._blocks if block.kind == "heading"]
        highest = [block for block in headings if len(block.headings) == 1]
        if not headings or (headings[0] != self._blocks[0] and highest != headings[:1]):
            return ""
        heading = headings[0].span.cut(text)
        return "" if _NUMBERED.match(heading) else heading

    def _add_block(self, kind: BlockKind, raw: str) -> None:
        """Add a block with its gap to the block before; nothing for mere white space."""
        text = clean_text(raw).strip("\n") if kind == "code" else clean_text(raw).strip()
        if not text.strip():
            return
        if kind not in TABLE_KINDS:
            self._end_table()
        if self._blocks:
            last = self._blocks[-1].kind
            is_tight = last in TABLE_KINDS if kind in TABLE_KINDS else kind == last == "list_item"
            gap = "\n" if is_tight else "\n\n"
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
        """Close the table at the end: its first row becomes the head if it names the columns."""
        first = len(self._blocks)
        # Only a table without a head that the file itself marks is looked at.
        while first and self._blocks[first - 1].kind == "table_row":
            first -= 1
        if first < len(self._blocks) - 1 and not (
            first and self._blocks[first - 1].kind in TABLE_KINDS
        ):
            # Every block but the first has a gap before it, so each takes two parts.
            whole = "".join(self._parts[2 * first :])
            if names_columns(*(line.split(CELL_SEPARATOR) for line in whole.strip().split("\n"))):
                self._blocks[first] = replace(self._blocks[first], kind="table_head")


_LONE_BAR = re.compile(r"(?<!\S)\|(?!\S)")
_FIGURE = re.compile(r"\d")
_LONGEST_NAME = 60
_LABEL = re.compile(rf"[^\s:][^:\n]{{0,{_LONGEST_NAME - 1}}}:\s")


def names_columns(first: Sequence[str], *rows: Sequence[str]) -> bool:
    """Return whether the cells of a table's first row surely name the columns of the other rows.

    They do if all are filled, short and without digits, and if at least one column has digits in
    most of the rows that have as many cells. A table of words alone is not sure: it may begin with
    its first entry.
    """
    if len(first) < 2 or not all(first) or any(len(name) > _LONGEST_NAME for name in first):
        return False
    if has_labels(first):
        return False
    full = [row for row in rows if len(row) == len(first)]
    if _FIGURE.search(CELL_SEPARATOR.join(first)) or 2 * len(full) < len(rows):
        return False
    columns = zip(*full, strict=True)
    return any(2 * sum(bool(_FIGURE.search(cell)) for cell in c) > len(full) for c in columns)


def has_labels(cells: Sequence[str]) -> bool:
    """Return whether each cell begins with its own name, as in a record: "name: value"."""
    return all(_LABEL.match(cell) for cell in cells)


# Titles that programs give to documents without one.
_MADE_UP = re.compile(
    r"(?i)(?:microsoft (?:word|powerpoint|excel)\b.*|powerpoint presentation|untitled.*"
    r"|.*\.(?:docx?|pdf|indd|tex|pptx?|xlsx?|qxd|rtf|odt|exe)|document ?\d*|slide \d+"
    r"|\(?anonymous\)?|\W*)"
)
# The title of a numbered section is not the title of the whole document.
_NUMBERED = re.compile(
    r"\d+(?:\.\d+)*[.)]?\s|[IVX]+\.\s|(?i:chapter|part|section|article|item|bab|pasal|bagian)\s+[\dIVX]"
)
_CONTROLS = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127, 0xFEFF, 0xFFFE))


def is_title(text: str) -> bool:
    """Return whether a title looks as if a person, and not a program, had given it."""
    return not _MADE_UP.fullmatch(text.strip())


def clean_text(text: str) -> str:
    """Return `text` with line feeds as line ends and without control characters."""
    if text.isprintable():  # most cells of a long table are
        return text
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_CONTROLS)


def add_blocks(builder: Builder, inner: ParsedDocument, below: int = 0) -> None:
    """Add all blocks of one document to the builder of another.

    Args:
        builder: The builder that receives the blocks.
        inner: The document to add. Its page numbers are dropped, because they are those of another
            document.
        below: The level of the heading above the document; 0 for none.
    """
    for block in inner.blocks:
        text = block.span.cut(inner.text)
        builder.set_sureness(block.recognised)
        if block.kind == "heading":
            builder.add_heading(text, below + max(1, len(block.headings)))
        elif block.kind == "list_item":
            builder.add_item(text)
        elif block.kind in TABLE_KINDS:
            builder.add_joined_row(text, head=block.kind == "table_head")
        elif block.kind == "code":
            builder.add_code(text)
        elif block.kind == "footnote":
            builder.add_footnote(text)
        else:
            builder.add_paragraph(text)
    builder.set_sureness(None)
