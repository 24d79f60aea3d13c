"""Where a copied quote stands in a text, however carelessly it was copied.

Words are compared, without case, punctuation and white space: so quotation marks, dashes,
ligatures, soft hyphens, words broken at the end of a line, list numbers and marks of notes make no
difference. Dots of an ellipsis may stand for words left out. A quote in which a few words differ is
found by the longest stretch of words that it has in common with the text, if nothing in the rest
can change what is said: no number, sign, name or negation, none of the words that limit.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from math import ceil
from typing import NamedTuple

from fathom.text.numbers import NUMBER_WORDS
from fathom.types import Span


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_LETTERS = r"(?:[^\W_]|[\u0300-\u036f])+"
_TOKEN = re.compile(
    r"^[ \t]*(?P<label>\(?(?:\d{1,3}(?:\.\d{1,3})*|[a-zA-Z]|[ivxlcIVXLC]{1,6})[.)])(?=[ \t]|$)"
    r"|(?P<note>\[\d{1,3}\])"
    r"|(?P<number>(?:(?<![\w)\].,])[-\u2212\u2013])?\d+(?:[.,:/]\d+)*(?:[^\W\d_]\w*)?)"
    rf"|(?P<word>{_LETTERS}(?:(?:['\u2019\u02bc`]|\u00ad|[-\u2010][ \t]*\n\s*){_LETTERS})*)"
    r"|(?P<sign>[%\u2030\u00b0$\u20ac\u00a3\u00a5+=<>\u2264\u2265\u00b1~\u2248])",
    re.MULTILINE,
)
_BROKEN = re.compile(r"\u00ad|[-\u2010][ \t]*\n\s*")
_APOSTROPHE = re.compile("[\u2019\u02bc`]")
_ELLIPSIS = re.compile(r"[\[(]?(?:\u2026|\.{3,}|(?:\. ){2,}\.)[\])]?")
_CLAUSE_END = re.compile(r"[.,;:!?\n]")

_SMALL = _set(
    "a an the this that these those its it of in on at to for by with as and is are was were be "
    "been has have had which who there also yang itu ini para adalah ialah di pada dan oleh untuk "
    "dari dengan telah sang ke"
)
"""Words that may differ."""
_NEGATIONS = _set(
    "no not never none nobody nothing nowhere neither nor without cannot hardly rarely seldom "
    "scarcely barely false falsely untrue wrong tidak bukan bukanlah tanpa belum jangan tak tiada "
    "dilarang jarang salah keliru"
)
_LIMITS = _set(
    "only all every each any some most few fewer except unless until before after more less least "
    "maximum minimum must may might can could should shall will would if or but half double former "
    "formerly previously proposed alleged allegedly draft almost nearly about roughly up over "
    "under from hanya semua setiap kecuali sebelum sesudah setelah lebih kurang paling harus "
    "wajib boleh dapat bisa mungkin akan jika bila atau tetapi hampir sekitar mantan bekas"
)
_ROLES = (("er", "ee"), ("or", "ee"))
"""Endings that make another person of the same stem."""
_LEAST = 4
"""Words of the common stretch."""
_COMMON = 0.4
"""Of a quote's words, in the common stretch."""
_DIFFERING = 0.25
"""Of a quote's words, at most."""
_GAP = 60
"""Words that an ellipsis may stand for."""
_CLOSE = 3
"""Words beside a quote in which a negation is about it."""


class Word(NamedTuple):
    """A word, number or sign of a text.

    Attributes:
        key: What is compared.
        span: Where it stands.
        optional: Whether it is a list number or the mark of a note, which a copy may lack or add.
        telling: Whether it is a number, a sign or a name, which a copy may not change.
    """

    key: str
    span: Span
    optional: bool
    telling: bool


class QuoteMatch(NamedTuple):
    """Where a quote stands.

    Attributes:
        span: Of the text, from the first word of the quote to the last one.
        exact: Whether its words stand there all, and no others but for an ellipsis.
    """

    span: Span
    exact: bool


