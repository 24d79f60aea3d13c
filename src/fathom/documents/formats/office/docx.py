"""Word processing documents, transitional and ISO strict, by a walk over their XML.

The walk reads text that common libraries leave out: text boxes, tracked insertions, list labels,
notes, headers and footers, equations, charts and diagrams.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

from fathom.documents.base import Builder, ParsedDocument
from fathom.documents.formats.cell_grid import CellGrid
from fathom.documents.formats.formula import format_script
from fathom.documents.formats.list_numbers import format_number
from fathom.documents.formats.office.figures import FIGURES, add_figure
from fathom.documents.formats.office.hidden_runs import HiddenRuns
from fathom.documents.formats.office.numbering import Numbering
from fathom.documents.formats.office.package import (
    OfficePackage,
    choose_alternative,
    get_relation_id,
    is_on,
)
from fathom.documents.formats.office.pictures import Pictures
from fathom.documents.formats.superscripts import choose_sign
from fathom.documents.xml_members import (
    Element,
    find_child,
    get_attribute,
    get_local_name,
    get_text,
    get_value,
    iter_children,
    iter_descendants,
    parse_number,
)

if TYPE_CHECKING:
    from fathom.documents.formats.pdf.lines import Recogniser

# Deleted and moved-away text, properties, field codes, ruby readings.
_SKIPPED = {
    "del", "moveFrom", "pPr", "rPr", "tblPr", "sdtPr", "instrText", "delText", "delInstrText",
    "rt", "fPr", "radPr", "sSupPr", "sSubPr", "naryPr", "dPr", "ctrlPr",
    "oMathParaPr",
}  # fmt: skip
_SIGNS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_SCRIPTS = {"num": "", "den": "/", "sup": "^", "sub": "_"}
_SYMBOL_FONTS = 0xF000


@dataclass(slots=True)
class DocxInline:
    """The contents of a paragraph.

    Attributes:
        text: The text of the runs, joined without separator.
        boxes: The contents of the text boxes that are anchored in it.
        notes: The marks and bodies of the foot- and endnotes to which it refers.
        figures: The elements that stand for the charts and diagrams in it.
    """

    text: str = ""
    boxes: list[Element] = field(default_factory=list)
    notes: list[tuple[str, Element]] = field(default_factory=list)
    figures: list[Element] = field(default_factory=list)


FindNote = Callable[[Element], tuple[str, Element] | None]
"""A function that returns the mark and the body of the note of a reference, or `None`."""


def read_inline(paragraph: Element, find_note: FindNote) -> DocxInline:
    """Read a paragraph.

    Args:
        paragraph: The `w:p`.
        find_note: The function that looks up foot- and endnotes.
    """
    inline = DocxInline()
    inline.text = "".join(_iter_pieces(paragraph, inline, find_note))
    return inline


def _iter_pieces(element: Element, into: DocxInline, note: FindNote) -> Iterator[str]:
    """Yield the pieces of text in an element; collect boxes, notes and figures in `into`."""
    for below in element:
        name = get_local_name(below)
        if name in _SKIPPED or (name == "r" and is_on(find_child(below, "rPr", "vanish"))):
            continue
        if name == "t":
            yield (below.text or "").replace("\u00ad", "")  # soft hyphens are no part of a word
        elif name in _SIGNS:
            yield _SIGNS[name]
        elif name == "txbxContent":
            into.boxes.append(below)
        elif name in FIGURES:
            into.figures.append(below)
        else:
            yield from _iter_special(below, name, into, note)


def _iter_special(element: Element, name: str, into: DocxInline, note: FindNote) -> Iterator[str]:
    """Yield the pieces of text of an element that is no plain text."""
    if name == "AlternateContent":
        alternative = choose_alternative(element)
        if alternative is not None:
            yield from _iter_pieces(alternative, into, note)
    elif name in {"footnoteReference", "endnoteReference"}:
        found_note = note(element)
        if found_note is not None:
            into.notes.append(found_note)
            yield f"[{found_note[0]}]"
    elif name == "sym":
        yield _read_symbol(get_attribute(element, "char"))
    else:
        yield _wrap_text(element, name, "".join(_iter_pieces(element, into, note)))


def _wrap_text(element: Element, name: str, inner: str) -> str:
    """Return the text of an element of an equation with its signs; other texts unchanged."""
    if name in _SCRIPTS:
        return format_script(_SCRIPTS[name], inner)
    around = element.getparent() if name in {"deg", "e"} else None
    if around is not None:
        return _wrap_operand(around, name, inner)
    if name == "d":
        begin = _get_sign(find_child(element, "dPr", "begChr"), "(")
        return begin + inner + _get_sign(find_child(element, "dPr", "endChr"), ")")
    if name == "nary":
        return _get_sign(find_child(element, "naryPr", "chr"), "∫") + inner
    return inner


def _wrap_operand(around: Element, name: str, inner: str) -> str:
    """Return the degree of a root, or what an operation is about, apart from its scripts."""
    if get_local_name(around) == "rad":
        return f"√[{inner}]".replace("[]", "") if name == "deg" else format_script("", inner)
    has_bounds = any(get_text(bound) for bound in iter_children(around, "sub", "sup"))
    return f" {inner}" if get_local_name(around) == "nary" and has_bounds else inner


def _get_sign(element: Element | None, usual: str) -> str:
    """Return the sign that a property of an equation states; `usual` without the property."""
    return usual if element is None else get_attribute(element, "val") or ""


def _read_symbol(code: str | None) -> str:
    """Return the character of a symbol by its hexadecimal code; empty if it is unknown."""
    try:
        value = int(code or "", 16)
    except ValueError:
        return ""
    # Symbol fonts use the private use area; without the font the sign has no meaning.
    return "" if _SYMBOL_FONTS <= value <= _SYMBOL_FONTS + 0xFF else chr(value)


_HEADING = re.compile(r"(?:heading|überschrift|judul|titre|título|kop)\s*(\d)$", re.IGNORECASE)
_CODE = re.compile(r"\b(source ?code|code block|code|html preformatted|preformatted)\b", re.I)
_BODY = 9


class ParagraphStyles:
    """The paragraph styles of a document; a style takes missing values from its base style.

    Args:
        root: The root of `styles.xml`; `None` if the document has none.
    """

    def __init__(self, root: Element | None) -> None:
        styles = [] if root is None else list(iter_children(root, "style"))
        self._styles = {get_attribute(style, "styleId") or "": style for style in styles}
        self._default = next(
            (
                get_attribute(style, "styleId") or ""
                for style in styles
                if get_attribute(style, "type") == "paragraph"
                and get_attribute(style, "default") in {"1", "true"}
            ),
            "",
        )

    def find_heading_level(self, paragraph: Element) -> int | None:
        """Return the level of a heading, from 1; `None` for body text."""
        for owner in (paragraph, *self._iter_styles(paragraph)):
            outline = get_value(owner, "pPr", "outlineLvl")
            if outline is not None:
                level = parse_number(outline, _BODY)
                return level + 1 if level < _BODY else None
        for name in self._list_names(paragraph):
            if name.lower() == "title":
                return 1
            match = _HEADING.match(name)
            if match:
                return int(match.group(1))
        return None

    def is_code(self, paragraph: Element) -> bool:
        """Return whether the style of a paragraph is one for program text."""
        return any(_CODE.search(name) for name in self._list_names(paragraph))

    def find_numbering(self, paragraph: Element) -> tuple[str, int] | None:
        """Return the list and the level (from 0) of a list item; `None` for other paragraphs."""
        num: str | None = None
        level: str | None = None
        for owner in (paragraph, *self._iter_styles(paragraph)):
            properties = find_child(owner, "pPr", "numPr")
            num = num or get_value(properties, "numId")
            level = level or get_value(properties, "ilvl")
        return (num, parse_number(level)) if num not in {None, "0"} and num else None

    def _iter_styles(self, paragraph: Element) -> Iterator[Element]:
        """Yield the paragraph's style, the base of that style, and so on."""
        name = get_value(paragraph, "pPr", "pStyle") or self._default
        seen: set[str] = set()
        while name in self._styles and name not in seen:
            seen.add(name)
            yield self._styles[name]
            name = get_value(self._styles[name], "basedOn") or ""

    def _list_names(self, paragraph: Element) -> list[str]:
        """Return the names of the paragraph's style and of the styles it is based on."""
        style_id = get_value(paragraph, "pPr", "pStyle")
        chain = [get_value(style, "name") or "" for style in self._iter_styles(paragraph)]
        # A file without the style's definition still has its id, such as `Heading1`.
        return chain or ([re.sub(r"(\d)$", r" \1", style_id)] if style_id else [])


