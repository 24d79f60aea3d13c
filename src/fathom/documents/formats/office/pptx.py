"""Presentations: each slide is a page, its title a heading; tables, charts, diagrams, notes."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from fathom.documents.base import Builder, ParsedDocument
from fathom.documents.formats.cell_grid import CellGrid
from fathom.documents.formats.list_numbers import format_number
from fathom.documents.formats.office.figures import FIGURES, add_figure
from fathom.documents.formats.office.hidden_shapes import (
    Edges,
    drop_hidden_runs,
    drop_hidden_text,
    get_edges,
)
from fathom.documents.formats.office.numbering import BULLET
from fathom.documents.formats.office.package import (
    OfficePackage,
    choose_alternative,
    get_relation_id,
)
from fathom.documents.formats.office.pictures import Pictures
from fathom.documents.formats.office.shapes import list_paragraphs, read_paragraph
from fathom.documents.xml_members import (
    Element,
    find_child,
    get_attribute,
    get_local_name,
    iter_children,
    iter_descendants,
    parse_number,
)

if TYPE_CHECKING:
    from fathom.documents.formats.pdf.lines import Recogniser


_TITLES = {"title", "ctrTitle"}
_FURNITURE = {"dt", "ftr", "sldNum", "hdr", "sldImg"}
_PLAIN = {"subTitle", *_TITLES}
_SAME_LINE = 360_000  # one centimetre in the format's unit
_STYLES = {
    "arabic": "decimal", "alphaLc": "lowerLetter", "alphaUc": "upperLetter",
    "romanLc": "lowerRoman", "romanUc": "upperRoman",
}  # fmt: skip


def parse(data: bytes, recogniser: "Recogniser | None" = None) -> ParsedDocument:
    """Parse a PPTX file; the recogniser, if given, reads the pictures on its slides.

    Raises:
        ParseRefusal: `no_text_layer` for a file of pictures only, `empty` without text, `failed`
            for a damaged file, `encrypted` for a protected one.
    """
    package = OfficePackage(data)
    name, root = package.find_main("ppt/presentation.xml")
    targets = {
        link.id: link.target for link in package.list_relations(name) if link.kind == "slide"
    }
    slides = [targets.get(get_relation_id(item), "") for item in iter_descendants(root, "sldId")]
    edges = get_edges(find_child(root, "sldSz"))
    builder = Builder()
    pictures = Pictures(package.archive, "/media/", recogniser)
    has_title = False
    for page, slide in enumerate(slides, start=1):
        builder.set_page(page)
        # Without a heading, a slide after a titled one would seem to belong to that one.
        usual_title = f"Slide {page}" if has_title else ""
        has_title = _Slide(package, slide, builder, edges).add_slide(usual_title) or has_title
        for link in package.list_relations(slide):
            pictures.add_picture(builder, link.target, below=1)
    return pictures.build_document(builder, *package.read_properties(), fewest_chars=0)


class _Slide:
    """A slide and the parts that it links to."""

    def __init__(self, package: OfficePackage, name: str, builder: Builder, edges: Edges) -> None:
        self._package = package
        self._edges = edges
        self._name = name
        self._builder = builder
        self._targets = {link.id: link.target for link in package.list_relations(name)}

    def add_slide(self, usual_title: str) -> bool:
        """Add the title, the shapes from top to bottom and left to right, and the notes.

        Args:
            usual_title: The heading of a slide without title; empty for none.

        Returns:
            Whether the slide has a title of its own.
        """
        root = self._package.read_part(self._name)
        tree = None if root is None else find_child(root, "cSld", "spTree")
        if tree is None:
            return False
        self._builder.skip_hidden(drop_hidden_text(tree, self._edges))
        shapes = list(_iter_shapes(tree))
        titles = [shape for shape in shapes if _get_placeholder(shape) in _TITLES]
        title = " ".join(
            read_paragraph(p) for shape in titles for p in list_paragraphs(shape)
        ).strip()
        self._builder.add_heading(title or usual_title, 1)
        self._add_shapes(shape for shape in shapes if _get_placeholder(shape) not in _TITLES)
        self._add_notes()
        return bool(title)

    def _add_shapes(self, shapes: Iterable[Element]) -> None:
        """Add shapes from top to bottom and from left to right."""
        for shape in sorted(shapes, key=_locate_shape):
            kind = get_local_name(shape)
            if kind == "grpSp":
                self._add_shapes(_iter_shapes(shape))
            elif kind == "graphicFrame":
                self._add_frame(shape)
            elif _get_placeholder(shape) not in _FURNITURE:
                self._add_text(shape)

    def _add_text(self, shape: Element) -> None:
        """Add the paragraphs of a shape, as list items or as prose."""
        paragraphs = [p for p in list_paragraphs(shape) if read_paragraph(p).strip()]
        placeholder = _get_placeholder(shape)
        is_list = placeholder is not None and placeholder not in _PLAIN and len(paragraphs) > 1
        for paragraph, label in zip(paragraphs, _make_labels(paragraphs, is_list), strict=True):
            self._builder.add_labelled(read_paragraph(paragraph), label)

    def _add_frame(self, frame: Element) -> None:
        """Add the tables, charts and diagrams in a frame."""
        for content in iter_descendants(frame, "tbl", *FIGURES):
            if get_local_name(content) == "tbl":
                self._add_table(content)
            else:
                add_figure(self._builder, content, self._package, self._targets)

    def _add_table(self, table: Element) -> None:
        """Add a table."""
        properties = find_child(table, "tblPr")
        has_head = properties is not None and get_attribute(properties, "firstRow") in {"1", "true"}
        grid = CellGrid()
        for at, row in enumerate(iter_children(table, "tr")):
            cells = list(iter_children(row, "tc"))
            while cells and _is_merged(cells[-1], "hMerge"):
                cells.pop()
            # Each column has a cell of its own, also where another cell covers it.
            placed = [
                (
                    None if _is_covered(cell) else _read_cell(cell),
                    1,
                    parse_number(get_attribute(cell, "rowSpan"), 1),
                )
                for cell in cells
            ]
            head = has_head and at == 0
            self._builder.add_row(grid.place_row(placed, head=head), head=head)

    def _add_notes(self) -> None:
        """Add the speaker's notes of the slide."""
        root = self._package.read_related(self._name, "notesSlide")
        if root is not None:
            self._builder.skip_hidden(drop_hidden_runs(root))
        for shape in [] if root is None else iter_descendants(root, "sp"):
            if _get_placeholder(shape) not in {None, *_FURNITURE}:
                for paragraph in list_paragraphs(shape):
                    self._builder.add_paragraph(read_paragraph(paragraph))


