"""Word processing documents, transitional and ISO strict, by a walk over their XML.

The walk sees what a reading library leaves out: text boxes, tracked insertions, list labels,
notes, headers and footers, equations.
"""

from collections.abc import Iterator
from itertools import groupby

from fathom.documents.base import Builder, Parsed, Refused
from fathom.documents.inline import Inline, read_inline
from fathom.documents.markup import Element, attribute, child, children, descendants, local
from fathom.documents.numbering import Numbering, spell
from fathom.documents.ooxml import Package, chosen, truth
from fathom.documents.styles import Styles

_WRAPPERS = {"sdt", "sdtContent", "ins", "moveTo", "customXml", "smartTag"}
_NOTES = {"footnoteReference": "footnotes", "endnoteReference": "endnotes"}
_SEPARATORS = {"separator", "continuationSeparator", "continuationNotice"}

# A picture with less text than this is a scan with a caption: what it says is in the picture.
CAPTION_CHARS = 60


def parse(data: bytes) -> Parsed:
    """Parse a DOCX file.

    Raises:
        Refused: `no_text_layer` when it holds pictures only, `empty`, `failed`, `encrypted`.
    """
    package = Package(data)
    name, root = package.main("word/document.xml")
    body = child(root, "body")
    builder = Builder()
    walk = _Walk(package, name, builder)
    walk.margins()
    if body is not None:
        walk.blocks(body)
    title, metadata = package.properties()
    try:
        parsed = builder.build(title, metadata)
    except Refused:
        if package.has_pictures():
            raise Refused("no_text_layer", "holds pictures only; run OCR first") from None
        raise
    if len(parsed.text) < CAPTION_CHARS and package.has_pictures():
        raise Refused("no_text_layer", "holds pictures and hardly any text; run OCR first")
    return parsed


class _Walk:
    """One pass over a document's body in reading order."""

    def __init__(self, package: Package, name: str, builder: Builder) -> None:
        self._package = package
        self._name = name
        self._builder = builder
        self._styles = Styles(package.related(name, "styles"))
        self._numbering = Numbering(package.related(name, "numbering"))
        self._bodies = {kind: self._read_notes(kind) for kind in _NOTES.values()}
        self._marks: dict[str, dict[str, str]] = {kind: {} for kind in _NOTES.values()}

    def margins(self) -> None:
        """Headers and footers, equal ones once, bare page numbers not at all."""
        seen: set[str] = set()
        for link in self._package.relations(self._name):
            root = self._package.part(link.target) if link.kind in {"header", "footer"} else None
            for text in [] if root is None else self._lines(root):
                if text not in seen and any(sign.isalpha() for sign in text):
                    self._builder.paragraph(text)
                seen.add(text)

    def blocks(self, container: Element) -> None:
        """Everything in a body, cell, note or text box."""
        for is_code, group in groupby(_contents(container), self._is_code):
            if is_code:  # one listing, though each of its lines is a paragraph
                lines = [read_inline(line, self._note).text for line in group]
                self._builder.code("\n".join(lines))
                continue
            for element in group:
                if local(element) == "p":
                    self._paragraph(element)
                else:
                    self._table(element)

    def _is_code(self, element: Element) -> bool:
        return local(element) == "p" and self._styles.is_code(element)

    def _paragraph(self, paragraph: Element) -> None:
        inline = read_inline(paragraph, self._note)
        level = self._styles.heading(paragraph)
        label = self._label(paragraph, inline)
        if level is not None:
            self._builder.heading(f"{label} {inline.text}".strip(), level)
        elif label:
            self._builder.item(inline.text, label)
        else:
            self._builder.paragraph(inline.text)
        self._aside(inline)

    def _aside(self, inline: Inline) -> None:
        """What a paragraph anchors but does not hold in its own line."""
        for mark, body in inline.notes:
            self._builder.footnote(" ".join(self._lines(body)), mark)
        for box in inline.boxes:
            self.blocks(box)

    def _table(self, table: Element) -> None:
        rows = {row: list(_cells(row)) for row in _rows(table)}
        if all(len(cells) == 1 for cells in rows.values()):  # a frame around text, not a table
            for cells in rows.values():
                self.blocks(cells[0])
            return
        late = Inline()
        for row, cells in rows.items():
            head = truth(child(row, "trPr", "tblHeader"))
            self._builder.row([self._cell(cell, late) for cell in cells], head=head)
            for cell in cells:
                for nested in _contents(cell):
                    if local(nested) == "tbl":
                        self._table(nested)
        self._aside(late)

    def _cell(self, cell: Element, late: Inline) -> str:
        """A cell's own text; a continued vertical merge shows its text once, at its start."""
        merge = child(cell, "tcPr", "vMerge")
        if merge is not None and attribute(merge, "val") != "restart":
            return ""
        lines = []
        for paragraph in _contents(cell):
            if local(paragraph) == "p":
                inline = read_inline(paragraph, self._note)
                lines.append(f"{self._label(paragraph, inline)} {inline.text}")
                late.notes += inline.notes
                late.boxes += inline.boxes
        return "\n".join(lines)

    def _lines(self, container: Element) -> list[str]:
        """The text of every paragraph below, notes and labels left out."""
        lines = [_flat(read_inline(p, lambda _: None)) for p in descendants(container, "p")]
        return [line for line in lines if line]

    def _label(self, paragraph: Element, inline: Inline) -> str:
        numbered = self._styles.numbered(paragraph)
        # Word counts an empty numbered paragraph; a blank one that holds a picture too.
        label = self._numbering.label(*numbered) if numbered else ""
        return label if inline.text.strip() else ""

    def _note(self, reference: Element) -> tuple[str, Element] | None:
        kind = _NOTES[local(reference)]
        number = attribute(reference, "id") or ""
        body = self._bodies[kind].get(number)
        if body is None:
            return None
        marks = self._marks[kind]
        style = "decimal" if kind == "footnotes" else "lowerRoman"
        return marks.setdefault(number, spell(len(marks) + 1, style)), body

    def _read_notes(self, kind: str) -> dict[str, Element]:
        root = self._package.related(self._name, kind)
        notes = [] if root is None else list(children(root, "footnote", "endnote"))
        return {
            attribute(note, "id") or "": note
            for note in notes
            if attribute(note, "type") not in _SEPARATORS
        }


def _flat(inline: Inline) -> str:
    return " ".join(inline.text.split())


def _contents(container: Element) -> Iterator[Element]:
    """Paragraphs and tables, looking through wrappers, without what was deleted."""
    for element in container:
        name = local(element)
        if name in {"p", "tbl"}:
            yield element
        elif name in _WRAPPERS:
            yield from _contents(element)
        elif name == "AlternateContent":
            one = chosen(element)
            if one is not None:
                yield from _contents(one)


def _rows(table: Element) -> Iterator[Element]:
    return (row for row in _unwrapped(table, "tr") if not truth(child(row, "trPr", "del")))


def _cells(row: Element) -> Iterator[Element]:
    return _unwrapped(row, "tc")


def _unwrapped(parent: Element, name: str) -> Iterator[Element]:
    for element in parent:
        if local(element) == name:
            yield element
        elif local(element) in _WRAPPERS:
            yield from _unwrapped(element, name)
