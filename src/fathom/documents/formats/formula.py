"""Formulas in one line of text: fractions, powers, indices and roots, also those of MathML."""

import re
from collections.abc import Sequence
from typing import Any

_MOST_DEEP = 100
_SCRIPTS = {
    "msup": ("^",), "mover": ("^",), "msub": ("_",), "munder": ("_",), "msubsup": ("_", "^"),
    "munderover": ("_", "^"),
}  # fmt: skip
"""The signs before the scripts of an element, whose first part is the text that has them."""
_LISTED = {"mtable": "; ", "mtr": ", ", "mlabeledtr": ", "}
_UNSEEN = frozenset({"annotation", "annotation-xml", "mphantom"})
_LETTERS = frozenset({"mi", "mn", "mo", "ms", "mtext"})
_INVISIBLE = re.compile("[\u2061-\u2064\u200b]")
_LOOSE = re.compile(r"(?<! ) +(?=[)\]}^_/,;])|(?<=[(\[{^_/]) +")


def format_script(sign: str, inner: str) -> str:
    """Return a script, a part of a fraction or a radicand in one line: `^2`, `/b`, `_(n+1)`.

    Args:
        sign: The sign before it.
        inner: Its text; without one, nothing is returned.
    """
    inner = inner.strip()
    is_simple = len(inner) == 1 or inner.isdigit() or inner.isalpha()
    return f"{sign}{inner}" if is_simple else f"{sign}({inner})" if inner else ""


def format_math(element: Any) -> str:  # noqa: ANN401 - lxml has no types
    """Return a formula of MathML in one line of text, such as `a/b`, `x^2` or `√(n+1)`."""
    text = " ".join(_format_element(element, 0).split())
    return _LOOSE.sub("", text) or (element.get("alttext") or "").strip()


def _format_element(element: Any, depth: int) -> str:  # noqa: ANN401
    """Return an element of a formula in one line of text."""
    name = _get_name(element)
    if name in _UNSEEN:
        return ""
    if name in _LETTERS or depth > _MOST_DEEP:
        text = _INVISIBLE.sub("", "".join(element.itertext()))
        # A name such as `sin` is no product of letters with the name behind it.
        return f" {text} " if name in {"mi", "mtext"} and len(text.strip()) > 1 else text
    children = [child for child in element if isinstance(child.tag, str)]
    parts = [_format_element(child, depth + 1) for child in children]
    if name == "semantics":
        return "".join(parts[:1])
    return _join_parts(name, element, parts)


def _join_parts(name: str, element: Any, parts: Sequence[str]) -> str:  # noqa: ANN401
    """Return the parts of an element of a formula with its signs."""
    if name in _SCRIPTS and len(parts) == len(_SCRIPTS[name]) + 1:
        scripts = map(format_script, _SCRIPTS[name], parts[1:])
        # The sum and its bounds are no part of what is summed.
        return parts[0].strip() + "".join(scripts) + (" " if _is_sign(parts[0]) else "")
    if name == "mfrac" and len(parts) == 2:
        return format_script("", parts[0]) + format_script("/", parts[1])
    if name == "mroot" and len(parts) == 2:
        return f"√[{parts[1].strip()}]{format_script('', parts[0])}"
    if name == "msqrt":
        return format_script("√", "".join(parts))
    if name == "mfenced":
        separator = (element.get("separators") or ",")[:1]
        return (element.get("open") or "(") + separator.join(parts) + (element.get("close") or ")")
    return _LISTED.get(name, "").join(parts)


def _is_sign(text: str) -> bool:
    """Return whether a text is one sign of an operation, such as a sum."""
    return len(text.strip()) == 1 and not text.strip().isalnum()


def _get_name(element: Any) -> str:  # noqa: ANN401
    """Return the name of an element without namespace and prefix."""
    return str(element.tag).rpartition("}")[2].rpartition(":")[2].lower()
