"""Marks of pages in attributes or style sheets: boxes, notes, shifted and struck text."""

import re
from typing import Any

_RULE = re.compile(r"\.(?P<name>[\w-]{1,100})\s*\{(?P<body>[^{}]{0,2000})\}")
_SHIFT = re.compile(r"vertical-align\s*:\s*(?P<shift>super|sub)\b", re.IGNORECASE)
_STRIKE = re.compile(r"text-decoration(?:-line)?\s*:[^;:]*\bline-through\b", re.IGNORECASE)
_TAGS = {"super": "sup", "sub": "sub"}
_ITEMS = frozenset({"li", "label", "td"})
_BACK = re.compile("[\u21a9\u21b5\u2934][\ufe0e\ufe0f]?[0-9]{0,3}")
"""The sign of a link from a note back to its mark, numbered if the note has several marks."""


def write_marks(root: Any) -> None:  # noqa: ANN401 - lxml has no types
    """Write the marks of a page into its text.

    Boxes become signs, numbers of notes get brackets, links back from notes are dropped, and spans
    that a class raises, lowers or strikes through become the elements that do so.
    """
    tags = _read_classes("".join(sheet.text or "" for sheet in root.iter("style")))
    for element in list(root.iter("input", "a", "span")):
        if element.tag == "span":
            element.tag = _find_tag(element, tags)
        elif element.tag == "input" and _is_box(element):
            element.text = "\u2610 " if element.get("checked") is None else "\u2612 "
        elif element.tag == "a" and _leads_back(element):
            element.drop_tree()
        elif element.tag == "a" and _is_note_mark(element):
            element.text = f"[{element.text.strip()}]"


def _read_classes(sheet: str) -> dict[str, str]:
    """Return the tags of elements that look as classes of a style sheet do, by the class."""
    styles = ((rule["name"], _choose_tag(rule["body"])) for rule in _RULE.finditer(sheet))
    return {name: tag for name, tag in styles if tag}


def _choose_tag(style: str) -> str:
    """Return the tag of an element that looks like a style; empty if there is none."""
    if _STRIKE.search(style):
        return "s"
    shift = _SHIFT.search(style)
    return _TAGS[shift["shift"].lower()] if shift else ""


def _find_tag(span: Any, tags: dict[str, str]) -> str:  # noqa: ANN401
    """Return the tag that says how the letters of a span look."""
    names = (tags[name] for name in (span.get("class") or "").split() if name in tags)
    return _choose_tag(span.get("style") or "") or next(names, "span")


def _is_box(field: Any) -> bool:  # noqa: ANN401
    """Return whether a field is the box of the list item, label or cell that it begins."""
    around = field.getparent()
    if (field.get("type") or "").lower() != "checkbox" or around is None:
        return False
    item = around.getparent() if around.tag == "p" and around.getprevious() is None else around
    is_first = field.getprevious() is None and not (around.text or "").strip()
    return is_first and item is not None and item.tag in _ITEMS


def _leads_back(link: Any) -> bool:  # noqa: ANN401
    """Return whether a link leads from a note back to its mark."""
    is_inner = (link.get("href") or "").partition("#")[1] == "#"
    return is_inner and _BACK.fullmatch(link.text_content().strip()) is not None


def _is_note_mark(link: Any) -> bool:  # noqa: ANN401
    """Return whether a link is the number of a note that is not raised."""
    kinds = f"{link.get('epub:type') or ''} {link.get('role') or ''}".split()
    is_plain = len(link) == 0 and link.getparent().tag != "sup"
    return (
        is_plain and bool({"noteref", "doc-noteref"} & set(kinds)) and link.text_content().isdigit()
    )
