"""Any XML, including feeds and articles (DocBook, JATS): the text of the elements in order."""

import re
from collections import Counter
from collections.abc import Iterator
from html.entities import html5
from typing import Any

from lxml import etree

from fathom.documents.base import Builder, ParsedDocument, ParseRefusal
from fathom.documents.formats.cell_grid import CellGrid
from fathom.documents.formats.formula import format_math
from fathom.documents.formats.html import add_fragment
from fathom.documents.formats.list_numbers import format_number
from fathom.documents.formats.office import flat_package, odt
from fathom.documents.formats.superscripts import mark_script

_ENTRIES = frozenset({"item", "entry"})
_TITLES = frozenset({"title", "heading", "head", "subject", "name"})
_PLAIN_TITLES = frozenset({"head", "subject", "name"})
"""The elements that are no titles if they have parts of their own."""
_ARTICLE_HEADS = frozenset({"title-group", "front", "front-stub", "article-meta"})
"""The elements in which `article-title` is the title of the article, and not of a cited one."""
_FRAMES = _ARTICLE_HEADS | {"teiheader", "filedesc", "titlestmt", "prolog", "caption"}
"""The elements around a title that only frame it, in addition to DocBook's `info`."""
_CAPTIONED = frozenset({
    "table", "informaltable", "table-wrap", "figure", "informalfigure", "fig", "fig-group",
    "example", "informalexample", "equation", "disp-formula", "formalpara", "note", "tip",
    "warning", "important", "caution", "blockquote", "epigraph", "procedure", "step",
    "itemizedlist", "orderedlist", "variablelist", "list", "def-list", "biblioentry", "biblioset",
    "bibliomset", "ref", "element-citation", "mixed-citation", "citation", "media",
    "supplementary-material",
})  # fmt: skip
"""The elements whose titles are captions, and no headings of the text after them."""
_PEOPLE = frozenset({"author", "contributor", "creator", "editor", "publisher", "owner", "person"})
_JOINED = frozenset({
    "name", "string-name", "personname", "person-group", "element-citation", "pub-date", "date",
})  # fmt: skip
"""The elements whose parts are joined to one text."""
_LISTINGS = frozenset({"programlisting", "screen", "preformat", "literallayout", "codeblock"})
_TABLES = frozenset({"table", "informaltable", "tgroup"})
_GROUPS = frozenset({"thead", "tbody", "tfoot"})
"""The groups of rows of a table; no cell of an earlier row reaches into them."""
_ROWS = frozenset({"tr", "row"})
_CELLS = frozenset({"td", "th", "entry", "cell"})
_NUMBERED = frozenset({"orderedlist", "ol", "procedure", "steps", "substeps"})
_LISTS = _NUMBERED | {"itemizedlist", "list", "ul"}
_ITEMS = frozenset({"listitem", "list-item", "li", "item", "step", "substep"})
_ORDERS = {
    "order": "decimal", "arabic": "decimal",
    "alpha-lower": "lowerLetter", "loweralpha": "lowerLetter",
    "alpha-upper": "upperLetter", "upperalpha": "upperLetter",
    "roman-lower": "lowerRoman", "lowerroman": "lowerRoman",
    "roman-upper": "upperRoman", "upperroman": "upperRoman",
}  # fmt: skip
_BLOCKS = _LISTINGS | _LISTS | {
    "variablelist", "def-list", "table", "informaltable", "table-wrap", "figure", "informalfigure",
    "fig", "fig-group", "disp-quote", "boxed-text", "example", "informalexample",
}  # fmt: skip
"""The elements that end the text around them."""
_LABELLED = frozenset({"sec", "app", "fig", "table-wrap", "ref", "fn", "list-item", "boxed-text"})
"""The elements whose `label` stands before their text."""
_MARKUP = re.compile(
    r"</?(?:p|br|hr|div|span|a|b|i|u|em|strong|small|sub|sup|ul|ol|li|dl|dt|dd|h[1-6]|img|figure"
    r"|table|tr|td|th|pre|code|blockquote|html|body|font|center|section|article)\b[^<>]{0,500}>",
    re.IGNORECASE,
)
"""A tag of HTML; other tags, such as `<file>` in a manual of commands, are text."""
_PARAGRAPHS = re.compile(r"\n[ \t\r]*\n")


def parse(data: bytes) -> ParsedDocument:
    """Parse an XML file; declared entities, document type definitions and the network are not used.

    Raises:
        ParseRefusal: `failed` if the file is no XML, `empty` if no element has text.
    """
    reader = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=True
    )
    root = etree.fromstring(data, reader)
    if root is None:
        raise ParseRefusal("failed", "damaged XML")
    if odt.is_flat(root):
        return odt.parse_flat(data)
    if flat_package.is_flat(root):
        return flat_package.parse_flat(data)
    _write_formulas(root)
    _mark_superscripts(root)
    builder = Builder()
    walk = _XmlWalk(builder, root)
    walk.add_tree(root)
    return builder.build(walk.title)


