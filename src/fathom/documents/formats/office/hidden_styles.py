"""Text of an OpenDocument file that is hidden or struck through by its style."""

from collections.abc import Container, Iterable, Iterator, Mapping

from fathom.documents.formats.hidden_style import hides_text
from fathom.documents.xml_members import (
    Element,
    get_attribute,
    get_local_name,
    iter_descendants,
    parse_number,
)

_FAMILIES = {"p": "paragraph", "h": "paragraph", "span": "text", "table-cell": "table-cell"}
"""The families of the styles of the elements that hold text."""
_LINES = ("text-line-through-style", "text-line-through-type")
_VALUES = frozenset({
    "value", "value-type", "date-value", "time-value", "boolean-value", "string-value", "formula",
})  # fmt: skip
"""The attributes of a cell that state its value beside its text."""
_MOST_COLUMNS = 1_000
_StyleKey = tuple[str, str]
"""The family and the name of a style."""


def empty_hidden_text(body: Element, roots: Iterable[Element | None]) -> int:
    """Empty the paragraphs, spans and cells whose style hides or strikes them.

    Args:
        body: The body of the document.
        roots: The roots of the parts that define styles; `None` for a missing part.

    Returns:
        The number of those with text.
    """
    styles = {
        (get_attribute(style, "family") or "", get_attribute(style, "name") or ""): style
        for root in roots
        if root is not None
        for style in iter_descendants(root, "style")
    }
    strikes = {key: _find_strike(key, styles) for key in styles}
    hiding = {key for key, style in styles.items() if strikes[key] or _hides(style)}
    unstruck = {key for key, strike in strikes.items() if strike is False}
    count = 0
    dropped: set[Element] = set()
    for element in list(_iter_hidden(body, hiding)) if hiding else ():
        if element not in dropped:
            count += any(text.strip() for text in element.itertext())
            dropped.update(_empty_element(element, unstruck))
    return count


def _iter_hidden(body: Element, hiding: Container[_StyleKey]) -> Iterator[Element]:
    """Yield the elements that have one of some styles, and cells that a column or row gives one."""
    for element in iter_descendants(body, *_FAMILIES):
        if _has_style(element, hiding):
            yield element
    for table in iter_descendants(body, "table"):
        yield from _iter_hidden_cells(table, hiding)


def _has_style(element: Element, styles: Container[_StyleKey]) -> bool:
    """Return whether the style of an element is one of some styles."""
    name = get_attribute(element, "style-name") or ""
    return (_FAMILIES[get_local_name(element)], name) in styles or ("", name) in styles


def _iter_hidden_cells(table: Element, hiding: Container[_StyleKey]) -> Iterator[Element]:
    """Yield the cells without a style whose row or column gives them one of some styles."""
    columns: list[bool] = []
    for element in iter_descendants(table, "table-column"):
        columns += [_gives_style(element, hiding)] * _count_columns(element)
        del columns[_MOST_COLUMNS:]
    for row in iter_descendants(table, "table-row"):
        is_row = _gives_style(row, hiding)
        at = 0
        for cell in row if is_row or any(columns) else ():
            is_bare = get_attribute(cell, "style-name") is None
            if is_bare and (is_row or any(columns[at : at + 1])):
                yield cell
            at += _count_columns(cell)


def _gives_style(element: Element, styles: Container[_StyleKey]) -> bool:
    """Return whether a row or column gives its cells one of some styles."""
    return ("table-cell", get_attribute(element, "default-cell-style-name") or "") in styles


def _count_columns(element: Element) -> int:
    """Return the number of columns of a cell or of a description of columns."""
    number = parse_number(get_attribute(element, "number-columns-repeated"), 1)
    return max(1, min(number, _MOST_COLUMNS))


def _empty_element(element: Element, unstruck: Container[_StyleKey]) -> list[Element]:
    """Empty an element, but keep its spans whose own style says that they are not struck.

    Returns:
        The elements in it that are dropped.
    """
    spans = [span for span in iter_descendants(element, "span") if _has_style(span, unstruck)]
    shown = {inner for span in spans for inner in span.iter()}
    around = {outer for span in spans for outer in span.iterancestors()} - shown
    dropped: list[Element] = []
    for holder in [element, *(inner for inner in element.iter() if inner in around)]:
        holder.text = None
        for child in list(holder):
            if child in shown or child in around:
                child.tail = None
            else:
                dropped += child.iter()
                holder.remove(child)
    for name in list(element.attrib):
        if str(name).rpartition("}")[2] in _VALUES:
            del element.attrib[name]
    return dropped


def _find_strike(key: _StyleKey, styles: Mapping[_StyleKey, Element]) -> bool | None:
    """Return whether a style, or else the one it is based on, strikes; `None` if none says so."""
    seen: set[_StyleKey] = set()
    while key in styles and key not in seen:
        seen.add(key)
        stated = [
            line
            for properties in styles[key]
            if get_local_name(properties) == "text-properties"
            for name in _LINES
            if (line := get_attribute(properties, name)) is not None
        ]
        if stated:
            return any(line != "none" for line in stated)
        key = key[0], get_attribute(styles[key], "parent-style-name") or ""
    return None


def _hides(style: Element) -> bool:
    """Return whether a style hides its text."""
    for properties in style:
        if get_local_name(properties) == "text-properties":
            size = get_attribute(properties, "font-size") or ""
            is_off = get_attribute(properties, "display") == "none"
            return is_off or hides_text({"font-size": size.lower()}, on_white=False)
    return False
