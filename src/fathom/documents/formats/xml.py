"""Any XML, including feeds: the text of the elements in order."""

import re
from collections.abc import Container
from typing import Any

from lxml import etree

from fathom.documents.base import Builder, ParsedDocument, ParseRefusal
from fathom.documents.formats.html import add_fragment

_ENTRIES = frozenset({"item", "entry"})
_TITLES = frozenset({"title", "heading", "head", "subject", "name"})
_DOCUMENT_TITLES = _TITLES | {"article-title"}
"""JATS gives the titles of cited articles this name too, so that it makes no heading."""
_MARKUP = re.compile(r"</?[a-zA-Z][^<>]{0,500}>")


def parse(data: bytes) -> ParsedDocument:
    """Parse an XML file; entities, document type definitions and the network are never used.

    Raises:
        ParseRefusal: `failed` when it is no XML, `empty` when no element holds text.
    """
    reader = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=True
    )
    root = etree.fromstring(data, reader)
    if root is None:
        raise ParseRefusal("failed", "damaged XML")
    builder = Builder()
    _add(builder, root)
    title = next(
        (
            _get_text(element)
            for element in root.iter()
            if _get_name(element) in _DOCUMENT_TITLES and _get_text(element)
        ),
        "",
    )
    return builder.build(title)


def _add(builder: Builder, root: Any) -> None:  # noqa: ANN401 - lxml has no types
    """Add leaves as paragraphs; an element with text between its children is one paragraph."""
    titled = {element.getparent() for element in root.iter() if _get_name(element) in _TITLES}
    todo = [root]
    while todo:
        element = todo.pop()
        if not isinstance(element.tag, str):
            continue
        if len(element) and not _has_mixed_content(element):
            todo.extend(reversed(element))
            continue
        text = _get_text(element)
        if _get_name(element) in _TITLES:
            builder.add_heading(text, _get_level(element, titled))
        elif _MARKUP.search(text):
            add_fragment(builder, text)  # a feed carries HTML as text
        else:
            builder.add_paragraph(text)


def _has_mixed_content(element: Any) -> bool:  # noqa: ANN401
    texts = [element.text, *(child.tail for child in element)]
    return any(text and text.strip() for text in texts)


def _get_text(element: Any) -> str:  # noqa: ANN401
    return "".join(element.itertext()).strip()


def _get_name(element: Any) -> str:  # noqa: ANN401
    return etree.QName(element).localname.lower() if isinstance(element.tag, str) else ""


def _get_level(element: Any, titled: Container[Any]) -> int:  # noqa: ANN401
    """Return the level of a title: below the titles of the elements around its own."""
    around = list(element.iterancestors())
    level = 1 + sum(above in titled for above in around[1:])
    return max(level, 2) if any(_get_name(above) in _ENTRIES for above in around) else level
