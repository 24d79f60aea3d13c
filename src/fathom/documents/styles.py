"""What a word processing document's styles say about a paragraph: heading, list, code."""

import re
from collections.abc import Iterator

from fathom.documents.markup import Element, attribute, child, children, number

_HEADING = re.compile(r"(?:heading|überschrift|judul|titre|título|kop)\s*(\d)$", re.IGNORECASE)
_CODE = re.compile(r"\b(source ?code|code block|code|html preformatted|preformatted)\b", re.I)
_BODY = 9


class Styles:
    """The paragraph styles of a document; a style without a value asks the one it is based on.

    Args:
        root: Root of `styles.xml`; `None` when the document has none.
    """

    def __init__(self, root: Element | None) -> None:
        styles = [] if root is None else list(children(root, "style"))
        self._styles = {attribute(style, "styleId") or "": style for style in styles}
        self._default = next(
            (
                attribute(style, "styleId") or ""
                for style in styles
                if attribute(style, "type") == "paragraph"
                and attribute(style, "default") in {"1", "true"}
            ),
            "",
        )

    def heading(self, paragraph: Element) -> int | None:
        """The level of a heading from 1; `None` for body text."""
        for owner in self._owners(paragraph):
            outline = _value(child(owner, "pPr", "outlineLvl"))
            if outline is not None:
                level = number(outline, _BODY)
                return level + 1 if level < _BODY else None
        for name in self._names(paragraph):
            if name.lower() == "title":
                return 1
            match = _HEADING.match(name)
            if match:
                return int(match.group(1))
        return None

    def is_code(self, paragraph: Element) -> bool:
        """Whether the style is meant for program text."""
        return any(_CODE.search(name) for name in self._names(paragraph))

    def numbered(self, paragraph: Element) -> tuple[str, int] | None:
        """List and level (from 0) of a numbered or bulleted paragraph."""
        num: str | None = None
        level: str | None = None
        for owner in self._owners(paragraph):
            properties = child(owner, "pPr", "numPr")
            num = num or _value(child(properties, "numId"))
            level = level or _value(child(properties, "ilvl"))
        return (num, number(level)) if num not in {None, "0"} and num else None

    def _owners(self, paragraph: Element) -> Iterator[Element]:
        """The paragraph, its style, the style that one is based on, and so on."""
        yield paragraph
        yield from self._chain(paragraph)

    def _chain(self, paragraph: Element) -> Iterator[Element]:
        name = _value(child(paragraph, "pPr", "pStyle")) or self._default
        seen: set[str] = set()
        while name in self._styles and name not in seen:
            seen.add(name)
            yield self._styles[name]
            name = _value(child(self._styles[name], "basedOn")) or ""

    def _names(self, paragraph: Element) -> list[str]:
        own = _value(child(paragraph, "pPr", "pStyle"))
        chain = [_value(child(style, "name")) or "" for style in self._chain(paragraph)]
        return chain or ([re.sub(r"(\d)$", r" \1", own)] if own else [])


def _value(element: Element | None) -> str | None:
    return None if element is None else attribute(element, "val")