def _write_formulas(root: Any) -> None:  # noqa: ANN401
    """Replace the formulas of MathML by their text, and drop the same formulas for TeX."""
    for formula in list(root.iter("{http://www.w3.org/1998/Math/MathML}math", "math")):
        text, behind = format_math(formula), formula.tail
        around = formula.getparent()
        if around is not None and _get_name(around) == "alternatives":
            for other in [child for child in around if _get_name(child) == "tex-math"]:
                around.remove(other)
        formula.clear()
        formula.text, formula.tail = text, behind


def _mark_superscripts(root: Any) -> None:  # noqa: ANN401
    """Put signs before superscripts and subscripts, to keep them apart from the text before."""
    for element in root.iter("{*}sup", "{*}sub", "{*}superscript", "{*}subscript"):
        mark_script(element, raised=_get_name(element).startswith("sup"))


class _XmlWalk:
    """A walk over the elements in order.

    Attributes:
        title: The text of the first heading; empty before it.
    """

    def __init__(self, builder: Builder, root: Any) -> None:  # noqa: ANN401 - lxml has no types
        self.title = ""
        self._builder = builder
        self._titled = {_find_owner(element) for element in root.iter() if _is_title(element)}
        self._grid = CellGrid()
        self._items: Counter[Any] = Counter()
        self._label = ""
        self._mark = ""

    def add_tree(self, root: Any) -> None:  # noqa: ANN401
        """Add the blocks under an element, itself included.

        An element without children, or with text between them, is one paragraph.
        """
        todo: list[Any] = [root]
        while todo:
            part = todo.pop()
            if isinstance(part, str):
                self._add_text(part)
            elif isinstance(part.tag, str) and not self._add_whole(part):
                self._enter(part)
                todo.extend(reversed(_split_mixed(part) if _has_mixed_content(part) else part))

    def _enter(self, element: Any) -> None:  # noqa: ANN401
        """Begin the table or the list item that an element is."""
        name = _get_name(element)
        if name in _GROUPS:
            self._grid = self._grid.begin_group()
        elif name in _TABLES:
            self._grid = CellGrid()
        elif name in _ITEMS and _get_name(element.getparent()) in _LISTS and _has_text(element):
            self._label = self._make_label(element.getparent())

    def _make_label(self, around: Any) -> str:  # noqa: ANN401
        """Count an item of a list and return its label."""
        self._items[around] += 1
        order = around.get("list-type") or around.get("numeration") or ""
        style = _ORDERS.get(order, "decimal" if _get_name(around) in _NUMBERED else "")
        return f"{format_number(self._items[around], style)}." if style else "-"

    def _add_whole(self, element: Any) -> bool:  # noqa: ANN401
        """Add an element whose text is read as a whole; return whether the element is one."""
        name = _get_name(element)
        if name in _LISTINGS:
            self._label = ""
            self._builder.add_code("".join(_iter_text(element)))
        elif name in _ROWS and _holds_cells(element):
            self._add_row(element)
        elif _is_split(element):
            return False
        elif _is_label(element):
            self._mark = _join_text(element)
        elif _is_title(element):
            self._add_title(element)
        elif name in _JOINED:
            self._add_text(_join_text(element))
        else:
            self._enter(element)
            self._add_text("".join(_iter_text(element)))
        return True

    def _add_row(self, row: Any) -> None:  # noqa: ANN401
        """Add a row of a table."""
        self._label = ""
        cells = [cell for cell in row if isinstance(cell.tag, str)]
        is_head = all(_get_name(cell) == "th" for cell in cells)
        is_head = is_head or _get_name(row.getparent()) == "thead"
        texts = ((_join_text(cell), *_read_spans(cell)) for cell in cells)
        self._builder.add_row(self._grid.place_row(texts, head=is_head), head=is_head)

    def _add_title(self, element: Any) -> None:  # noqa: ANN401
        """Add a title as a heading."""
        text = _join_text(element)
        self.title = self.title or text
        if text:
            self._builder.add_heading(self._take_mark(text), self._measure_level(element))

    def _add_text(self, text: str) -> None:
        """Add a text as a list item or as paragraphs; HTML in it is read as such."""
        if _MARKUP.search(text):
            add_fragment(self._builder, text)  # a feed carries HTML as text
            return
        for paragraph in filter(None, map(_join_words, _PARAGRAPHS.split(text))):
            if self._label:
                self._builder.add_item(paragraph, self._mark or self._label)
                self._label = self._mark = ""
            else:
                self._builder.add_paragraph(self._take_mark(paragraph))

    def _take_mark(self, text: str) -> str:
        """Return a text after the label that was read before it, such as `Table 1`."""
        marked, self._mark = f"{self._mark} {text}".lstrip(), ""
        return marked

    def _measure_level(self, title: Any) -> int:  # noqa: ANN401
        """Return the level of a title: one for each element around it that has a title, plus 1."""
        around = list(_find_owner(title).iterancestors())
        level = 1 + sum(above in self._titled for above in around)
        is_entry = any(_get_name(above) in _ENTRIES for above in title.iterancestors())
        return max(level, 2) if is_entry else level