_WRAPPERS = {"sdt", "sdtContent", "ins", "moveTo", "customXml", "smartTag"}
_NOTES = {"footnoteReference": "footnotes", "endnoteReference": "endnotes"}
_SEPARATORS = {"separator", "continuationSeparator", "continuationNotice"}


def parse(data: bytes, recogniser: "Recogniser | None" = None) -> ParsedDocument:
    """Parse a DOCX file; the recogniser, if given, reads the pictures in it.

    Raises:
        ParseRefusal: `no_text_layer` for a file of pictures only, `empty` without text, `failed`
            for a damaged file, `encrypted` for a protected one.
    """
    package = OfficePackage(data)
    name, root = package.find_main("word/document.xml")
    body = find_child(root, "body")
    builder = Builder()
    is_white = find_child(root, "background") is None
    hidden = HiddenRuns(package.read_related(name, "styles"), is_white=is_white)
    builder.skip_hidden(hidden.drop_from(root))
    _mark_superscripts(root)
    pictures = Pictures(package.archive, "/media/", recogniser)
    walk = _DocxWalk(package, name, builder, pictures, hidden)
    walk.add_margins()
    if body is not None:
        walk.add_blocks(body)
    pictures.add_rest(builder)
    return pictures.build_document(builder, *package.read_properties())