def _iter_shapes(tree: Element) -> Iterator[Element]:
    """Yield the shapes directly in a slide or a group."""
    for element in tree:
        if get_local_name(element) in {"sp", "grpSp", "graphicFrame"}:
            yield element
        elif get_local_name(element) == "AlternateContent":
            alternative = choose_alternative(element)
            if alternative is not None:
                yield from _iter_shapes(alternative)


def _get_placeholder(shape: Element) -> str | None:
    """Return the role of a shape in its layout; `None` for a free shape."""
    for properties in iter_children(shape, "nvSpPr", "nvGraphicFramePr"):
        placeholder = find_child(properties, "nvPr", "ph")
        return None if placeholder is None else get_attribute(placeholder, "type") or "obj"
    return None


def _locate_shape(shape: Element) -> tuple[int, int]:
    """Return the row and the left edge of a shape; one that the layout places comes first."""
    for properties in (*iter_children(shape, "spPr", "grpSpPr"), shape):
        offset = find_child(properties, "xfrm", "off")
        if offset is not None:
            top = parse_number(get_attribute(offset, "y")) // _SAME_LINE
            return top, parse_number(get_attribute(offset, "x"))
    return -(10**9), 0


def _make_labels(paragraphs: list[Element], is_list: bool) -> list[str]:
    """Return the printed label of each paragraph; empty for prose.

    Args:
        paragraphs: The paragraphs of a shape.
        is_list: Whether paragraphs without a mark of their own get a bullet.
    """
    counts: dict[int, int] = {}
    labels = []
    for paragraph in paragraphs:
        properties = find_child(paragraph, "pPr")
        level = 0 if properties is None else parse_number(get_attribute(properties, "lvl"))
        # A shallower paragraph restarts the numbering of the levels below it.
        counts = {at: count for at, count in counts.items() if at <= level}
        numbered = find_child(properties, "buAutoNum")
        if numbered is None:
            counts.pop(level, None)
            labels.append(_make_bullet(properties, is_list))
            continue
        start = parse_number(get_attribute(numbered, "startAt"), 1)
        counts[level] = counts.get(level, start - 1) + 1
        labels.append(_format_number(counts[level], get_attribute(numbered, "type") or ""))
    return labels


def _make_bullet(properties: Element | None, is_list: bool) -> str:
    """Return the bullet of a paragraph without number; empty for prose."""
    if find_child(properties, "buNone") is not None:
        return ""
    has_mark = (
        find_child(properties, "buChar") is not None or find_child(properties, "buBlip") is not None
    )
    return BULLET if has_mark or is_list else ""


def _format_number(value: int, kind: str) -> str:
    """Format a number by its scheme: `arabicPeriod` gives `1.`, `alphaLcParenBoth` gives `(a)`."""
    name = next((name for name in _STYLES if kind.startswith(name)), "arabic")
    printed = format_number(value, _STYLES[name])
    if kind.endswith("ParenBoth"):
        return f"({printed})"
    return printed + (")" if kind.endswith("ParenR") else "" if kind.endswith("Plain") else ".")


def _read_cell(cell: Element) -> str:
    """Return the text of a cell, a line for each paragraph."""
    return "\n".join(read_paragraph(paragraph) for paragraph in list_paragraphs(cell))


def _is_covered(cell: Element) -> bool:
    """Return whether a cell is covered by another one that spans its column or row."""
    return _is_merged(cell, "hMerge") or _is_merged(cell, "vMerge")


def _is_merged(cell: Element, merge: str) -> bool:
    """Return whether a cell is merged with the one before it in a direction."""
    return get_attribute(cell, merge) in {"1", "true"}