def _is_title(element: Any) -> bool:  # noqa: ANN401
    """Return whether an element is the heading of the text below it."""
    name, parent = _get_name(element), element.getparent()
    if parent is None:
        return False
    if name == "article-title":
        return _get_name(parent) in _ARTICLE_HEADS
    if name not in _TITLES or _get_name(_find_owner(element)) in _CAPTIONED:
        return False
    return name not in _PLAIN_TITLES or _is_plain_title(element, name, _get_name(parent))


def _is_plain_title(element: Any, name: str, around: str) -> bool:  # noqa: ANN401
    """Return whether a `head`, `subject` or `name` is a title, and no name of a person or topic."""
    has_parts = len(element) > 0 and not _has_mixed_content(element)
    names_person = name == "name" and around in _PEOPLE
    return not has_parts and not names_person and around != "subj-group"


def _is_label(element: Any) -> bool:  # noqa: ANN401
    """Return whether an element is the label of the text in the elements after it."""
    if _get_name(element) != "label" or _get_name(element.getparent()) not in _LABELLED:
        return False
    return any(_has_text(behind) for behind in element.itersiblings())


def _find_owner(title: Any) -> Any:  # noqa: ANN401
    """Return the element whose title an element is."""
    owner = title.getparent()
    while owner.getparent() is not None and _is_frame(_get_name(owner)):
        owner = owner.getparent()
    return owner


def _is_frame(name: str) -> bool:
    """Return whether elements of a name only frame a title."""
    return name in _FRAMES or name.endswith("info")


def _is_split(element: Any) -> bool:  # noqa: ANN401
    """Return whether the parts of an element are read as texts of their own."""
    if _has_mixed_content(element):
        return any(_get_name(child) in _BLOCKS for child in element)
    return len(element) > 0 and _get_name(element) not in _JOINED and not _is_title(element)


def _split_mixed(element: Any) -> list[Any]:  # noqa: ANN401
    """Return the texts and the blocks of an element in order."""
    parts: list[Any] = [_drop_soft_hyphens(element.text)]
    for child in element:
        if _get_name(child) in _BLOCKS:
            parts += [child, _drop_soft_hyphens(child.tail)]
        else:
            parts[-1] += "".join(_iter_part(child))
    return parts


def _holds_cells(row: Any) -> bool:  # noqa: ANN401
    """Return whether all children of a row are cells."""
    names = [_get_name(cell) for cell in row if isinstance(cell.tag, str)]
    return bool(names) and _CELLS.issuperset(names)


def _read_spans(cell: Any) -> tuple[int, int]:  # noqa: ANN401
    """Return the numbers of columns and rows that a cell spans."""
    rows = _parse_number(cell.get("morerows"), 0) + 1
    return _parse_number(cell.get("colspan"), 1), _parse_number(cell.get("rowspan"), rows)


def _parse_number(text: str | None, usual: int) -> int:
    return int(text) if text and re.fullmatch(r"\d{1,6}", text) else usual


def _has_mixed_content(element: Any) -> bool:  # noqa: ANN401
    """Return whether an element has text of its own, alone or between its children."""
    if any(child.tag is etree.Entity for child in element):
        return True
    texts = [element.text, *(child.tail for child in element)]
    return any(text and text.strip() for text in texts)


def _has_text(element: Any) -> bool:  # noqa: ANN401
    return any(text.strip() for text in _iter_text(element))


def _join_text(element: Any) -> str:  # noqa: ANN401
    """Return the text of an element in one line, with a space between its parts."""
    if _has_mixed_content(element) or not len(element):
        return _join_words("".join(_iter_text(element)))
    return " ".join(filter(None, map(_join_text, element)))


def _join_words(text: str) -> str:
    return " ".join(text.split())


def _iter_text(element: Any) -> Iterator[str]:  # noqa: ANN401
    """Yield the text of an element without comments; common signs stand for their names."""
    if isinstance(element.tag, str):
        yield _drop_soft_hyphens(element.text)
    for child in element:
        yield from _iter_part(child)


def _iter_part(child: Any) -> Iterator[str]:  # noqa: ANN401
    """Yield the text of a child of an element, and the text after it."""
    if child.tag is etree.Entity:
        yield _drop_soft_hyphens(html5.get(f"{child.name};", child.text))
    else:
        yield from _iter_text(child)
    yield _drop_soft_hyphens(child.tail)


def _drop_soft_hyphens(text: str | None) -> str:
    """Return a text without the signs that show where a word may be parted."""
    return (text or "").replace("\u00ad", "")


def _get_name(element: Any) -> str:  # noqa: ANN401
    """Return the name of an element in small letters, without namespace; empty for others."""
    if element is None or not isinstance(element.tag, str):
        return ""
    return str(etree.QName(element).localname.lower())
