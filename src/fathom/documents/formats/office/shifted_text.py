"""Superscripts and subscripts of an OpenDocument file, which its styles state."""

from collections.abc import Iterable, Mapping

from fathom.documents.formats.superscripts import mark_script
from fathom.documents.xml_members import Element, get_attribute, iter_children, iter_descendants

_NAMED = {"super": 1.0, "sub": -1.0}


def mark_scripts(body: Element, roots: Iterable[Element]) -> None:
    """Put signs before superscripts and subscripts, to keep them apart from the text before.

    Args:
        body: The body of the document.
        roots: The roots of the parts that define styles.
    """
    styles = {
        get_attribute(style, "name") or "": style
        for root in roots
        for style in iter_descendants(root, "style")
        if get_attribute(style, "family") == "text"
    }
    shifts = {name: shift for name in styles if (shift := _find_shift(name, styles))}
    for span in iter_descendants(body, "span") if shifts else ():
        shift = _get_shift(span, shifts)
        previous = span.getprevious()
        is_continued = previous is not None and not previous.tail
        if shift and not (is_continued and _get_shift(previous, shifts) == shift):
            mark_script(span, raised=shift > 0)


def _get_shift(span: Element | None, shifts: Mapping[str, float]) -> float:
    """Return how far a span is raised; negative for a lowered one."""
    return 0.0 if span is None else shifts.get(get_attribute(span, "style-name") or "", 0.0)


def _find_shift(name: str, styles: Mapping[str, Element]) -> float:
    """Return how far a style, or else the one it is based on, raises its text."""
    seen: set[str] = set()
    while name in styles and name not in seen:
        seen.add(name)
        for properties in iter_children(styles[name], "text-properties"):
            position = (get_attribute(properties, "text-position") or "").split()
            if position:
                return _NAMED.get(position[0]) or _parse_percentage(position[0])
        name = get_attribute(styles[name], "parent-style-name") or ""
    return 0.0


def _parse_percentage(text: str) -> float:
    """Return the number before a sign of percent; 0 without one."""
    try:
        return float(text.removesuffix("%"))
    except ValueError:
        return 0.0