def find(quote: str, text: str) -> QuoteMatch | None:
    """The first place of `text` that says what `quote` says, in the same words or nearly so.

    `None` where there is none, and where a negation stands close before what was cut out of its
    clause: who leaves that out quotes the opposite.
    """
    parts = [words_of(part) for part in _ELLIPSIS.split(quote)]
    parts = [part for part in parts if any(not word.optional for word in part)]
    words = words_of(text)
    for first, end in _in_order(parts, words) if parts else ():
        if not _denied(words, first, text):
            return QuoteMatch(_span(words, first, end), exact=True)
    for first, end in _nearly(parts[0], words) if len(parts) == 1 else ():
        if not _denied(words, first, text) and not _denied_after(words, end, text):
            return QuoteMatch(_span(words, first, end), exact=False)
    return None


def words_of(text: str) -> list[Word]:
    """The words, numbers and signs of a text in order."""
    return [_word(found) for found in _TOKEN.finditer(text)]


def _word(found: re.Match[str]) -> Word:
    kind = str(found.lastgroup)
    raw = found[kind]
    plain = unicodedata.normalize("NFKC", _APOSTROPHE.sub("'", _BROKEN.sub("", raw)))
    key = plain.casefold().replace("\u2212", "-").replace("\u2013", "-")
    optional = kind in {"label", "note"}
    if optional:
        key = key.strip("()[].")
    telling = kind in {"number", "sign"} or plain[:1].isupper() or key in NUMBER_WORDS
    return Word(key, Span(*found.span(kind)), optional, telling)


def _span(words: Sequence[Word], first: int, end: int) -> Span:
    return Span(words[first].span.start, words[end - 1].span.end)


def _denied(words: Sequence[Word], first: int, text: str) -> bool:
    """Whether a negation stands close before a place, in the same clause."""
    for word in reversed(words[max(0, first - _CLOSE) : first]):
        if _CLAUSE_END.search(text, word.span.end, words[first].span.start):
            return False
        if _negates(word.key):
            return True
    return False


def _denied_after(words: Sequence[Word], end: int, text: str) -> bool:
    """Whether a negation stands close behind a place, in the same clause."""
    for word in words[end : end + _CLOSE]:
        if _CLAUSE_END.search(text, words[end - 1].span.end, word.span.start):
            return False
        if _negates(word.key):
            return True
    return False


def _negates(key: str) -> bool:
    return key in _NEGATIONS or key.endswith("n't")


def _in_order(parts: Sequence[Sequence[Word]], words: Sequence[Word]) -> Iterator[tuple[int, int]]:
    """The places, first word and end, where the parts stand one after the other."""
    for first, end in _places(parts[0], words, 0):
        at: int | None = end
        for part in parts[1:]:
            at = _next(part, words, at) if at is not None else None
        if at is not None:
            yield first, at


def _next(part: Sequence[Word], words: Sequence[Word], start: int) -> int | None:
    """The end of a part that goes on behind an ellipsis, which hides no negation."""
    for first, end in _places(part, words, start):
        hidden = words[start:first]
        if len(hidden) > _GAP or any(_negates(word.key) for word in hidden):
            return None
        return end
    return None


def _places(part: Sequence[Word], words: Sequence[Word], start: int) -> Iterator[tuple[int, int]]:
    """Every place where the words of a part stand in a row: its first word and its end."""
    head = next(at for at, word in enumerate(part) if not word.optional)
    for first in range(start, len(words)):
        if words[first].key == part[head].key:
            end = _walk(part[head:], words, first)
            if end is not None:
                yield first, end


def _walk(part: Sequence[Word], words: Sequence[Word], at: int) -> int | None:
    """The end of the words of a part, from a place on; list numbers may lack on one side."""
    for word in part:
        here = words[at] if at < len(words) else None
        if here is not None and here.key != word.key and here.optional and not word.optional:
            at += 1
            here = words[at] if at < len(words) else None
        if here is not None and here.key == word.key:
            at += 1
        elif not word.optional or (here is not None and here.optional):
            return None
    return at


