"""Struck text, which is on the page but no longer holds: it is marked `~~10~~`, as in Markdown."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

MARK = "~~"


def mark_texts(texts: Iterable[Any]) -> None:
    """Put marks around texts that follow each other, inside of the white space at their ends.

    Args:
        texts: The elements that hold them.
    """
    filled = [element for element in texts if (element.text or "").strip()]
    if filled:
        filled[0].text = _open_mark(filled[0].text)
        filled[-1].text = _close_mark(filled[-1].text)


def mark_elements(
    root: Any,  # noqa: ANN401 - lxml has no types
    is_struck: Callable[[Any], bool],
    is_block: Callable[[Any], bool] = lambda _: False,
) -> None:
    """Put marks around the struck elements of a tree.

    Args:
        root: The root of the tree.
        is_struck: Whether an element, with all in it, is struck.
        is_block: Whether an element stands in lines of its own; marks do not reach over several.
    """
    todo = [root]
    while todo:
        element = todo.pop()
        if not isinstance(element.tag, str):
            continue
        if is_struck(element):
            for leaf in _list_leaves(element, is_block):
                _mark_element(leaf)
        else:
            todo.extend(element)


def _list_leaves(element: Any, is_block: Callable[[Any], bool]) -> list[Any]:  # noqa: ANN401
    """Return the blocks in an element that hold no further ones; the element itself without any."""
    blocks = [block for block in _iter_elements(element) if is_block(block)]
    around: set[Any] = set()
    for block in blocks:
        parent = block.getparent()
        while parent is not element and parent not in around:
            around.add(parent)
            parent = parent.getparent()
    return [block for block in blocks if block not in around] or [element]


def _iter_elements(element: Any) -> Iterator[Any]:  # noqa: ANN401
    """Yield the elements below an element, without comments."""
    return (below for below in element.iterdescendants() if isinstance(below.tag, str))


def _mark_element(element: Any) -> None:  # noqa: ANN401
    """Put marks around the text in an element, if it has any."""
    if not any(text.strip() for text in element.itertext()):
        return
    element.text = _open_mark(element.text or "")
    if len(element):
        element[-1].tail = _close_mark(element[-1].tail or "")
    else:
        element.text = _close_mark(element.text)


def _open_mark(text: str) -> str:
    rest = text.lstrip()
    return f"{text[: len(text) - len(rest)]}{MARK}{rest}"


def _close_mark(text: str) -> str:
    rest = text.rstrip()
    return f"{rest}{MARK}{text[len(rest) :]}"
