"""HTML: what a reader sees, with headings, numbered lists and tables."""

import re

from lxml import html
from lxml.etree import ParserError

from fathom.documents.base import Builder, Parsed, Refused
from fathom.documents.decode import decode_markup
from fathom.documents.page import Page
from fathom.types import Scalar

_MOST_TAGS = 400_000
_MOST_IN_TAG = 2_000
_MOST_DEEP = 2_000
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_EMPTY_TAGS = frozenset({
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param",
    "source", "track", "wbr", "p", "li", "option", "td", "tr", "th", "dt", "dd", "thead",
    "tbody", "tfoot",
})  # fmt: skip
_ENCODING = re.compile(r"^\s*<\?xml[^>]*\?>")
_FACTS = {"author": "author", "description": "description", "keywords": "keywords", "date": "date"}


def parse(data: bytes) -> Parsed:
    """An HTML page or fragment in any encoding that can be told.

    Raises:
        Refused: `failed` for pages built to exhaust a parser, `empty` for those without text.
    """
    text = decode_markup(data)
    builder = Builder()
    title, facts = add_html(builder, text)
    return builder.build(title, facts)


def add_html(builder: Builder, text: str) -> tuple[str, dict[str, Scalar]]:
    """Add the visible text of a page.

    Returns:
        The page's title and its author, date, description and key words.

    Raises:
        Refused: `failed` for pages built to exhaust a parser.
    """
    _check_size(text)
    try:
        root = html.document_fromstring(_ENCODING.sub("", text).replace("\x00", ""))
    except (ParserError, ValueError) as error:
        raise Refused("empty", f"holds no readable HTML: {error}") from error
    Page(builder).add(root)
    return " ".join((root.findtext(".//title") or "").split()), _facts(root)


def _check_size(text: str) -> None:
    depth = deepest = 0
    for count, tag in enumerate(_TAG.finditer(text)):
        if count > _MOST_TAGS:
            raise Refused("failed", f"holds more than {_MOST_TAGS} tags")
        if tag[2].lower() not in _EMPTY_TAGS:
            depth = max(depth - 1, 0) if tag[1] else depth + 1
            deepest = max(deepest, depth)
    if deepest > _MOST_DEEP:
        raise Refused("failed", f"nests tags more than {_MOST_DEEP} deep")


def _facts(root: html.HtmlElement) -> dict[str, Scalar]:
    facts: dict[str, Scalar] = {}
    for meta in root.iter("meta"):
        name = (meta.get("name") or meta.get("property") or "").lower().removeprefix("article:")
        content = " ".join((meta.get("content") or "").split())
        if name in _FACTS and content:
            facts.setdefault(_FACTS[name], content[:1000])
    return facts
