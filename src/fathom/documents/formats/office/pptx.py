"""Presentations: each slide is a page, its title a heading; tables, charts, diagrams, notes."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from fathom.documents.base import Builder, Parsed
from fathom.documents.formats.office.cells import plain
from fathom.documents.formats.office.numbering import BULLET, spell
from fathom.documents.formats.office.package import Package, chosen, relation_id
from fathom.documents.formats.office.pictures import Pictures
from fathom.documents.xml_members import (
    Element,
    attribute,
    child,
    children,
    descendants,
    local,
    number,
    text_of,
)

if TYPE_CHECKING:
    from fathom.documents.formats.pdf.lines import Recogniser


def add_chart(builder: Builder, root: Element) -> None:
    """Add a chart: its title, then one row per category with the value of each series."""
    chart = child(root, "chart")
    if chart is None:
        return
    title = child(chart, "title", "tx")
    builder.paragraph("" if title is None else _words(title))
    series = [_series(item) for item in descendants(chart, "ser")]
    categories: dict[int, str] = {}
    for _, names, values in series:
        for at in values:
            categories.setdefault(at, names.get(at, ""))
    for at in sorted(categories):
        pairs = [(name, values[at]) for name, _, values in series if at in values]
        cells = [f"{name}: {value}" if name else value for name, value in pairs]
        builder.row([categories[at], *cells])


def add_diagram(builder: Builder, root: Element) -> None:
    """Add the texts of a diagram (SmartArt) as a list."""
    for point in descendants(root, "pt"):
        text = child(point, "t")
        for paragraph in [] if text is None else children(text, "p"):
            builder.item(_words(paragraph), BULLET)


def _words(element: Element) -> str:
    return "".join(text_of(run) for run in descendants(element, "t"))


def _series(ser: Element) -> tuple[str, dict[int, str], dict[int, str]]:
    """Return name, categories and values of a series; the latter two by the index of the point."""
    name = child(ser, "tx")
    return (
        "" if name is None else " ".join(_points(name).values()),
        _first_points(ser, "cat", "xVal"),
        {at: _tidy(value) for at, value in _first_points(ser, "val", "yVal").items()},
    )


def _first_points(ser: Element, *names: str) -> dict[int, str]:
    source = next(children(ser, *names), None)
    return {} if source is None else _points(source)


def _points(element: Element) -> dict[int, str]:
    literal = child(element, "v")
    if literal is not None:
        return {0: text_of(literal)}
    points = descendants(element, "pt")
    return {number(attribute(point, "idx")): text_of(child(point, "v")) for point in points}


def _tidy(value: str) -> str:
    with suppress(ValueError):
        return plain(float(value))
    return value


_TITLES = {"title", "ctrTitle"}
_FURNITURE = {"dt", "ftr", "sldNum", "hdr", "sldImg"}
_PLAIN = {"subTitle", *_TITLES}
_SAME_LINE = 360_000  # one centimetre in the format's unit
_STYLES = {
    "arabic": "decimal", "alphaLc": "lowerLetter", "alphaUc": "upperLetter",
    "romanLc": "lowerRoman", "romanUc": "upperRoman",
}  # fmt: skip


def parse(data: bytes, recogniser: "Recogniser | None" = None) -> Parsed:
    """Parse a PPTX file; the recogniser, if given, reads the pictures on its slides.

    Raises:
        Refused: `no_text_layer` when it holds pictures only, `empty`, `failed`, `encrypted`.
    """
    package = Package(data)
    name, root = package.main("ppt/presentation.xml")
    targets = {link.id: link.target for link in package.relations(name) if link.kind == "slide"}
    slides = [targets.get(relation_id(item), "") for item in descendants(root, "sldId")]
    builder = Builder()
    pictures = Pictures(package.archive, "/media/", recogniser)
    has_title = False
    for page, slide in enumerate(slides, start=1):
        builder.page(page)
        # Only after a titled slide does a slide without title need one of its own.
        usual_title = f"Slide {page}" if has_title else ""
        has_title = _Slide(package, slide, builder).add(usual_title) or has_title
        for link in package.relations(slide):
            pictures.add(builder, link.target, below=1)
    return pictures.document(builder, *package.properties(), fewest_chars=0)


class _Slide:
    """One slide and the parts that it links to."""

    def __init__(self, package: Package, name: str, builder: Builder) -> None:
        self._package = package
        self._name = name
        self._builder = builder
        self._targets = {link.id: link.target for link in package.relations(name)}

    def add(self, usual_title: str) -> bool:
        """Add the title, the shapes from top to bottom and left to right, and the notes.

        Args:
            usual_title: The heading of a slide without title, which otherwise would seem to belong
                to the slide before.

        Returns:
            Whether the slide has its own title.
        """
        root = self._package.part(self._name)
        tree = None if root is None else child(root, "cSld", "spTree")
        if tree is None:
            return False
        shapes = list(_shapes(tree))
        titles = [shape for shape in shapes if _placeholder(shape) in _TITLES]
        title = " ".join(_text(p) for shape in titles for p in _paragraphs(shape)).strip()
        self._builder.heading(title or usual_title, 1)
        self._add_shapes(shape for shape in shapes if _placeholder(shape) not in _TITLES)
        self._add_notes()
        return bool(title)

    def _add_shapes(self, shapes: Iterable[Element]) -> None:
        for shape in sorted(shapes, key=_place):
            kind = local(shape)
            if kind == "grpSp":
                self._add_shapes(_shapes(shape))
            elif kind == "graphicFrame":
                self._add_frame(shape)
            elif _placeholder(shape) not in _FURNITURE:
                self._add_text(shape)

    def _add_text(self, shape: Element) -> None:
        paragraphs = [p for p in _paragraphs(shape) if _text(p).strip()]
        placeholder = _placeholder(shape)
        is_list = placeholder is not None and placeholder not in _PLAIN and len(paragraphs) > 1
        for paragraph, label in zip(paragraphs, _labels(paragraphs, is_list), strict=True):
            if label:
                self._builder.item(_text(paragraph), label)
            else:
                self._builder.paragraph(_text(paragraph))

    def _add_frame(self, frame: Element) -> None:
        for content in descendants(frame, "tbl", "chart", "relIds"):
            if local(content) == "tbl":
                self._add_table(content)
                continue
            part = self._package.part(self._targets.get(_data_id(content), ""))
            if part is not None:
                add = add_chart if local(content) == "chart" else add_diagram
                add(self._builder, part)

    def _add_table(self, table: Element) -> None:
        for row in children(table, "tr"):
            cells = [cell for cell in children(row, "tc") if not _continues(cell, "hMerge")]
            self._builder.row(["" if _continues(cell, "vMerge") else _cell(cell) for cell in cells])

    def _add_notes(self) -> None:
        root = self._package.related(self._name, "notesSlide")
        for shape in [] if root is None else descendants(root, "sp"):
            if _placeholder(shape) not in {None, *_FURNITURE}:
                for paragraph in _paragraphs(shape):
                    self._builder.paragraph(_text(paragraph))


def _shapes(tree: Element) -> Iterator[Element]:
    for element in tree:
        if local(element) in {"sp", "grpSp", "graphicFrame"}:
            yield element
        elif local(element) == "AlternateContent":
            alternative = chosen(element)
            if alternative is not None:
                yield from _shapes(alternative)


def _placeholder(shape: Element) -> str | None:
    """Return the role of a shape in its layout; `None` for a free shape."""
    for properties in children(shape, "nvSpPr", "nvGraphicFramePr"):
        placeholder = child(properties, "nvPr", "ph")
        return None if placeholder is None else attribute(placeholder, "type") or "obj"
    return None


def _place(shape: Element) -> tuple[int, int]:
    """Return row and left edge; a shape placed by the layout comes first, in file order."""
    for properties in (*children(shape, "spPr", "grpSpPr"), shape):
        offset = child(properties, "xfrm", "off")
        if offset is not None:
            top = number(attribute(offset, "y")) // _SAME_LINE
            return top, number(attribute(offset, "x"))
    return -(10**9), 0


def _paragraphs(shape: Element) -> list[Element]:
    body = child(shape, "txBody")
    return [] if body is None else list(children(body, "p"))


def _text(paragraph: Element) -> str:
    """Return the text of runs and fields without separator; equations by their letters."""
    pieces = descendants(paragraph, "t", "br")
    return "".join("\n" if local(piece) == "br" else piece.text or "" for piece in pieces)


def _labels(paragraphs: list[Element], is_list: bool) -> list[str]:
    """Return the printed label of each paragraph; empty for prose."""
    counts: dict[int, int] = {}
    labels = []
    for paragraph in paragraphs:
        properties = child(paragraph, "pPr")
        level = 0 if properties is None else number(attribute(properties, "lvl"))
        # A shallower paragraph restarts the numbering of the levels below it.
        counts = {at: count for at, count in counts.items() if at <= level}
        numbered = child(properties, "buAutoNum")
        if numbered is None:
            counts.pop(level, None)
            labels.append(_bullet(properties, is_list))
            continue
        start = number(attribute(numbered, "startAt"), 1)
        counts[level] = counts.get(level, start - 1) + 1
        labels.append(_auto_number(counts[level], attribute(numbered, "type") or ""))
    return labels


def _bullet(properties: Element | None, is_list: bool) -> str:
    if child(properties, "buNone") is not None:
        return ""
    has_mark = child(properties, "buChar") is not None or child(properties, "buBlip") is not None
    return BULLET if has_mark or is_list else ""


def _auto_number(value: int, kind: str) -> str:
    """Format a number by its scheme: `arabicPeriod` gives `1.`, `alphaLcParenBoth` gives `(a)`."""
    name = next((name for name in _STYLES if kind.startswith(name)), "arabic")
    printed = spell(value, _STYLES[name])
    if kind.endswith("ParenBoth"):
        return f"({printed})"
    return printed + (")" if kind.endswith("ParenR") else "" if kind.endswith("Plain") else ".")


def _cell(cell: Element) -> str:
    return "\n".join(_text(paragraph) for paragraph in _paragraphs(cell))


def _continues(cell: Element, merge: str) -> bool:
    return attribute(cell, merge) in {"1", "true"}


def _data_id(content: Element) -> str:
    """Return the relationship to a chart's part or, from a diagram's four, to its data."""
    return attribute(content, "dm") or relation_id(content)