def _nearly(part: Sequence[Word], words: Sequence[Word]) -> Iterator[tuple[int, int]]:
    """The places that hold the longest common stretch, where what differs is harmless."""
    quote = [word for word in part if not word.optional]
    kept = [at for at, word in enumerate(words) if not word.optional]
    own = [words[at] for at in kept]
    keys, theirs = [word.key for word in quote], [word.key for word in own]
    matcher = SequenceMatcher(None, theirs, keys, autojunk=False)
    place, begin, size = matcher.find_longest_match()
    if size < max(_LEAST, _COMMON * len(quote)):
        return
    for at in range(place, len(own) - size + 1):
        if theirs[at : at + size] == keys[begin : begin + size]:
            found = _around(quote, own, Span(begin, begin + size), at)
            if found is not None:
                yield kept[found[0]], kept[found[1] - 1] + 1


def _around(
    quote: Sequence[Word], own: Sequence[Word], stretch: Span, at: int
) -> tuple[int, int] | None:
    """The place around a stretch that stands at `at`; `None` if too much differs there."""
    after, most = at + stretch.end - stretch.start, ceil(_DIFFERING * len(quote))
    room = len(quote)
    left = _aligned(quote[: stretch.start][::-1], own[max(0, at - room) : at][::-1], most)
    if left is None:
        return None
    right = _aligned(quote[stretch.end :], own[after : after + room], most - left.cost)
    return None if right is None else (at - left.used, after + right.used)


class _Aligned(NamedTuple):
    """So many words of a text are used, and so many words differ."""

    used: int
    cost: int


def _aligned(quote: Sequence[Word], own: Sequence[Word], most: int) -> _Aligned | None:
    """All words of a quote beside the beginning of a text, where the fewest words differ.

    `None` where more than `most` do, or where it changes what is said.
    """
    costs = [list(range(len(own) + 1))]
    for mine in quote:
        above = costs[-1]
        row = [above[0] + 1]
        for at, its in enumerate(own, start=1):
            same = above[at - 1] + (mine.key != its.key)
            row.append(min(same, above[at] + 1, row[-1] + 1))
        costs.append(row)
    cost = min(costs[-1])
    for used in (at for at, each in enumerate(costs[-1]) if each == cost <= most):
        if all(_harmless(mine, its) for mine, its in _differing(quote, own, costs, used)):
            return _Aligned(used, cost)
    return None


def _differing(
    quote: Sequence[Word], own: Sequence[Word], costs: Sequence[Sequence[int]], at: int
) -> Iterator[tuple[Word | None, Word | None]]:
    """The words that differ, each with what stands in its place, from the end on."""
    row = len(quote)
    while row or at:
        cost = costs[row][at]
        if row and at and cost == costs[row - 1][at - 1] + (quote[row - 1].key != own[at - 1].key):
            row, at = row - 1, at - 1
            if quote[row].key != own[at].key:
                yield quote[row], own[at]
        elif row and cost == costs[row - 1][at] + 1:
            row -= 1
            yield quote[row], None
        else:
            at -= 1
            yield None, own[at]


def _harmless(mine: Word | None, its: Word | None) -> bool:
    """Whether a difference leaves what is said as it is."""
    if mine is None:
        return its is None or not _changes(its)
    if its is None:
        return mine.key in _SMALL
    return {mine.key, its.key} <= _SMALL or _alike(mine, its)


def _changes(word: Word) -> bool:
    """Whether to leave a word out changes what is said."""
    if word.key in _SMALL:
        return False
    number = word.telling and not word.key.isalpha()
    return number or word.key in _LIMITS | NUMBER_WORDS or _negates(word.key)


def _alike(mine: Word, its: Word) -> bool:
    """Whether two words are forms of one: the same but for a short ending."""
    if mine.telling or its.telling or _changes(mine) or _changes(its):
        return False
    one, other = mine.key, its.key
    if any({one[-2:], other[-2:]} == set(ends) for ends in _ROLES):
        return False
    same = next((n for n, pair in enumerate(zip(one, other, strict=False)) if len(set(pair)) > 1),
                min(len(one), len(other)))  # fmt: skip
    return same >= 4 and max(len(one), len(other)) - same <= 3
