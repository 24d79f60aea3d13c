"""Spans that contain only whole pairs of brackets."""

from fathom.types import Span

_OPENING_BY_CLOSING = {")": "(", "]": "["}
_CLOSING_BY_OPENING = {opening: closing for closing, opening in _OPENING_BY_CLOSING.items()}
_NEAR = 40
"""The number of characters after a span within which its open bracket may be closed."""


def balance_brackets(text: str, span: Span) -> Span:
    """Return a span near the given one whose brackets are in pairs, as far as possible.

    A bracket at the edge of the span without a partner is left out. If a bracket inside the span is
    closed within `_NEAR` characters after it, the span is extended to the closing bracket; else the
    span ends before the opening bracket. A closing bracket without its opening one stays if words
    follow it in the span. If no words would be left, the span is returned unchanged.

    Args:
        text: The text.
        span: The span in it.
    """
    opened, closed = _find_halves(span.cut(text))
    start, end = span.start, span.end
    if closed and not _has_words(text[start + closed[0] : end]):
        end = start + closed[0]
    if opened:
        place = start + opened[0]
        if not _has_words(text[start:place]):
            start = place + 1
        else:
            closing = text.find(_CLOSING_BY_OPENING[text[place]], end, end + _NEAR)
            is_own = closing >= 0 and text[place] not in text[end:closing]
            end = closing + 1 if is_own else place
    inner = text[start:end]
    if not _has_words(inner):
        return span
    return Span(end - len(inner.lstrip()), start + len(inner.rstrip()))


def _find_halves(text: str) -> tuple[list[int], list[int]]:
    """Return the indices of opening brackets without a partner, and of closing ones without."""
    opened: list[int] = []
    closed: list[int] = []
    for place, char in enumerate(text):
        if char in _CLOSING_BY_OPENING:
            opened.append(place)
        elif char in _OPENING_BY_CLOSING:
            if opened and text[opened[-1]] == _OPENING_BY_CLOSING[char]:
                opened.pop()
            else:
                closed.append(place)
    return opened, closed


def _has_words(text: str) -> bool:
    """Return whether a text has a letter or a digit."""
    return any(map(str.isalnum, text))
