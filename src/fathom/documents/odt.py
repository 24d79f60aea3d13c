"""OpenDocument files: texts, and with the same walk sheets and presentations."""

from collections.abc import Mapping

from fathom.documents.base import Builder, Parsed, Refused
from fathom.documents.cells import add_rows
from fathom.documents.markup import (
    Element,
    attribute,
    child,
    children,
    descendants,
    local,
    member_xml,
    number,
    text_of,
)
from fathom.documents.numbering import spell
from fathom.documents.odf_lists import Lists
from fathom.documents.odf_table import read_rows
from fathom.documents.odf_text import Inline, paragraph_styles, read_inline
from fathom.documents.zipguard import open_zip
from fathom.types import Scalar

_TEXT = {"p", "h"}
_IGNORED = {"tracked-changes", "sequence-decls", "forms", "annotation", "title", "desc"}
_META = {"initial-creator": "author", "creation-date": "created", "date": "modified"}


def parse(data: bytes) -> Parsed:
    """Parse an ODT, ODS or ODP file.

    Raises:
        Refused: `encrypted`, `failed`, `empty`, `no_text_layer` when it holds pictures only.
    """
    archive = open_zip(data)
    manifest = member_xml(archive, "META-INF/manifest.xml")
    if manifest is not None and next(descendants(manifest, "encryption-data"), None) is not None:
        raise Refused("encrypted", "protected by a password; save it without one")
    content = member_xml(archive, "content.xml")
    body = None if content is None else child(content, "body")
    if content is None or body is None:
        raise Refused("failed", "no content.xml with a body; save the file anew")
    builder = Builder()
    _Walk(builder, [content, member_xml(archive, "styles.xml")]).blocks(body)
    title, metadata = _properties(member_xml(archive, "meta.xml"))
    try:
        return builder.build(title, metadata)
    except Refused:
        if any(name.startswith("Pictures/") for name in archive.namelist()):
            raise Refused("no_text_layer", "holds pictures only; run OCR first") from None
        raise


def _properties(root: Element | None) -> tuple[str, Mapping[str, Scalar]]:
    meta = None if root is None else child(root, "meta")
    values = {} if meta is None else {local(item): text_of(item).strip() for item in meta}
    known = {key: values[name] for name, key in _META.items() if values.get(name)}
    return values.get("title", ""), known


class _Walk:
    """One pass over a document's body in reading order.

    Args:
        builder: Where the text goes.
        sources: Roots that define styles; later ones count only where earlier ones are silent.
    """

    def __init__(self, builder: Builder, sources: list[Element | None]) -> None:
        roots = [root for root in sources if root is not None]
        self._builder = builder
        self._styles = paragraph_styles(roots)
        self._lists = Lists(roots)
        self._notes = 0
        self._page = 0

    def blocks(self, container: Element) -> None:
        """Everything in a body, section, frame or cell."""
        for element in container:
            name = local(element)
            if name in _TEXT:
                self._paragraph(element)
            elif name == "list":
                self._list(element, "", 1)
            elif name == "table":
                self._table(element)
            elif name == "page":
                self._slide(element)
            elif name not in _IGNORED:
                self.blocks(element)

    def _paragraph(self, paragraph: Element, label: str = "") -> None:
        inline = read_inline(paragraph, self._mark)
        level = self._heading(paragraph)
        if level:
            self._builder.heading(f"{label} {inline.text}".strip(), level)
        elif label:
            self._builder.item(inline.text, label)
        else:
            self._builder.paragraph(inline.text)
        self._aside(inline)

    def _aside(self, inline: Inline) -> None:
        for mark, body in inline.notes:
            lines = [read_inline(p, self._mark).text for p in descendants(body, *_TEXT)]
            self._builder.footnote(" ".join(lines), mark)
        for box in inline.boxes:
            self.blocks(box)

    def _heading(self, paragraph: Element) -> int:
        """The level of a heading from 1; 0 for body text."""
        if local(paragraph) == "h":
            return max(1, number(attribute(paragraph, "outline-level"), 1))
        chain = self._styles.get(attribute(paragraph, "style-name") or "", ())
        return 1 if "Title" in chain else 0

    def _list(self, listed: Element, style: str, depth: int) -> None:
        counter = self._lists.open(listed, style, depth)
        for item in children(listed, "list-header", "list-item"):
            label = counter.next(item)
            for element in item:
                name = local(element)
                if name == "list":
                    self._list(element, counter.style, depth + 1)
                elif name in _TEXT:
                    self._paragraph(element, label)
                    label = ""  # further paragraphs of an item carry no label

    def _table(self, table: Element) -> None:
        parent = table.getparent()
        if parent is not None and local(parent) == "spreadsheet":
            self._page += 1
            self._builder.page(self._page)
            self._builder.heading(attribute(table, "name") or "", 1)
            add_rows(self._builder, read_rows(table, self._cell))
            return
        for row in read_rows(table, self._cell):
            self._builder.row([cell.text for cell in row])

    def _cell(self, cell: Element) -> str:
        paragraphs = descendants(cell, *_TEXT)
        return "\n".join(read_inline(one, self._mark).text for one in paragraphs)

    def _slide(self, page: Element) -> None:
        self._page += 1
        self._builder.page(self._page)
        frames = list(children(page, "frame", "custom-shape", "g", "notes"))
        titles = [frame for frame in frames if attribute(frame, "class") == "title"]
        for frame in titles:
            lines = [read_inline(p, self._mark).text for p in descendants(frame, *_TEXT)]
            self._builder.heading(" ".join(lines), 1)
        for frame in frames:
            if frame not in titles:
                self.blocks(frame)

    def _mark(self, note: Element) -> tuple[str, Element] | None:
        """The mark and body of a foot- or endnote."""
        body = child(note, "note-body")
        if body is None:
            return None
        self._notes += 1
        printed = text_of(child(note, "note-citation")).strip()
        return printed or spell(self._notes, "decimal"), body
