"""Charts and diagrams of presentations and word processing documents, read from their own parts."""

from collections.abc import Mapping
from contextlib import suppress

from fathom.documents.base import Builder
from fathom.documents.formats.office.cells import format_value
from fathom.documents.formats.office.numbering import BULLET
from fathom.documents.formats.office.package import OfficePackage, get_relation_id
from fathom.documents.xml_members import (
    Element,
    find_child,
    get_attribute,
    get_local_name,
    get_text,
    iter_children,
    iter_descendants,
    parse_number,
)

FIGURES = ("chart", "relIds")
"""The names of the elements that stand for a chart and for a diagram in the main part."""


def add_figure(
    builder: Builder, figure: Element, package: OfficePackage, targets: Mapping[str, str]
) -> None:
    """Add the text of a chart or a diagram; nothing if its part is missing.

    Args:
        builder: The builder that receives the text.
        figure: The element that stands for it, one of `FIGURES`.
        package: The package with its part.
        targets: The names of the parts to which the part around it links, by the link's id.
    """
    # A diagram links to its data, its layout and its colours.
    link = get_attribute(figure, "dm") or get_relation_id(figure)
    root = package.read_part(targets.get(link, ""))
    if root is not None:
        add = add_chart if get_local_name(figure) == "chart" else add_diagram
        add(builder, root)


def add_chart(builder: Builder, root: Element) -> None:
    """Add a chart: its title, then a row for each category with the values of all series."""
    chart = find_child(root, "chart")
    if chart is None:
        return
    title = find_child(chart, "title", "tx")
    builder.add_paragraph("" if title is None else _collect_words(title))
    series = [_read_series(item) for item in iter_descendants(chart, "ser")]
    categories: dict[int, str] = {}
    for _, names, values in series:
        for at in values:
            categories.setdefault(at, names.get(at, ""))
    for at in sorted(categories):
        pairs = [(name, values[at]) for name, _, values in series if at in values]
        cells = [f"{name}: {value}" if name else value for name, value in pairs]
        builder.add_row([categories[at], *cells])


def add_diagram(builder: Builder, root: Element) -> None:
    """Add the texts of a diagram (SmartArt) as a list."""
    for point in iter_descendants(root, "pt"):
        text = find_child(point, "t")
        for paragraph in [] if text is None else iter_children(text, "p"):
            builder.add_item(_collect_words(paragraph), BULLET)


def _collect_words(element: Element) -> str:
    """Return the text of all runs below an element."""
    return "".join(get_text(run) for run in iter_descendants(element, "t"))


def _read_series(ser: Element) -> tuple[str, dict[int, str], dict[int, str]]:
    """Return the name of a series, and its categories and values by the index of the point."""
    name = find_child(ser, "tx")
    return (
        "" if name is None else " ".join(_read_points(name).values()),
        _read_first_points(ser, "cat", "xVal"),
        {at: _tidy_number(value) for at, value in _read_first_points(ser, "val", "yVal").items()},
    )


def _read_first_points(ser: Element, *names: str) -> dict[int, str]:
    """Return the points in the first child with one of these names, by index."""
    source = next(iter_children(ser, *names), None)
    return {} if source is None else _read_points(source)


def _read_points(element: Element) -> dict[int, str]:
    """Return the texts of the points in an element, by index."""
    literal = find_child(element, "v")
    if literal is not None:
        return {0: get_text(literal)}
    points = iter_descendants(element, "pt")
    return {
        parse_number(get_attribute(point, "idx")): get_text(find_child(point, "v"))
        for point in points
    }


def _tidy_number(value: str) -> str:
    """Return a number without the noise of binary fractions; another text unchanged."""
    with suppress(ValueError):
        return format_value(float(value))
    return value
