"""The text inside one paragraph of an OpenDocument file, and the styles of paragraphs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fathom.documents.markup import Element, attribute, descendants, local, number

_SIGNS = {"tab": "\t", "line-break": "\n"}
_SKIPPED = {"annotation", "annotation-end", "title", "desc", "ruby-text", "script", "object"}
_MOST_SPACES = 1_000


@dataclass(slots=True)
class Inline:
    """What a paragraph holds: its text, text boxes anchored in it, notes with their marks."""

    text: str = ""
    boxes: list[Element] = field(default_factory=list)
    notes: list[tuple[str, Element]] = field(default_factory=list)


Mark = Callable[[Element], tuple[str, Element] | None]


def read_inline(paragraph: Element, mark: Mark) -> Inline:
    """Read a paragraph.

    Args:
        paragraph: A `text:p` or `text:h`.
        mark: Gives mark and body of a note.
    """
    inline = Inline()
    inline.text = "".join(_pieces(paragraph, inline, mark)).strip()
    return inline


def paragraph_styles(roots: Sequence[Element]) -> Mapping[str, tuple[str, ...]]:
    """Each paragraph style with the styles it is based on, itself first."""
    parents: dict[str, str] = {}
    for root in roots:
        for style in descendants(root, "style"):
            if attribute(style, "family") == "paragraph":
                name = attribute(style, "name") or ""
                parents.setdefault(name, attribute(style, "parent-style-name") or "")
    return {name: _chain(name, parents) for name in parents}


def _chain(name: str, parents: Mapping[str, str]) -> tuple[str, ...]:
    chain: list[str] = []
    while name and name not in chain:
        chain.append(name)
        name = parents.get(name, "")
    return tuple(chain)


def _pieces(element: Element, into: Inline, mark: Mark) -> Iterator[str]:
    yield _collapsed(element.text)
    for below in element:
        name = local(below)
        if name in _SIGNS:
            yield _SIGNS[name]
        elif name == "s":
            yield " " * min(number(attribute(below, "c"), 1), _MOST_SPACES)
        elif name == "note":
            found = mark(below)
            if found is not None:
                into.notes.append(found)
                yield f"[{found[0]}]"
        elif name == "text-box":
            into.boxes.append(below)
        elif name not in _SKIPPED:
            yield from _pieces(below, into, mark)
        yield _collapsed(below.tail)


def _collapsed(text: str | None) -> str:
    """White space as the format means it: any run of it is one space."""
    if not text:
        return ""
    words = " ".join(text.split())
    before = " " if text[0].isspace() else ""
    after = " " if text[-1].isspace() and words else ""
    return before + words + after
