"""Runs of a DOCX file that are left out: struck through, hidden, tiny, or white on white."""

from fathom.documents.formats.office.package import is_on
from fathom.documents.xml_members import (
    Element,
    find_child,
    get_local_name,
    get_value,
    iter_descendants,
    parse_number,
)

_TINIEST = 4
"""The largest size of letters, in half points, that nobody can read."""
_LEFT_OUT = ("vanish", "strike", "dstrike")
"""The properties of runs that are not shown, or struck through: such a text no longer holds."""
_BRIGHTEST = 240
"""The least value of red, green and blue, of 255, in a colour that cannot be seen on white."""
_GROUNDS = frozenset({"tbl", "txbxContent", "drawing", "pict"})
"""The elements whose background may have any colour."""


def drop_hidden_runs(document: Element, styles: Element | None) -> int:
    """Drop the runs that are struck through or unseen, and return the number of those with text.

    White letters are dropped only if their background is surely white.

    Args:
        document: The root of the document.
        styles: The root of its styles; `None` without styles.
    """
    is_white = find_child(document, "background") is None
    shades = styles is not None and next(iter_descendants(styles, "shd"), None) is not None
    count = 0
    todo: list[tuple[Element, bool]] = [(document, is_white)]
    while todo:
        parent, on_white = todo.pop()
        for element in list(parent):
            name = get_local_name(element)
            if name == "r" and _is_hidden(element, on_white=on_white):
                count += any((text.text or "").strip() for text in iter_descendants(element, "t"))
                parent.remove(element)
                continue
            is_shaded = name in _GROUNDS or (name == "p" and _is_shaded(element, styles=shades))
            todo.append((element, on_white and not is_shaded))
    return count


def _is_shaded(paragraph: Element, *, styles: bool) -> bool:
    """Return whether a paragraph may have a background; `styles` says if any style has one."""
    has_style = find_child(paragraph, "pPr", "pStyle") is not None
    return find_child(paragraph, "pPr", "shd") is not None or (styles and has_style)


def _is_hidden(run: Element, *, on_white: bool) -> bool:
    """Return whether a run is struck through, or no reader sees it."""
    properties = find_child(run, "rPr")
    if properties is None:
        return False
    size = parse_number(get_value(properties, "sz"), default=_TINIEST + 1)
    if size <= _TINIEST or any(is_on(find_child(properties, name)) for name in _LEFT_OUT):
        return True
    is_painted = any(find_child(properties, name) is not None for name in ("shd", "highlight"))
    return on_white and not is_painted and _is_white(get_value(properties, "color") or "")


def _is_white(colour: str) -> bool:
    """Return whether a hexadecimal colour cannot be seen on white."""
    try:
        return len(colour) == 6 and min(bytes.fromhex(colour)) >= _BRIGHTEST
    except ValueError:
        return False
