"""Spans with whole pairs of brackets."""

from fathom.types import Span

_OPENING_BY_CLOSING = {")": "(", "]": "["}
_CLOSING_BY_OPENING = {opening: closing for closing, opening in _OPENING_BY_CLOSING.items()}
_NEAR = 40
"""The characters after a span in which a bracket must close to be taken in."""


def balance_brackets(text: str, span: Span) -> Span:
    """Return a span whose brackets come in pairs, as near to the given one as possible.

    A bracket without its other half is left out at the edge of the span. A bracket that opens
    within the span and closes soon after it is taken in; one that closes later, or never, ends the
    span. A bracket that closes what opened before the span stays if words follow it in the span.

    Args:
        text: The text that the span is cut from.
        span: The span; brackets outside of it count only if they close one of its own.
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
    """Return the places of brackets that never close in a text, and of those that never open."""
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
