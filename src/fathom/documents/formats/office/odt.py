"""OpenDocument files: texts, sheets and presentations, read by the same walk."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO
from posixpath import normpath
from typing import TYPE_CHECKING
from zipfile import ZipFile

from fathom.documents.base import Builder, ParsedDocument, ParseRefusal
from fathom.documents.formats.cell_grid import CellGrid
from fathom.documents.formats.csv import label_cells
from fathom.documents.formats.formula import format_math
from fathom.documents.formats.list_numbers import format_number
from fathom.documents.formats.office.cells import (
    MOST_CELLS,
    SheetCell,
    add_rows,
    format_value,
    spread_merges,
)
from fathom.documents.formats.office.hidden_styles import empty_hidden_text
from fathom.documents.formats.office.numbering import BULLET
from fathom.documents.formats.office.pictures import Pictures
from fathom.documents.formats.office.shifted_text import mark_scripts
from fathom.documents.xml_members import (
    Element,
    find_child,
    get_attribute,
    get_local_name,
    get_text,
    iter_children,
    iter_descendants,
    parse_number,
    read_facts,
    read_xml,
    read_xml_member,
)
from fathom.documents.zipguard import open_zip

if TYPE_CHECKING:
    from fathom.documents.formats.pdf.lines import Recogniser

_STYLES = {"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _ListLevel:
    """The printing of one list level; `style` is empty for a bullet, and `none` for no number."""

    style: str = ""
    prefix: str = ""
    suffix: str = ""
    start: int = 1
    display_levels: int = 1


@dataclass(slots=True)
class ListCounter:
    """A list while it is read.

    Attributes:
        style: The name of its style.
        depth: The depth of its nesting, from 1.
        levels: The levels of its style, by depth.
        values: The last numbers of all levels down to this one.
    """

    style: str
    depth: int
    levels: dict[int, _ListLevel]
    values: list[int] = field(default_factory=list)

    def next_label(self, item: Element) -> str:
        """Count an item and return its printed label; empty for an item without number."""
        if not _has_number(item):
            return ""
        start = get_attribute(item, "start-value")
        self.values[-1] = self.values[-1] + 1 if start is None else parse_number(start, 1)
        level = self.levels.get(self.depth, _ListLevel())
        if not level.style:
            return BULLET
        return _format_label(self.values, self.levels)


class ListStyles:
    """The list styles of a document and the last number of each list."""

    def __init__(self, roots: Sequence[Element]) -> None:
        self._styles: dict[str, dict[int, _ListLevel]] = {}
        self._last: dict[tuple[str, int], int] = {}
        self._ends: dict[str, int] = {}
        self._open: list[ListCounter] = []
        for root in roots:
            for style in iter_descendants(root, "list-style"):
                levels = {
                    parse_number(get_attribute(lvl, "level"), 1): _read_level(lvl) for lvl in style
                }
                self._styles.setdefault(get_attribute(style, "name") or "", levels)

    def open_list(self, element: Element, inherited: str, depth: int) -> ListCounter:
        """Open a list and return its counter.

        Args:
            element: The `text:list`.
            inherited: The name of the style of the list around it; empty for none.
            depth: The depth of its nesting, from 1.
        """
        style = get_attribute(element, "style-name") or inherited
        levels = self._styles.get(style, {})
        del self._open[depth - 1 :]
        above = self._open[-1].values if self._open else []
        start = levels.get(depth, _ListLevel()).start - 1
        if get_attribute(element, "continue-numbering") == "true":
            start = self._last.get((style, depth), start)
        start = self._ends.get(get_attribute(element, "continue-list") or "", start)
        counter = ListCounter(style, depth, levels, [*above, start])
        self._open.append(counter)
        count = sum(_has_number(item) for item in iter_children(element, "list-item"))
        self._last[(style, depth)] = start + count
        if name := get_attribute(element, "id"):
            self._ends[name] = start + count
        return counter


def _format_label(values: Sequence[int], levels: Mapping[int, _ListLevel]) -> str:
    """Return the label of the numbers of all levels down to the one that is printed."""
    level = levels.get(len(values), _ListLevel())
    first = max(0, len(values) - level.display_levels)
    styles = [levels.get(at, _ListLevel()).style for at in range(1, len(values) + 1)]
    numbers = [
        format_number(value, style)
        for value, style in zip(values[first:], styles[first:], strict=True)
        if style != "none"
    ]
    return f"{level.prefix}{'.'.join(numbers)}{level.suffix}".strip()


class OutlineNumbers:
    """The numbers of the headings of a document; request labels in document order."""

    def __init__(self, roots: Sequence[Element]) -> None:
        self._levels: dict[int, _ListLevel] = {}
        self._values: list[int] = []
        for root in roots:
            for style in iter_descendants(root, "outline-level-style"):
                number = parse_number(get_attribute(style, "level"), 1)
                self._levels.setdefault(number, _read_level(style))

    def next_label(self, heading: Element, level: int) -> str:
        """Count a heading and return its printed label; empty if none is printed.

        Args:
            heading: The `text:h`.
            level: From 1.
        """
        style = self._levels.get(level)
        if style is None or get_attribute(heading, "is-list-header") == "true":
            return ""
        for above in range(len(self._values) + 1, level):  # levels that were skipped
            self._values.append(self._levels.get(above, style).start)
        count = self._values[level - 1] + 1 if len(self._values) >= level else style.start
        if get_attribute(heading, "restart-numbering") == "true":
            count = parse_number(get_attribute(heading, "start-value"), 1)
        self._values[level - 1 :] = [count]
        return _format_label(self._values, self._levels) if style.style != "none" else ""


def _has_number(item: Element) -> bool:
    """Return whether an item has a number; an item of a deeper list alone has none."""
    return get_local_name(item) == "list-item" and any(True for _ in iter_children(item, "p", "h"))


def _read_level(element: Element) -> _ListLevel:
    if get_local_name(element) not in {"list-level-style-number", "outline-level-style"}:
        return _ListLevel()
    kind = get_attribute(element, "num-format") or ""
    return _ListLevel(
        style=_STYLES.get(kind, "decimal") if kind else "none",
        prefix=get_attribute(element, "num-prefix") or "",
        suffix=get_attribute(element, "num-suffix") or "",
        start=parse_number(get_attribute(element, "start-value"), 1),
        display_levels=parse_number(get_attribute(element, "display-levels"), 1),
    )


_STATED = {"string": "string-value", "boolean": "boolean-value", "time": "time-value"}
"""The attributes that state the values of cells; those of numbers are `value`."""
_NUMBERS = {"float", "percentage", "currency"}
_GROUPS = {"table-header-rows", "table-rows", "table-row-group"}
_MOST_REPEATS = 1_000


def read_sheet(table: Element, read_text: Callable[[Element], str]) -> list[list[SheetCell]]:
    """Read a table as `read_rows`, with short texts of merged cells in each of their rows."""
    rows = read_rows(table, read_text)
    merges = [
        (left, top, left + cell.columns - 1, top + cell.rows - 1)
        for top, row in enumerate(rows, start=1)
        for left, cell in enumerate(row, start=1)
        if cell.columns > 1 or cell.rows > 1
    ]
    spread_merges(rows, merges, SheetCell())
    return rows


def read_rows(table: Element, read_text: Callable[[Element], str]) -> list[list[SheetCell]]:
    """Return the rows of a table.

    Args:
        table: The `table:table`.
        read_text: The function that returns the text of a cell.

    Raises:
        ParseRefusal: `failed` if repeated cells and rows make more than a million cells.
    """
    rows: list[list[SheetCell]] = []
    cells = 0
    for row in _iter_rows(table):
        row_cells = _read_cells(row, read_text)
        # An empty row may be repeated a million times down to the sheet's end.
        times = _count_repeats(row, "number-rows-repeated") if row_cells else 1
        cells += len(row_cells) * times
        if cells > MOST_CELLS:
            raise ParseRefusal("failed", f"table unfolds to more than {MOST_CELLS} cells")
        rows.extend(list(row_cells) for _ in range(times))
    return rows


def _iter_rows(parent: Element) -> Iterator[Element]:
    """Yield the rows of a table, also those inside groups."""
    for element in parent:
        if get_local_name(element) == "table-row":
            yield element
        elif get_local_name(element) in _GROUPS:
            yield from _iter_rows(element)


def _read_cells(row: Element, text: Callable[[Element], str]) -> list[SheetCell]:
    """Return the cells up to the last that is not empty; cells covered by a merge are empty."""
    cells: list[SheetCell] = []
    for element in iter_children(row, "table-cell", "covered-table-cell"):
        is_covered = get_local_name(element) == "covered-table-cell"
        kind = get_attribute(element, "value-type")
        cell = SheetCell(
            "" if is_covered else _read_value(element, kind, text),
            is_text=kind in {None, "string"},
            columns=_count_repeats(element, "number-columns-spanned"),
            rows=_count_repeats(element, "number-rows-spanned"),
        )
        cells.extend([cell] * _count_repeats(element, "number-columns-repeated"))
    while cells and not cells[-1].text:
        cells.pop()
    return cells


def _read_value(cell: Element, kind: str | None, read_text: Callable[[Element], str]) -> str:
    """Return the text of a cell: a date as ISO 8601, and another value as it is printed.

    A cell without printed text, as some programs write them, has the text of its stated value.
    """
    date = get_attribute(cell, "date-value") if kind == "date" else None
    if date:
        return date.replace("T", " ").removesuffix(" 00:00:00")
    printed = read_text(cell).strip()
    if printed or kind is None:
        return printed
    stated = get_attribute(cell, _STATED.get(kind, "value")) or ""
    if kind not in _NUMBERS:
        return stated.upper() if kind == "boolean" else stated
    with suppress(ValueError):
        number = float(stated)
        if kind == "percentage":
            return f"{format_value(number * 100.0)}%"
        return f"{format_value(number)} {get_attribute(cell, 'currency') or ''}".rstrip()
    return stated


def _count_repeats(element: Element, name: str) -> int:
    """Return the number of times that a cell or row is repeated, in [1, `_MOST_REPEATS`]."""
    return max(1, min(parse_number(get_attribute(element, name), 1), _MOST_REPEATS))


_SIGNS = {"tab": "\t", "line-break": "\n"}
_SKIPPED = {"annotation", "annotation-end", "title", "desc", "ruby-text", "script"}
_ASIDES = frozenset({
    "text-box", "image", "custom-shape", "rect", "ellipse", "circle", "line", "polyline", "polygon",
    "regular-polygon", "path", "connector", "caption", "g", "object",
})  # fmt: skip
"""The elements that are anchored in a paragraph, outside of its text; shapes may have text."""
_MOST_SPACES = 1_000


@dataclass(slots=True)
class OdtInline:
    """The contents of a paragraph.

    Attributes:
        text: Its text.
        asides: The text boxes, pictures and shapes that are anchored in it.
        notes: The marks and bodies of its notes.
    """

    text: str = ""
    asides: list[Element] = field(default_factory=list)
    notes: list[tuple[str, Element]] = field(default_factory=list)


FindNote = Callable[[Element], tuple[str, Element] | None]
"""A function that returns the mark and the body of a note, or `None`."""


def read_inline(paragraph: Element, find_note: FindNote) -> OdtInline:
    """Read a paragraph.

    Args:
        paragraph: A `text:p` or `text:h`.
        find_note: The function that reads a note.
    """
    inline = OdtInline()
    inline.text = "".join(_iter_pieces(paragraph, inline, find_note)).strip()
    return inline


def read_paragraph_styles(roots: Sequence[Element]) -> Mapping[str, tuple[str, ...]]:
    """Return, for each paragraph style, its own name and the names of the styles it is based on."""
    parents: dict[str, str] = {}
    for root in roots:
        for style in iter_descendants(root, "style"):
            if get_attribute(style, "family") == "paragraph":
                name = get_attribute(style, "name") or ""
                parents.setdefault(name, get_attribute(style, "parent-style-name") or "")
    return {name: _follow_parents(name, parents) for name in parents}


def _follow_parents(name: str, parents: Mapping[str, str]) -> tuple[str, ...]:
    """Return a style and the styles it is based on, itself first."""
    chain: list[str] = []
    while name and name not in chain:
        chain.append(name)
        name = parents.get(name, "")
    return tuple(chain)


def _iter_pieces(element: Element, into: OdtInline, mark: FindNote) -> Iterator[str]:
    """Yield the pieces of text in an element; collect asides and notes in `into`."""
    yield _collapse_space(element.text)
    for below in element:
        name = get_local_name(below)
        if name in _SIGNS:
            yield _SIGNS[name]
        elif name == "s":
            yield " " * min(parse_number(get_attribute(below, "c"), 1), _MOST_SPACES)
        elif name == "note":
            found_note = mark(below)
            if found_note is not None:
                into.notes.append(found_note)
                yield f"[{found_note[0]}]"
        elif name in _ASIDES:
            into.asides.append(below)
        elif name not in _SKIPPED:
            yield from _iter_pieces(below, into, mark)
        yield _collapse_space(below.tail)


def _collapse_space(text: str | None) -> str:
    """Collapse each run of white space to one space, as the format defines it."""
    if not text:
        return ""
    words = " ".join(text.split()).replace("\u00ad", "")  # a soft hyphen parts no word
    before = " " if text[0].isspace() else ""
    after = " " if text[-1].isspace() and words else ""
    return before + words + after


_TEXT = {"p", "h"}
_FURNITURE = {"page-number", "header", "footer", "date-time", "page"}
_IGNORED = {"tracked-changes", "sequence-decls", "forms", "annotation", "title", "desc"}
_META = {"initial-creator": "author", "creation-date": "created", "date": "modified"}


def parse(data: bytes, recogniser: "Recogniser | None" = None) -> ParsedDocument:
    """Parse an ODT, ODS or ODP file; the recogniser, if given, reads its pictures.

    Raises:
        ParseRefusal: `no_text_layer` for a file of pictures only, `empty` without text, `failed`
            for a damaged file, `encrypted` for a protected one.
    """
    archive = open_zip(data)
    manifest = read_xml_member(archive, "META-INF/manifest.xml")
    if (
        manifest is not None
        and next(iter_descendants(manifest, "encryption-data"), None) is not None
    ):
        raise ParseRefusal("encrypted", "protected by a password; save it without one")
    content = read_xml_member(archive, "content.xml")
    if content is None or find_child(content, "body") is None:
        raise ParseRefusal("failed", "no content.xml with a body; save the file anew")
    parts = [content, read_xml_member(archive, "styles.xml")]
    meta = read_xml_member(archive, "meta.xml")
    pictures = Pictures(archive, "Pictures/", recogniser)
    return _read_document(parts, meta, pictures, lambda name: read_xml_member(archive, name))


def is_flat(root: Element) -> bool:
    """Return whether the root of an XML file is that of a flat OpenDocument file."""
    is_office = str(root.tag) == "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}document"
    return is_office and find_child(root, "body") is not None


def parse_flat(data: bytes) -> ParsedDocument:
    """Parse a flat OpenDocument file (FODT, FODS, FODP), which is one XML file.

    Raises:
        ParseRefusal: `failed` for a damaged file, `empty` without text.
    """
    root = read_xml(data, "the file")
    parts = _detach_objects(root)
    with ZipFile(BytesIO(), "w") as archive:  # its pictures are not read
        return _read_document([root], root, Pictures(archive, "", None), parts.get)


def _detach_objects(root: Element) -> dict[str, Element]:
    """Return the charts and formulas in a flat file by the names of parts, which they now have."""
    parts: dict[str, Element] = {}
    for embedded in list(iter_descendants(root, "object")):
        for inner in iter_children(embedded, "document", "math"):
            name = f"Object {len(parts) + 1}"
            parts[f"{name}/content.xml"] = inner
            embedded.set("href", name)
            embedded.remove(inner)
            break
    return parts


def _read_document(
    parts: Sequence[Element | None],
    meta: Element | None,
    pictures: Pictures,
    read_part: Callable[[str], Element | None],
) -> ParsedDocument:
    """Read a document.

    Args:
        parts: The roots of the parts that define styles; the first one has the body.
        meta: The root of the part with the facts about the document; `None` without one.
        pictures: The pictures of the document.
        read_part: The function that returns the root of another part; `None` for a missing one.

    Raises:
        ParseRefusal: `no_text_layer` for a file of pictures only, `empty` without text.
    """
    builder = Builder()
    roots = [root for root in parts if root is not None]
    body = find_child(roots[0], "body")
    if body is not None:
        builder.skip_hidden(empty_hidden_text(body, roots))
        mark_scripts(body, roots)
        _write_formulas(body, read_part)
        _OdtWalk(builder, pictures, roots, read_part).add_blocks(body)
    pictures.add_rest(builder)
    facts = find_child(meta, "meta")
    return pictures.build_document(builder, *read_facts(() if facts is None else facts, _META))


def _write_formulas(body: Element, read_part: Callable[[str], Element | None]) -> None:
    """Put the text of embedded formulas in place of their frames.

    Args:
        body: The body of the document.
        read_part: The function that returns the root of a part; `None` for a missing one.
    """
    for embedded in list(iter_descendants(body, "object")):
        frame, part = embedded.getparent(), _name_part(embedded)
        formula = find_child(embedded, "math")
        if formula is None and part:
            formula = read_part(part)
        if frame is None or formula is None or get_local_name(formula) != "math":
            continue
        for child in list(frame):
            frame.remove(child)
        frame.text = format_math(formula)


def _name_part(embedded: Element) -> str:
    """Return the name of the part with the content of an object; empty for one elsewhere."""
    name = normpath(f"{get_attribute(embedded, 'href') or ''}/content.xml")
    return "" if name.startswith((".", "/")) else name


class _OdtWalk:
    """A pass over a document's body in reading order.

    Args:
        builder: The builder that receives the text.
        pictures: The pictures of the document.
        roots: The roots of the parts that define styles, in the order of precedence.
        read_part: The function that returns the root of a part; `None` for a missing one.
    """

    def __init__(
        self,
        builder: Builder,
        pictures: Pictures,
        roots: Sequence[Element],
        read_part: Callable[[str], Element | None],
    ) -> None:
        self._read_part = read_part
        self._charts: set[str] = set()
        self._builder = builder
        self._pictures = pictures
        self._styles = read_paragraph_styles(roots)
        self._lists = ListStyles(roots)
        self._outline = OutlineNumbers(roots)
        self._notes = 0
        self._page = 0
        self._has_title = False

    def add_blocks(self, container: Iterable[Element]) -> None:
        """Add all blocks in a body, section, frame or cell, or anchored in a paragraph."""
        for element in container:
            name = get_local_name(element)
            if name in _TEXT:
                self._add_paragraph(element)
            elif name == "list":
                self._add_list(element, "", 1)
            elif name == "table":
                self._add_table(element)
            elif name == "page":
                self._add_slide(element)
            elif name in {"image", "object"}:
                self._add_embedded(element)
            elif name not in _IGNORED:
                self.add_blocks(element)

    def _add_embedded(self, element: Element) -> None:
        """Add a picture or a chart that is a file of its own."""
        if get_local_name(element) == "object":
            self._add_chart(element, with_values=True)
        else:
            name = normpath(get_attribute(element, "href") or "")
            self._pictures.add_picture(self._builder, name)

    def _add_chart(self, embedded: Element, *, with_values: bool) -> None:
        """Add an embedded chart, each once: its titles, and a row for each category.

        Args:
            embedded: The `draw:object`; nothing is added for other objects than charts.
            with_values: Whether the values are read too; those of a sheet are in its cells.
        """
        name = _name_part(embedded)
        if not name or name in self._charts:
            return
        self._charts.add(name)
        chart = find_child(self._read_part(name), "body", "chart", "chart")
        if chart is None:
            return
        for title in iter_descendants(chart, "title", "subtitle"):
            self._builder.add_paragraph(self._join_paragraphs(title, " "))
        table = find_child(chart, "table")
        if table is not None and with_values:
            self._add_chart_rows(read_rows(table, self._read_cell))

    def _add_chart_rows(self, rows: Sequence[Sequence[SheetCell]]) -> None:
        """Add a row for each category of a chart; the first one names the series."""
        names = [cell.text for cell in rows[0]] if rows else []
        for row in rows[1:]:
            texts = [cell.text for cell in row]
            values = ["" if text == "NaN" else text for text in texts[1:]]
            if any(values):
                self._builder.add_row([*texts[:1], *label_cells(values, names[1:])])

    def _add_paragraph(self, paragraph: Element, label: str = "") -> None:
        """Add a paragraph with its notes and asides; with a label it is a list item."""
        inline = read_inline(paragraph, self._find_note)
        level = self._find_heading_level(paragraph)
        if not label and get_local_name(paragraph) == "h":
            label = self._outline.next_label(paragraph, level)
        # An empty heading is counted, but its number is no text.
        self._builder.add_labelled(inline.text, label if inline.text else "", level)
        self._add_anchored(inline)

    def _add_anchored(self, inline: OdtInline) -> None:
        """Add the notes and asides that are anchored in a paragraph."""
        for mark, body in inline.notes:
            self._builder.add_footnote(self._join_paragraphs(body, " "), mark)
        self.add_blocks(inline.asides)

    def _find_heading_level(self, paragraph: Element) -> int:
        """Return the level of a heading from 1; 0 for body text."""
        if get_local_name(paragraph) == "h":
            return max(1, parse_number(get_attribute(paragraph, "outline-level"), 1))
        name = get_attribute(paragraph, "style-name") or ""
        # Some programs leave out the style's definition.
        return 1 if "Title" in self._styles.get(name, (name,)) else 0

    def _add_list(self, list_element: Element, style: str, depth: int) -> None:
        """Add the items of a list; `style` is that of the list around it."""
        counter = self._lists.open_list(list_element, style, depth)
        for item in iter_children(list_element, "list-header", "list-item"):
            label = counter.next_label(item)
            for element in item:
                name = get_local_name(element)
                if name == "list":
                    self._add_list(element, counter.style, depth + 1)
                elif name in _TEXT:
                    self._add_paragraph(element, label)
                    label = ""  # further paragraphs of an item have no label

    def _add_table(self, table: Element) -> None:
        """Add a table; a sheet is a page with its name as the heading."""
        parent = table.getparent()
        if parent is not None and get_local_name(parent) == "spreadsheet":
            self._page += 1
            self._builder.set_page(self._page)
            self._builder.add_heading(get_attribute(table, "name") or "", 1)
            add_rows(self._builder, read_sheet(table, self._read_cell))
            for embedded in iter_descendants(table, "object"):
                self._add_chart(embedded, with_values=False)
            return
        groups = iter_children(table, "table-header-rows")
        heads = sum(1 for group in groups for _ in iter_children(group, "table-row"))
        grid = CellGrid()
        for at, row in enumerate(read_rows(table, self._read_cell)):
            # Each column has a cell of its own, which is empty where another cell covers it.
            placed = [(cell.text or None, 1, cell.rows) for cell in row]
            self._builder.add_row(grid.place_row(placed, head=at < heads), head=at < heads)

    def _read_cell(self, cell: Element) -> str:
        """Return the text of a cell, a line for each paragraph."""
        return self._join_paragraphs(cell, "\n")

    def _join_paragraphs(self, container: Element, glue: str) -> str:
        """Return the text of all paragraphs below an element, without comments."""
        comments = iter_descendants(container, "annotation")
        skipped = {paragraph for comment in comments for paragraph in comment.iter()}
        paragraphs = (p for p in iter_descendants(container, *_TEXT) if p not in skipped)
        return glue.join(read_inline(paragraph, self._find_note).text for paragraph in paragraphs)

    def _add_slide(self, page: Element) -> None:
        """Add a slide as a page: its titles as headings, then its other frames."""
        self._page += 1
        self._builder.set_page(self._page)
        frames = list(iter_children(page, "frame", "custom-shape", "g", "notes"))
        titles = [frame for frame in frames if get_attribute(frame, "class") == "title"]
        texts = list(filter(None, (self._join_paragraphs(frame, " ") for frame in titles)))
        # Without a heading, a slide after a titled one would seem to belong to that one.
        for text in texts or ([f"Slide {self._page}"] if self._has_title else []):
            self._builder.add_heading(text, 1)
        self._has_title = self._has_title or bool(texts)
        for frame in frames:
            if get_local_name(frame) == "notes":
                self._add_frames(frame)
            elif frame not in titles:
                self._add_frames([frame])

    def _add_frames(self, frames: Iterable[Element]) -> None:
        """Add the frames of a slide or its notes, without page numbers, headers and footers."""
        for frame in frames:
            if get_attribute(frame, "class") not in _FURNITURE:
                self.add_blocks(frame)

    def _find_note(self, note: Element) -> tuple[str, Element] | None:
        """Return the mark and the body of a foot- or endnote; `None` without a body."""
        body = find_child(note, "note-body")
        if body is None:
            return None
        self._notes += 1
        printed = get_text(find_child(note, "note-citation")).strip()
        return printed or format_number(self._notes, "decimal"), body
