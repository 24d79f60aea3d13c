"""HTML: the text that a reader sees, with headings, numbered lists and tables."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from lxml import html
from lxml.etree import ParserError, iterwalk

from fathom.documents.base import Builder, ParsedDocument, ParseRefusal
from fathom.documents.decode import decode_markup
from fathom.documents.formats.cell_grid import CellGrid
from fathom.documents.formats.formula import format_math
from fathom.documents.formats.hidden_style import has_background, hides_text, parse_style
from fathom.documents.formats.html_marks import write_marks
from fathom.documents.formats.list_numbers import format_number
from fathom.documents.formats.superscripts import LONGEST_BEFORE, choose_sign
from fathom.types import Scalar

_UNSEEN = frozenset({
    "script", "style", "template", "noscript", "head", "title", "svg", "canvas",
    "iframe", "object", "embed", "audio", "video", "nav", "select", "datalist", "button",
    "textarea", "map", "area", "rt", "rp",
})  # fmt: skip
_BLOCKS = frozenset({
    "address", "article", "aside", "blockquote", "body", "center", "details", "dialog", "dd",
    "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "header", "hgroup",
    "html", "hr", "legend", "li", "main", "menu", "ol", "p", "section", "summary", "ul",
    "tbody", "thead", "tfoot", "caption",
})  # fmt: skip
_ROW_GROUPS = frozenset({"table", "thead", "tbody", "tfoot"})
"""The elements that begin anew: no cell of an earlier row reaches into them."""
_CELLS = frozenset({"td", "th"})
_STRUCK = frozenset({"del", "s", "strike"})
_SHIFTED = frozenset({"sup", "sub"})
_BARS = frozenset({"/", "\u2044"})
_ALL_ROWS = 1_000_000
_HIDING = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|font-size\s*:\s*0(?:\.0+)?(?:[a-z%]|\s*(?:;|$|!))"
    r"|opacity\s*:\s*0(?:\.0+)?\s*(?:;|$|!)",
    re.IGNORECASE,
)
_PAINTED = frozenset({"class", "id", "bgcolor", "background"})
"""Attributes that may paint the background of the text."""
_SPACE = re.compile(r"[ \t\r\n\f\u200b]+")
_SOFT_HYPHEN = "\u00ad"
"""The mark of a place where a word may be hyphenated; it is dropped, so that words are found."""
_STYLES = {"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}


@dataclass(slots=True)
class _OpenList:
    """A list that the walk is in, with the numbers of its next items."""

    ordered: bool
    style: str
    numbers: "count[int]"


@dataclass(slots=True)
class HtmlWalk:
    """A walk over an element tree; it is no recursion, so no depth can exhaust the stack."""

    builder: Builder
    _words: list[str] = field(default_factory=list)
    _lists: list[_OpenList] = field(default_factory=list)
    _label: str | None = None
    _terms: list[str] = field(default_factory=list)
    _grid: CellGrid = field(default_factory=CellGrid)

    def add_tree(self, root: Any) -> None:  # noqa: ANN401 - lxml has no types
        """Add all visible text under an element, itself included."""
        # Each element with True on the way in, False on the way out; the text after an element is
        # added when the walk leaves it.
        todo = [(root, True)]
        while todo:
            element, entering = todo.pop()
            if not entering:
                self._leave(element)
                self._words.append(element.tail or "")
            elif not is_visible(element) or self._add_whole(element):
                self._words.append(element.tail or "")
            else:
                self._enter(element)
                self._words.append(element.text or "")
                todo.append((element, False))
                todo.extend((child, True) for child in reversed(element))
        self._flush()

    def _add_whole(self, element: Any) -> bool:  # noqa: ANN401
        """Add a heading, preformatted text or a table row; return whether the element is one."""
        tag = element.tag
        if len(tag) == 2 and tag[0] == "h" and tag[1] in "123456":
            self._flush()
            self.builder.add_heading(get_visible_text(element), int(tag[1]))
        elif tag == "pre":
            self._flush()
            self.builder.add_code(get_visible_text(element, keep_space=True))
        elif tag == "tr":
            self._flush()
            self._add_row(element)
        else:
            return False
        return True

    def _enter(self, element: Any) -> None:  # noqa: ANN401
        """Begin the block, list or item that an element is."""
        tag = element.tag
        if tag == "br":
            self._words.append("\x0b")
        elif tag in _BLOCKS:
            self._flush()
        _wrap_cells(element)
        if tag in _ROW_GROUPS:
            self._grid = CellGrid() if tag == "table" else self._grid.begin_group()
        if tag in {"ul", "ol", "menu"}:
            first = count(_parse_number(element.get("start"), 1))
            self._lists.append(_OpenList(tag == "ol", element.get("type") or "1", first))
        elif tag == "li":
            self._label = self._make_label(element)

    def _leave(self, element: Any) -> None:  # noqa: ANN401
        """End the block, list, item or term that an element is."""
        if element.tag == "dt":
            self._terms.append(_collapse_space("".join(self._words)))
            self._words.clear()
        if element.tag in _BLOCKS:
            self._flush()
        if element.tag == "dl":
            self._add_definition("")
        if element.tag in {"ul", "ol", "menu"} and self._lists:
            self._lists.pop()
        elif element.tag == "li":
            self._label = None

    def _make_label(self, item: Any) -> str:  # noqa: ANN401
        """Count an item of the innermost list and return its label."""
        if not self._lists or not self._lists[-1].ordered:
            return "-"
        number = _parse_number(item.get("value"), next(self._lists[-1].numbers))
        self._lists[-1].numbers = count(number + 1)
        return f"{format_number(number, _STYLES.get(self._lists[-1].style, 'decimal'))}."

    def _add_row(self, element: Any) -> None:  # noqa: ANN401
        """Add a row of a table, or the contents of its cells if it is only layout."""
        cells = [cell for cell in element if cell.tag in _CELLS]
        # A table inside a cell is layout: its contents are read as separate blocks.
        if any(next(cell.iter("table"), None) is not None for cell in cells):
            for cell in cells:
                HtmlWalk(self.builder).add_tree(cell)
        else:
            parent = element.getparent()
            is_named = parent is not None and parent.tag == "thead"
            head = is_named or all(cell.tag == "th" for cell in cells)
            row = [
                (get_visible_text(cell), *_read_spans(cell)) for cell in cells if is_visible(cell)
            ]
            self.builder.add_row(self._grid.place_row(row, head=head), head=head)

    def _flush(self) -> None:
        """Add the text so far as a definition, a list item or a paragraph."""
        text = _collapse_space("".join(self._words))
        self._words.clear()
        if not text:
            return
        if self._terms:
            self._add_definition(text)
        elif self._label is not None:
            self.builder.add_item(text, self._label)
            self._label = None
        elif self._lists:
            self.builder.add_item(text)
        else:
            self.builder.add_paragraph(text)

    def _add_definition(self, text: str) -> None:
        """Add a text with the terms before it that it explains, as a list item."""
        terms = ", ".join(filter(None, self._terms))
        self._terms.clear()
        self.builder.add_item(": ".join(filter(None, (terms, text))))


def _wrap_cells(element: Any) -> None:  # noqa: ANN401
    """Put neighbouring cells that are in no row into a new row, as a browser does."""
    row = None
    for child in list(element):
        if child.tag not in _CELLS:
            row = None
            continue
        if row is None:
            row = element.makeelement("tr")
            child.addprevious(row)
        row.append(child)


def _read_spans(cell: Any) -> tuple[int, int]:  # noqa: ANN401
    """Return the numbers of columns and rows that a cell spans.

    A `rowspan` of 0 means all rows of the group, for which the number is `_ALL_ROWS`.
    """
    rows = _parse_number(cell.get("rowspan"), 1)
    return _parse_number(cell.get("colspan"), 1), rows or _ALL_ROWS


def _parse_number(text: str | None, usual: int) -> int:
    """Return the number in an attribute; `usual` without one."""
    return int(text) if text and re.fullmatch(r"-?\d{1,6}", text) else usual


def is_visible(element: Any) -> bool:  # noqa: ANN401
    """Return whether an element is shown on the page.

    Text in invisible letters is another matter: `hidden_style` detects it.
    """
    tag = element.tag
    if not isinstance(tag, str) or tag in _UNSEEN:  # a comment's tag is a function
        return False
    if element.get("hidden") is not None or element.get("aria-hidden") == "true":
        return False
    return not _HIDING.search(element.get("style") or "")


def get_visible_text(root: Any, *, keep_space: bool = False) -> str:  # noqa: ANN401
    """Return the visible text under an element.

    Args:
        root: The element.
        keep_space: Whether white space stays as it is, for preformatted text.
    """
    words: list[str] = []
    todo: list[Any] = [root]
    while todo:
        element = todo.pop()
        if isinstance(element, str):
            words.append(element)
            continue
        if element is not root:
            todo.append(element.tail or "")
        if element is root or is_visible(element):
            words.append(_get_separator(element.tag, keep_space=keep_space))
            todo.extend(reversed(element))
            todo.append(element.text or "")
    text = "".join(words)
    return (
        text.replace("\x0b", "\n").replace(_SOFT_HYPHEN, "")
        if keep_space
        else _collapse_space(text)
    )


def _get_separator(tag: object, *, keep_space: bool) -> str:
    """Return the mark that keeps the text of an element apart from the text before it."""
    if tag == "br":
        return "\n" if keep_space else "\x0b"
    return " " if tag in _BLOCKS or tag in {"td", "th", "tr"} else ""


def _collapse_space(text: str) -> str:
    """Collapse white space as a browser does; forced line breaks become line feeds."""
    lines = (_SPACE.sub(" ", line).strip() for line in text.replace(_SOFT_HYPHEN, "").split("\x0b"))
    return "\n".join(line for line in lines if line)


_MOST_TAGS = 400_000
_MOST_DEEP = 2_000
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_EMPTY_TAGS = frozenset({
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param",
    "source", "track", "wbr", "p", "li", "option", "td", "tr", "th", "dt", "dd", "thead",
    "tbody", "tfoot",
})  # fmt: skip
_ENCODING = re.compile(r"^\s*<\?xml[^>]*\?>")
_FACTS = {"author": "author", "description": "description", "keywords": "keywords", "date": "date"}


def parse(data: bytes) -> ParsedDocument:
    """Parse an HTML page or fragment in any detectable encoding.

    Raises:
        ParseRefusal: `failed` for a page that is built to exhaust a parser, `empty` without text.
    """
    text = decode_markup(data)
    builder = Builder()
    title, facts = add_html(builder, text)
    return builder.build(title, facts)


def add_html(builder: Builder, text: str) -> tuple[str, dict[str, Scalar]]:
    """Add the visible text of a page.

    Returns:
        The page's title, and its author, date, description and keywords as far as it has them.

    Raises:
        ParseRefusal: `failed` for a page that is built to exhaust a parser, `empty` for a text that
            is no HTML.
    """
    _check_size(text)
    try:
        # lxml refuses a decoded text that still declares an encoding.
        root = html.document_fromstring(_ENCODING.sub("", text).replace("\x00", ""))
    except (ParserError, ValueError) as error:
        raise ParseRefusal("empty", f"holds no readable HTML: {error}") from error
    roots = [root, *root.itersiblings()]  # text after the end of the page is in its siblings
    for part in roots:
        if isinstance(part.tag, str):
            write_marks(part)
    _drop_hidden_text(builder, roots)
    for part in roots:
        if isinstance(part.tag, str):  # a sibling may be a comment
            _write_formulas(part)
            _mark_superscripts(part)
        HtmlWalk(builder).add_tree(part)
    return " ".join((root.findtext(".//title") or "").split()), _read_facts(root)


def _drop_hidden_text(builder: Builder, roots: Sequence[html.HtmlElement]) -> None:
    """Drop the text that is struck through, or that no reader sees, and count it for `unread`.

    White letters are dropped only if their background is surely white.
    """
    sheets = "".join(sheet.text or "" for root in roots for sheet in root.iter("style"))
    is_plain = "background" not in sheets and not any(True for r in roots for _ in r.iter("link"))
    todo: list[tuple[Any, bool]] = [(root, is_plain) for root in roots]
    while todo:
        element, on_white = todo.pop()
        if not isinstance(element.tag, str):
            continue
        style = parse_style(element.get("style") or "")
        on_white = on_white and not (_PAINTED & set(element.keys()))
        is_left_out = _is_struck(element) or hides_text(style, on_white=on_white)
        if element.getparent() is not None and is_left_out:
            builder.skip_hidden(any(text.strip() for text in element.itertext()))
            element.drop_tree()
            continue
        on_white = on_white and not has_background(style)
        todo.extend((child, on_white) for child in element)


def _write_formulas(root: Any) -> None:  # noqa: ANN401
    """Replace the formulas of MathML by their text; one that stands alone is a block."""
    for formula in list(root.iter("math")):
        text, is_block = format_math(formula), formula.get("display") == "block"
        for child in list(formula):
            formula.remove(child)
        formula.text, formula.tag = text, "div" if is_block else "span"
        around = formula.getparent()
        # Wikipedia hides formulas behind pictures of them.
        if around is not None and "mwe-math-mathml" in (around.get("class") or ""):
            around.attrib.pop("style", None)


def _is_struck(element: Any) -> bool:  # noqa: ANN401
    """Return whether an element is struck through, so that its text no longer holds."""
    return element.tag in _STRUCK or "line-through" in (element.get("style") or "").lower()


def _mark_superscripts(root: Any) -> None:  # noqa: ANN401
    """Put signs before superscripts and subscripts, and brackets around the marks of notes."""
    before = ""
    for event, element in iterwalk(root, events=("start", "end")):
        tag = element.tag
        if not isinstance(tag, str) or tag in _BLOCKS or tag in _CELLS or tag == "br":
            before = ""
        elif event == "start" and tag in _SHIFTED:
            _mark_superscript(element, before)
        text = (element.text if event == "start" else element.tail) or ""
        before = (before + text)[-LONGEST_BEFORE:]


def _mark_superscript(element: Any, before: str) -> None:  # noqa: ANN401
    """Replace a superscript or subscript by its text with the sign that keeps it apart.

    Args:
        element: The `sup` or `sub`.
        before: The end of the text before it.
    """
    script = "".join(element.itertext()).strip()
    behind = element.getnext()
    if element.tag == "sup" and script.isdigit() and _leads_to_note(element, script):
        mark = f"[{script}]"
    elif behind is not None and behind.tag == "sub" and (element.tail or "").strip() in _BARS:
        mark = f" {script}"  # a whole number and a fraction
    else:
        mark = choose_sign(before, script, raised=element.tag == "sup") + script
    if mark != script:
        for child in list(element):
            element.remove(child)
        element.text = mark


def _leads_to_note(element: Any, script: str) -> bool:  # noqa: ANN401
    """Return whether exactly the raised text is a link to a place in a page."""
    around = element.getparent()
    links = [*element.iter("a"), *([around] if around is not None and around.tag == "a" else [])]
    return any(
        "#" in (link.get("href") or "") and link.text_content().strip() == script for link in links
    )


def add_fragment(builder: Builder, text: str) -> None:
    """Add the visible text of HTML inside of another format, if it has any.

    Raises:
        ParseRefusal: `failed` for HTML that is built to exhaust a parser.
    """
    try:
        add_html(builder, text)
    except ParseRefusal as refusal:
        if refusal.outcome != "empty":
            raise


def _check_size(text: str) -> None:
    """Check that a page has no more tags, and no deeper ones, than a parser can bear.

    Raises:
        ParseRefusal: `failed` if it has.
    """
    depth = deepest = 0
    for number, tag in enumerate(_TAG.finditer(text)):
        if number > _MOST_TAGS:
            raise ParseRefusal("failed", f"holds more than {_MOST_TAGS} tags")
        if tag[2].lower() not in _EMPTY_TAGS:
            depth = max(depth - 1, 0) if tag[1] else depth + 1
            deepest = max(deepest, depth)
    if deepest > _MOST_DEEP:
        raise ParseRefusal("failed", f"nests tags more than {_MOST_DEEP} deep")


def _read_facts(root: html.HtmlElement) -> dict[str, Scalar]:
    """Return the facts that the `meta` elements state: all authors, else the first of each name."""
    facts: dict[str, Scalar] = {}
    for meta in root.iter("meta"):
        name = (meta.get("name") or meta.get("property") or "").lower().removeprefix("article:")
        content = " ".join((meta.get("content") or "").split())
        if meta.get("name") == name == "author" and facts.get(name, content) != content:
            content = f"{facts.pop(name)}; {content}".removesuffix("; ")
        if name in _FACTS and content:
            facts.setdefault(_FACTS[name], content[:1000])
    return facts
