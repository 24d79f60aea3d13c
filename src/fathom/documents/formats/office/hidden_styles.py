"""Text of an OpenDocument file that is hidden or struck through by its style."""

from collections.abc import Iterable

from fathom.documents.formats.hidden_style import hides_text
from fathom.documents.xml_members import (
    Element,
    get_attribute,
    get_local_name,
    iter_descendants,
)


def empty_hidden_text(body: Element, roots: Iterable[Element | None]) -> int:
    """Empty the paragraphs and spans whose style hides or strikes them, and count those with text.

    Args:
        body: The body of the document.
        roots: The roots of the parts that define styles; `None` for a missing part.
    """
    hidden = {
        name
        for root in roots
        if root is not None
        for style in iter_descendants(root, "style")
        if (_hides(style) or _strikes(style)) and (name := get_attribute(style, "name"))
    }
    count = 0
    for element in list(iter_descendants(body, "p", "h", "span")) if hidden else ():
        if get_attribute(element, "style-name") in hidden:
            count += any(text.strip() for text in element.itertext())
            tail = element.tail  # the text after a span belongs to the paragraph
            element.clear()
            element.tail = tail
    return count


def _strikes(style: Element) -> bool:
    """Return whether a style strikes its text through."""
    lines = [
        get_attribute(properties, name)
        for properties in style
        if get_local_name(properties) == "text-properties"
        for name in ("text-line-through-style", "text-line-through-type")
    ]
    return any(line not in {None, "none"} for line in lines)


def _hides(style: Element) -> bool:
    """Return whether a style hides its text."""
    for properties in style:
        if get_local_name(properties) == "text-properties":
            size = get_attribute(properties, "font-size") or ""
            is_off = get_attribute(properties, "display") == "none"
            return is_off or hides_text({"font-size": size.lower()}, on_white=False)
    return False
