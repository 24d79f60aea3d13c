"""Charts and diagrams of presentations and word processing documents, read from their own parts."""

from collections.abc import Mapping

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
    get_value,
    iter_children,
    iter_descendants,
    parse_number,
)

FIGURES = ("chart", "relIds")
"""The names of the elements that stand for a chart and for a diagram in the main part."""

_AXES = ("catAx", "dateAx", "serAx", "valAx")
_ON = {"1", "true"}


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
    """Add a chart: its titles, then a row for each category with the values of all series."""
    chart = find_child(root, "chart")
    if chart is None:
        return
    for title in list_titles(root):
        builder.add_paragraph(title)
    epoch = get_value(root, "date1904") in _ON
    series = [_read_series(item, from_1904=epoch) for item in iter_descendants(chart, "ser")]
    unnamed = _find_unit(chart)
    categories: dict[int, str] = {}
    for _, names, values in series:
        for at in values:
            categories.setdefault(at, names.get(at, ""))
    for at in sorted(categories):
        pairs = [(name or unnamed, values[at]) for name, _, values in series if at in values]
        cells = [f"{name}: {value}" if name else value for name, value in pairs]
        builder.add_row([categories[at], *cells])


def list_titles(root: Element) -> list[str]:
    """Return the title of a chart and the titles of its axes, in their order."""
    chart = find_child(root, "chart")
    if chart is None:
        return []
    plot = find_child(chart, "plotArea")
    axes = [] if plot is None else iter_children(plot, *_AXES)
    return list(filter(None, map(_read_title, (chart, *axes))))


def _read_title(holder: Element) -> str:
    """Return the title of a chart or an axis, also one that is the text of a cell."""
    title = find_child(holder, "title", "tx")
    if title is None:
        return ""
    lines = [_collect_words(paragraph) for paragraph in iter_descendants(title, "p")]
    return " ".join(" ".join(lines or _read_points(title).values()).split())


def _find_unit(chart: Element) -> str:
    """Return the title of the axis of the values, if there is only one; else nothing."""
    axes = list(iter_descendants(chart, "valAx"))
    return _read_title(axes[0]) if len(axes) == 1 else ""


def add_diagram(builder: Builder, root: Element) -> None:
    """Add the texts of a diagram (SmartArt) as a list."""
    for point in iter_descendants(root, "pt"):
        text = find_child(point, "t")
        for paragraph in [] if text is None else iter_children(text, "p"):
            builder.add_item(_collect_words(paragraph), BULLET)


def _collect_words(element: Element) -> str:
    """Return the text of all runs below an element."""
    return "".join(get_text(run) for run in iter_descendants(element, "t"))


def _read_series(ser: Element, *, from_1904: bool) -> tuple[str, dict[int, str], dict[int, str]]:
    """Return the name of a series, and its categories and values by the index of the point.

    Args:
        ser: The series.
        from_1904: Whether its dates count from 1904.
    """
    name = find_child(ser, "tx")
    return (
        "" if name is None else " ".join(_read_points(name).values()),
        _read_first_points(ser, "cat", "xVal", from_1904=from_1904),
        _read_first_points(ser, "val", "yVal", from_1904=from_1904),
    )


def _read_first_points(ser: Element, *names: str, from_1904: bool) -> dict[int, str]:
    """Return the points in the first child with one of these names, by index.

    Numbers are printed as their format says, such as dates and percentages.
    """
    source = next(iter_children(ser, *names), None)
    if source is None:
        return {}
    points = _read_points(source)
    cache = next(iter_descendants(source, "numCache", "numLit"), None)
    if cache is None and get_local_name(source) in {"cat", "xVal"}:
        return points
    form = get_text(find_child(cache, "formatCode")).strip()
    return {at: _print_value(value, form, from_1904=from_1904) for at, value in points.items()}


def _print_value(value: str, form: str, *, from_1904: bool) -> str:
    """Return a number as its format prints it; another text unchanged."""
    try:
        number = float(value)
    except ValueError:
        return value
    if form in {"", "General"}:
        return format_value(number)
    # The library for workbooks takes long to load, and most charts do without.
    from fathom.documents.formats.office.number_format import print_number, read_date, read_format

    stated = read_format(form)
    if not stated.is_date:
        return print_number(number, stated)
    return format_value(read_date(number, stated, from_1904=from_1904))


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