def _mark_superscripts(root: Element) -> None:
    """Put signs before superscripts and subscripts, to keep them apart from the text before."""
    before = last = ""
    for element in iter_descendants(root, "p", "r"):
        words = next(iter_children(element, "t"), None)
        script = get_value(element, "rPr", "vertAlign") or ""
        if words is not None and script in {"superscript", "subscript"} and script != last:
            sign = choose_sign(before, words.text or "", raised=script == "superscript")
            words.text = sign + (words.text or "")
        # A paragraph has no text of its own, so `before` is empty at its beginning.
        before = "".join(text.text or "" for text in iter_children(element, "t"))
        last = script


class _DocxWalk:
    """A pass over a document's body in reading order."""

    def __init__(
        self,
        package: OfficePackage,
        name: str,
        builder: Builder,
        pictures: Pictures,
        hidden: HiddenRuns,
    ) -> None:
        self._hidden = hidden
        self._package = package
        self._name = name
        self._builder = builder
        self._pictures = pictures
        self._targets = {link.id: link.target for link in package.list_relations(name)}
        self._styles = ParagraphStyles(package.read_related(name, "styles"))
        self._numbering = Numbering(package.read_related(name, "numbering"))
        self._bodies = {kind: self._read_notes(kind) for kind in _NOTES.values()}
        self._marks: dict[str, dict[str, str]] = {kind: {} for kind in _NOTES.values()}

    def add_margins(self) -> None:
        """Add the text of headers and footers: equal lines once, bare page numbers not at all."""
        seen: set[str] = set()
        for link in self._package.list_relations(self._name):
            root = (
                self._package.read_part(link.target) if link.kind in {"header", "footer"} else None
            )
            if root is not None:
                self._builder.skip_hidden(self._hidden.drop_from(root))
            for text in [] if root is None else self._read_lines(root):
                if text not in seen and any(sign.isalpha() for sign in text):
                    self._builder.add_paragraph(text)
                seen.add(text)

    def add_blocks(self, container: Element) -> None:
        """Add all blocks in a body, cell, note or text box."""
        for is_code, group in groupby(_iter_contents(container), self._is_code):
            if is_code:  # each line of a listing is a paragraph; the listing is one block
                lines = [read_inline(line, self._find_note).text for line in group]
                self._builder.add_code("\n".join(lines))
                continue
            for element in group:
                if get_local_name(element) == "p":
                    self._add_paragraph(element)
                else:
                    self._add_table(element)

    def _is_code(self, element: Element) -> bool:
        """Return whether an element is a paragraph of program text."""
        return get_local_name(element) == "p" and self._styles.is_code(element)

    def _add_paragraph(self, paragraph: Element) -> None:
        """Add a paragraph with its notes, text boxes, figures and pictures."""
        inline = read_inline(paragraph, self._find_note)
        level = self._styles.find_heading_level(paragraph)
        label = self._make_label(paragraph, inline)
        self._builder.add_labelled(inline.text, label, level or 0)
        self._add_anchored(inline)
        for picture in iter_descendants(paragraph, "blip", "imagedata"):
            self._pictures.add_picture(
                self._builder, self._targets.get(get_relation_id(picture), "")
            )

    def _add_anchored(self, inline: DocxInline) -> None:
        """Add the notes, text boxes, charts and diagrams that are anchored in a paragraph."""
        for mark, body in inline.notes:
            self._builder.add_footnote(" ".join(self._read_lines(body)), mark)
        for box in inline.boxes:
            self.add_blocks(box)
        for figure in inline.figures:
            add_figure(self._builder, figure, self._package, self._targets)

    def _add_table(self, table: Element) -> None:
        """Add a table and the tables in its cells; a table of one column as plain blocks."""
        rows = {row: list(_iter_unwrapped(row, "tc")) for row in _iter_rows(table)}
        if all(len(cells) == 1 for cells in rows.values()):  # a frame around text, not a table
            for cells in rows.values():
                self.add_blocks(cells[0])
            return
        late = DocxInline()
        grid = CellGrid()
        spans = _count_rows(rows)
        for row, cells in rows.items():
            head = is_on(find_child(row, "trPr", "tblHeader"))
            before = _count_columns_before(row)
            placed = [
                (self._read_cell(cell, late), _count_columns(cell), spans.get(cell, 1))
                for cell in cells
            ]
            texts = grid.place_row([*([("", before, 1)] if before > 0 else []), *placed], head=head)
            self._builder.add_row(texts, head=head)
            for cell in cells:
                for nested in _iter_contents(cell):
                    if get_local_name(nested) == "tbl":
                        self._add_table(nested)
        self._add_anchored(late)

    def _read_cell(self, cell: Element, late: DocxInline) -> str | None:
        """Return the text of a cell; `None` for one that the cell above it covers.

        Notes, text boxes, charts and diagrams in the cell are added to `late`.
        """
        if _is_covered(cell):
            return None
        lines = []
        for paragraph in _iter_contents(cell):
            if get_local_name(paragraph) == "p":
                inline = read_inline(paragraph, self._find_note)
                lines.append(f"{self._make_label(paragraph, inline)} {inline.text}")
                late.notes += inline.notes
                late.boxes += inline.boxes
                late.figures += inline.figures
        return "\n".join(lines)

    def _read_lines(self, container: Element) -> list[str]:
        """Return the text of each paragraph below an element, without notes and labels."""
        paragraphs = iter_descendants(container, "p")
        lines = (" ".join(read_inline(p, lambda _: None).text.split()) for p in paragraphs)
        return [line for line in lines if line]

    def _make_label(self, paragraph: Element, inline: DocxInline) -> str:
        """Count a list item and return its label; empty for other and for empty paragraphs."""
        numbering = self._styles.find_numbering(paragraph)
        # Word counts empty numbered paragraphs too, so the label is made even if it is not printed.
        label = self._numbering.next_label(*numbering) if numbering else ""
        return label if inline.text.strip() else ""

    def _find_note(self, reference: Element) -> tuple[str, Element] | None:
        """Return the mark and the body of the note of a reference, or `None`."""
        kind = _NOTES[get_local_name(reference)]
        number = get_attribute(reference, "id") or ""
        body = self._bodies[kind].get(number)
        if body is None:
            return None
        marks = self._marks[kind]
        style = "decimal" if kind == "footnotes" else "lowerRoman"
        return marks.setdefault(number, format_number(len(marks) + 1, style)), body

    def _read_notes(self, kind: str) -> dict[str, Element]:
        """Return the notes of a kind by their ids, without separators."""
        root = self._package.read_related(self._name, kind)
        if root is None:
            return {}
        self._builder.skip_hidden(self._hidden.drop_from(root))
        notes = iter_children(root, "footnote", "endnote")
        return {
            get_attribute(note, "id") or "": note
            for note in notes
            if get_attribute(note, "type") not in _SEPARATORS
        }


