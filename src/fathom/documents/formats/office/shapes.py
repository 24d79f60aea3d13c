"""Text of the shapes of DrawingML, which slides and the sheets of workbooks share."""

from fathom.documents.formats.superscripts import choose_sign
from fathom.documents.xml_members import (
    Element,
    find_child,
    get_attribute,
    get_local_name,
    iter_children,
    iter_descendants,
    parse_number,
)


def list_paragraphs(shape: Element) -> list[Element]:
    """Return the paragraphs of a shape or cell."""
    body = find_child(shape, "txBody")
    return [] if body is None else list(iter_children(body, "p"))


def read_paragraph(paragraph: Element) -> str:
    """Return the text of a paragraph, with signs before superscripts and subscripts."""
    words: list[str] = []
    last = 0
    for piece in iter_descendants(paragraph, "t", "br"):
        properties = find_child(piece.getparent(), "rPr")
        baseline = get_attribute(properties, "baseline") if properties is not None else None
        shift = parse_number((baseline or "").removesuffix("%"))
        if shift and shift != last:
            sign = choose_sign("".join(words[-1:]), piece.text or "", raised=shift > 0)
            words.append(sign)
        words.append("\n" if get_local_name(piece) == "br" else piece.text or "")
        last = shift
    return "".join(words).replace("\u00ad", "")  # a soft hyphen parts no word
