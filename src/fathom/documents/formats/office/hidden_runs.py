"""Runs of a DOCX file that are left out: struck through, hidden, tiny, or white on white."""

from collections.abc import Mapping

from fathom.documents.formats.office.package import is_on
from fathom.documents.xml_members import (
    Element,
    find_child,
    get_attribute,
    get_local_name,
    get_value,
    iter_children,
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


class HiddenRuns:
    """The rules by which runs of a document are left out.

    Args:
        styles: The root of the styles; `None` without styles.
        is_white: Whether the pages of the document are white.
    """

    def __init__(self, styles: Element | None, *, is_white: bool) -> None:
        self._is_white = is_white
        self._has_shades = styles is not None and any(True for _ in iter_descendants(styles, "shd"))
        self._styles = frozenset[str]() if styles is None else _find_hiding_styles(styles)

    def drop_from(self, part: Element) -> int:
        """Drop the runs that are struck through or unseen, and count those with text.

        White letters are dropped only if their background is surely white.

        Args:
            part: The root of the document, or of its notes, a header or a footer.
        """
        count = 0
        todo: list[tuple[Element, bool, bool]] = [(part, self._is_white, False)]
        while todo:
            parent, on_white, is_left_out = todo.pop()
            for element in list(parent):
                name = get_local_name(element)
                if name == "r" and self._is_hidden(element, on_white, is_left_out):
                    texts = iter_descendants(element, "t")
                    count += any((text.text or "").strip() for text in texts)
                    parent.remove(element)
                    continue
                is_hiding = is_left_out
                if name == "p":
                    is_hiding = get_value(element, "pPr", "pStyle") in self._styles
                todo.append((element, on_white and not self._is_ground(element), is_hiding))
        return count

    def _is_ground(self, element: Element) -> bool:
        """Return whether what lies behind the text of an element may have any colour."""
        name = get_local_name(element)
        return name in _GROUNDS or (name == "p" and _is_shaded(element, styles=self._has_shades))

    def _is_hidden(self, run: Element, on_white: bool, is_left_out: bool) -> bool:
        """Return whether a run is struck through, or no reader sees it.

        Args:
            run: The `w:r`.
            on_white: Whether its background is surely white.
            is_left_out: Whether the style of its paragraph strikes or hides it.
        """
        properties = find_child(run, "rPr")
        is_styled = is_left_out or get_value(properties, "rStyle") in self._styles
        # The run itself may say that it is not struck.
        if is_styled and all(_is_unstated_or_on(properties, name) for name in _LEFT_OUT):
            return True
        return properties is not None and _is_unseen(properties, on_white=on_white)


def _find_hiding_styles(styles: Element) -> frozenset[str]:
    """Return the ids of the styles that strike or hide text, themselves or by their base."""
    named = {
        get_attribute(style, "styleId") or "": style for style in iter_children(styles, "style")
    }
    return frozenset(name for name in named if _hides_text(name, named))


def _hides_text(name: str, named: Mapping[str, Element]) -> bool:
    """Return whether a style strikes or hides text; a style overrules the one it is based on."""
    stated: dict[str, bool] = {}
    seen: set[str] = set()
    while name in named and name not in seen:
        seen.add(name)
        for kind in _LEFT_OUT:
            element = find_child(named[name], "rPr", kind)
            if element is not None:
                stated.setdefault(kind, is_on(element))
        name = get_value(named[name], "basedOn") or ""
    return any(stated.values())


def _is_unstated_or_on(properties: Element | None, name: str) -> bool:
    """Return whether properties do not switch another one off."""
    element = find_child(properties, name)
    return element is None or is_on(element)


def _is_shaded(paragraph: Element, *, styles: bool) -> bool:
    """Return whether a paragraph may have a background; `styles` says if any style has one."""
    has_style = find_child(paragraph, "pPr", "pStyle") is not None
    return find_child(paragraph, "pPr", "shd") is not None or (styles and has_style)


def _is_unseen(properties: Element, *, on_white: bool) -> bool:
    """Return whether the properties of a run strike it through, or make it unseen."""
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
