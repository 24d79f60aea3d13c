"""Text of an OpenDocument file that is hidden or struck through by its style."""

from collections.abc import Callable, Iterable

from fathom.documents.formats.hidden_style import hides_text
from fathom.documents.formats.struck import mark_elements
from fathom.documents.xml_members import (
    Element,
    get_attribute,
    get_local_name,
    iter_descendants,
)


def empty_hidden_text(body: Element, roots: Iterable[Element | None]) -> int:
    """Empty the paragraphs and spans whose style hides them, and count those with text.

    Args:
        body: The body of the document.
        roots: The roots of the parts that define styles; `None` for a missing part.
    """
    hidden = _list_styles(roots, _hides)
    count = 0
    for element in list(iter_descendants(body, "p", "h", "span")) if hidden else ():
        if get_attribute(element, "style-name") in hidden:
            count += any(text.strip() for text in element.itertext())
            tail = element.tail  # the text after a span belongs to the paragraph
            element.clear()
            element.tail = tail
    return count


def mark_struck_text(body: Element, roots: Iterable[Element | None]) -> None:
    """Put marks around the paragraphs and spans whose style strikes them through.

    Args:
        body: The body of the document.
        roots: The roots of the parts that define styles; `None` for a missing part.
    """
    if struck := _list_styles(roots, _strikes):
        mark_elements(
            body,
            lambda element: (
                get_local_name(element) in {"p", "h", "span"}
                and get_attribute(element, "style-name") in struck
            ),
        )


def _list_styles(
    roots: Iterable[Element | None], has_property: Callable[[Element], bool]
) -> set[str]:
    """Return the names of the styles that have a property."""
    return {
        name
        for root in roots
        if root is not None
        for style in iter_descendants(root, "style")
        if has_property(style) and (name := get_attribute(style, "name"))
    }


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
