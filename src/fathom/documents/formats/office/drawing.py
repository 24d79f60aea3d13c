"""Text boxes and charts that are drawn on a sheet of a workbook."""

from collections.abc import Iterator
from typing import NamedTuple

from fathom.documents.formats.office.figures import list_titles
from fathom.documents.formats.office.hidden_shapes import drop_hidden_text, get_edges
from fathom.documents.formats.office.package import OfficePackage, choose_alternative
from fathom.documents.formats.office.shapes import list_paragraphs, read_paragraph
from fathom.documents.xml_members import (
    Element,
    find_child,
    get_attribute,
    get_local_name,
    get_text,
    parse_number,
)

_GROUPS = {
    "twoCellAnchor", "oneCellAnchor", "absoluteAnchor", "absSizeAnchor", "relSizeAnchor", "grpSp",
}  # fmt: skip
_PLACES = ("row", "col")


class DrawnText(NamedTuple):
    """The text that is drawn on a sheet.

    Attributes:
        paragraphs: The paragraphs of text boxes, then the titles of charts and their text boxes.
        hidden: The number of texts that are left out because no reader sees them.
    """

    paragraphs: tuple[str, ...] = ()
    hidden: int = 0

    def join(self, other: "DrawnText") -> "DrawnText":
        """Return this text, followed by another one."""
        return DrawnText(self.paragraphs + other.paragraphs, self.hidden + other.hidden)


def read_drawings(package: OfficePackage, sheet: str) -> DrawnText:
    """Return the text that is drawn on a sheet, without the values of charts, which cells hold.

    Args:
        package: The package of the workbook.
        sheet: The name of the part of the sheet, also of one that is a chart.
    """
    drawn = DrawnText()
    for link in package.list_relations(sheet):
        if link.kind == "drawing":
            drawn = drawn.join(_read_boxes(package.read_part(link.target)))
            drawn = drawn.join(_read_charts(package, link.target))
    return drawn


def _read_charts(package: OfficePackage, drawing: str) -> DrawnText:
    """Return the titles of the charts of a drawing and of their axes, and their text boxes."""
    drawn = DrawnText()
    for link in package.list_relations(drawing):
        chart = package.read_part(link.target) if link.kind == "chart" else None
        if chart is not None:
            shapes = package.read_related(link.target, "chartUserShapes")
            drawn = drawn.join(DrawnText(tuple(list_titles(chart)))).join(_read_boxes(shapes))
    return drawn


def _read_boxes(root: Element | None) -> DrawnText:
    """Return the text of the boxes of a drawing from top to bottom and from left to right."""
    if root is None:
        return DrawnText()
    hidden = drop_hidden_text(root, get_edges(None))
    boxes = [box for anchor in sorted(root, key=_locate_anchor) for box in _iter_boxes(anchor)]
    paragraphs = (read_paragraph(item) for box in boxes for item in list_paragraphs(box))
    return DrawnText(tuple(text for text in paragraphs if text.strip()), hidden)


def _locate_anchor(anchor: Element) -> tuple[int, ...]:
    """Return the row and the column of a thing on a sheet; one without them comes first."""
    return tuple(parse_number(get_text(find_child(anchor, "from", name))) for name in _PLACES)


def _iter_boxes(element: Element) -> Iterator[Element]:
    """Yield the shapes in a part of a drawing, but none that repeats the text of a cell."""
    name = get_local_name(element)
    if name == "sp" and not get_attribute(element, "textlink"):
        yield element
    elif name == "AlternateContent":
        alternative = choose_alternative(element)
        for child in () if alternative is None else alternative:
            yield from _iter_boxes(child)
    elif name in _GROUPS:
        for child in element:
            yield from _iter_boxes(child)