def _count_columns(cell: Element) -> int:
    """Return the number of columns that a cell spans."""
    return parse_number(get_value(find_child(cell, "tcPr"), "gridSpan"), 1)


def _count_columns_before(row: Element) -> int:
    """Return the number of columns that a row leaves out at its beginning."""
    return parse_number(get_value(find_child(row, "trPr"), "gridBefore"))


def _is_merged(cell: Element) -> bool:
    """Return whether a cell is merged with the one above or below it."""
    return find_child(cell, "tcPr", "vMerge") is not None


def _is_covered(cell: Element) -> bool:
    """Return whether a cell is merged with the one above it."""
    return _is_merged(cell) and get_value(find_child(cell, "tcPr"), "vMerge") != "restart"


def _count_rows(rows: Mapping[Element, Sequence[Element]]) -> dict[Element, int]:
    """Return the number of rows that each cell spans, for the cells that span several."""
    spans: dict[Element, int] = {}
    above: dict[int, Element] = {}
    for row, cells in rows.items():
        tops: dict[int, Element] = {}
        column = max(_count_columns_before(row), 0)
        for cell in cells:
            top = above.get(column) if _is_covered(cell) else cell
            if top is not None and _is_merged(top):
                tops[column] = top
                spans[top] = spans.get(top, 0) + 1
            column += _count_columns(cell)
        above = tops
    return {cell: span for cell, span in spans.items() if span > 1}


def _iter_contents(container: Element) -> Iterator[Element]:
    """Yield the paragraphs and tables in a container or its wrappers, without deleted ones."""
    for element in container:
        name = get_local_name(element)
        if name in {"p", "tbl"}:
            yield element
        elif name in _WRAPPERS:
            yield from _iter_contents(element)
        elif name == "AlternateContent":
            alternative = choose_alternative(element)
            if alternative is not None:
                yield from _iter_contents(alternative)


def _iter_rows(table: Element) -> Iterator[Element]:
    """Yield the rows of a table, without deleted ones."""
    return (
        row for row in _iter_unwrapped(table, "tr") if not is_on(find_child(row, "trPr", "del"))
    )


def _iter_unwrapped(parent: Element, name: str) -> Iterator[Element]:
    """Yield the children of a name, also those inside wrappers."""
    for element in parent:
        if get_local_name(element) == name:
            yield element
        elif get_local_name(element) in _WRAPPERS:
            yield from _iter_unwrapped(element, name)
