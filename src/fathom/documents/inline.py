"""The text inside one paragraph of a word processing document."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from fathom.documents.markup import Element, attribute, child, local
from fathom.documents.ooxml import chosen, truth

# Deleted and moved-away text, properties, field codes, ruby readings.
_SKIPPED = {
    "del", "moveFrom", "pPr", "rPr", "tblPr", "sdtPr", "instrText", "delText", "delInstrText",
    "rt", "fPr", "radPr", "sSupPr", "sSubPr", "naryPr", "dPr", "ctrlPr",
    "oMathParaPr",
}  # fmt: skip
_SIGNS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_SCRIPTS = {"num": "", "den": "/", "sup": "^", "sub": "_", "deg": "√"}
_SYMBOL_FONTS = 0xF000


@dataclass(slots=True)
class Inline:
    """What a paragraph holds.

    Attributes:
        text: Its runs, joined without separator.
        boxes: The contents of text boxes anchored in it.
        notes: The marks and bodies of foot- and endnotes referred to in it.
    """

    text: str = ""
    boxes: list[Element] = field(default_factory=list)
    notes: list[tuple[str, Element]] = field(default_factory=list)


Note = Callable[[Element], tuple[str, Element] | None]


def read_inline(paragraph: Element, note: Note) -> Inline:
    """Read a paragraph.

    Args:
        paragraph: The `w:p`.
        note: Gives mark and body for a foot- or endnote reference.
    """
    inline = Inline()
    inline.text = "".join(_pieces(paragraph, inline, note))
    return inline


def _pieces(element: Element, into: Inline, note: Note) -> Iterator[str]:
    for below in element:
        name = local(below)
        if name in _SKIPPED or (name == "r" and truth(child(below, "rPr", "vanish"))):
            continue
        if name == "t":
            yield below.text or ""
        elif name in _SIGNS:
            yield _SIGNS[name]
        elif name == "txbxContent":
            into.boxes.append(below)
        else:
            yield from _special(below, name, into, note)


def _special(element: Element, name: str, into: Inline, note: Note) -> Iterator[str]:
    if name == "AlternateContent":
        one = chosen(element)
        if one is not None:
            yield from _pieces(one, into, note)
    elif name in {"footnoteReference", "endnoteReference"}:
        found = note(element)
        if found is not None:
            into.notes.append(found)
            yield f"[{found[0]}]"
    elif name == "sym":
        yield _symbol(attribute(element, "char"))
    else:
        yield _wrapped(element, name, "".join(_pieces(element, into, note)))


def _wrapped(element: Element, name: str, inner: str) -> str:
    """What stands around the text of an element in an equation; elsewhere nothing."""
    if name in _SCRIPTS:
        return _script(name, inner)
    if name == "d":
        begin = _sign(child(element, "dPr", "begChr"), "(")
        return begin + inner + _sign(child(element, "dPr", "endChr"), ")")
    if name == "nary":
        return _sign(child(element, "naryPr", "chr"), "∫") + inner
    return inner


def _sign(element: Element | None, usual: str) -> str:
    return usual if element is None else attribute(element, "val") or ""


def _script(name: str, inner: str) -> str:
    """Fractions, powers and indices in one line: `a/b`, `x^2`, `a_(n+1)`."""
    if not inner.strip():
        return "√" if name == "deg" else ""
    simple = inner.isalnum() or len(inner) == 1
    return _SCRIPTS[name] + (inner if simple else f"({inner})")


def _symbol(code: str | None) -> str:
    try:
        value = int(code or "", 16)
    except ValueError:
        return ""
    # Symbol fonts live in the private use area; without the font the sign has no meaning.
    return "" if _SYMBOL_FONTS <= value <= _SYMBOL_FONTS + 0xFF else chr(value)
