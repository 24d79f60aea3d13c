"""The text of charts and diagrams in office files."""

from contextlib import suppress

from fathom.documents.base import Builder
from fathom.documents.cells import plain
from fathom.documents.markup import (
    Element,
    attribute,
    child,
    children,
    descendants,
    number,
    text_of,
)
from fathom.documents.numbering import BULLET


def add_chart(builder: Builder, root: Element) -> None:
    """Add a chart: its title, then one row per category with the value of each series."""
    chart = child(root, "chart")
    if chart is None:
        return
    title = child(chart, "title", "tx")
    builder.paragraph("" if title is None else _text(title))
    series = [_series(item) for item in descendants(chart, "ser")]
    categories: dict[int, str] = {}
    for _, names, values in series:
        for at in values:
            categories.setdefault(at, names.get(at, ""))
    for at in sorted(categories):
        named = [(name, values[at]) for name, _, values in series if at in values]
        cells = [f"{name}: {value}" if name else value for name, value in named]
        builder.row([categories[at], *cells])


def add_diagram(builder: Builder, root: Element) -> None:
    """Add the texts of a diagram (SmartArt) as a list."""
    for point in descendants(root, "pt"):
        text = child(point, "t")
        for paragraph in [] if text is None else children(text, "p"):
            builder.item(_text(paragraph), BULLET)


def _text(element: Element) -> str:
    return "".join(text_of(run) for run in descendants(element, "t"))


def _series(ser: Element) -> tuple[str, dict[int, str], dict[int, str]]:
    """Name, categories and values; those two by the index of the point."""
    name = child(ser, "tx")
    return (
        "" if name is None else " ".join(_points(name).values()),
        _first_points(ser, "cat", "xVal"),
        {at: _tidy(value) for at, value in _first_points(ser, "val", "yVal").items()},
    )


def _first_points(ser: Element, *names: str) -> dict[int, str]:
    found = next(children(ser, *names), None)
    return {} if found is None else _points(found)


def _points(element: Element) -> dict[int, str]:
    literal = child(element, "v")
    if literal is not None:
        return {0: text_of(literal)}
    points = descendants(element, "pt")
    return {number(attribute(point, "idx")): text_of(child(point, "v")) for point in points}


def _tidy(value: str) -> str:
    with suppress(ValueError):
        return plain(float(value))
    return value
