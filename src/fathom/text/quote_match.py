"""The place of a copied quote in a text, even if the copy is not exact.

Words are compared without case, punctuation and white space, so quotation marks, dashes, ligatures,
soft hyphens, words broken at the end of a line, list numbers and marks of notes make no difference.
An ellipsis may stand for omitted words. A quote with a few different words is found by the longest
run of words that it shares with the text, if none of the different words changes the meaning: no
number, sign, name, negation or word that limits a statement.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from math import ceil
from typing import NamedTuple

from fathom.text.language import split_set
from fathom.text.numbers import NUMBER_WORDS
from fathom.types import Span

_LETTERS = r"(?:[^\W_]|[\u0300-\u036f])+"
_BREAK = r"\u00ad(?:[ \t]*\n\s*)?|[-\u2010][ \t]*\n\s*"
"""A soft hyphen, or the hyphen of a word that is broken at the end of a line."""
_TOKEN = re.compile(
    r"^[ \t]*(?P<label>\(?(?:\d{1,3}(?:\.\d{1,3})*|[a-zA-Z]|[ivxlcIVXLC]{1,6})[.)])(?=[ \t]|$)"
    r"|(?P<note>\[\d{1,3}\])"
    r"|(?P<number>(?:(?<![\w)\].,])[-\u2212\u2013])?\d+(?:[.,:/]\d+)*(?:[^\W\d_]\w*)?)"
    rf"|(?P<word>{_LETTERS}(?:(?:['\u2019\u02bc`]|{_BREAK}){_LETTERS})*)"
    r"|(?P<sign>[%\u2030\u00b0$\u20ac\u00a3\u00a5+=<>\u2264\u2265\u00b1~\u2248])",
    re.MULTILINE,
)
_BROKEN = re.compile(_BREAK)
_APOSTROPHE = re.compile("[\u2019\u02bc`]")
_ELLIPSIS = re.compile(r"[\[(]?(?:\u2026|\.{3,}|(?:\. ){2,}\.)[\])]?")
_CLAUSE_END = re.compile(r"[.,;:!?\n]")

_SMALL = split_set(
    "a an the this that these those its it of in on at to for by with as and is are was were be "
    "been has have had which who there also yang itu ini para adalah ialah di pada dan oleh untuk "
    "dari dengan telah sang ke"
)
"""Words that may be missing, added or different without a change of meaning."""
_NEGATIONS = split_set(
    "no not never none nobody nothing nowhere neither nor without cannot hardly rarely seldom "
    "scarcely barely false falsely untrue wrong tidak bukan bukanlah tanpa belum jangan tak tiada "
    "dilarang jarang salah keliru"
)
# Words that limit a statement, so that the meaning changes without them.
_LIMITS = split_set(
    "only all every each any some most few fewer except unless until before after more less least "
    "maximum minimum must may might can could should shall will would if or but half double former "
    "formerly previously proposed alleged allegedly draft almost nearly about roughly up over "
    "under from hanya semua setiap kecuali sebelum sesudah setelah lebih kurang paling harus "
    "wajib boleh dapat bisa mungkin akan jika bila atau tetapi hampir sekitar mantan bekas"
)
_ROLE_ENDINGS = (("er", "ee"), ("or", "ee"))
"""Pairs of endings that make different persons of one stem: employer, employee."""
_MIN_STRETCH = 4
"""The smallest number of words in the longest common run, the stretch."""
_MIN_STRETCH_SHARE = 0.4
"""The smallest share of a quote's words in the stretch."""
_MAX_DIFFERING_SHARE = 0.25
"""The largest share of a quote's words that may differ."""
_MAX_GAP = 60
"""The largest number of words that an ellipsis may stand for."""
_NEGATION_REACH = 3
"""The number of words before or after a quote among which a negation applies to the quote."""


class Word(NamedTuple):
    """A word, number or sign of a text.

    Attributes:
        key: The form that is compared: in lower case and normal form.
        span: Its span in the text.
        optional: Whether it is a list number or the mark of a note, which a copy may lack or add.
        telling: Whether it is a number, a sign or has a capital; a copy must not change it.
    """

    key: str
    span: Span
    optional: bool
    telling: bool


class QuoteMatch(NamedTuple):
    """The place of a quote.

    Attributes:
        span: Its span in the text, from the first word of the quote to the last.
        exact: Whether the text has all words of the quote there, and others only for an ellipsis.
    """

    span: Span
    exact: bool


def find_quote(quote: str, text: str) -> QuoteMatch | None:
    """Return the first place of a text that a quote is a copy of, exact or nearly so.

    Exact copies come first. A place with a negation close before it (for a copy that is not exact,
    also close after it) in the same clause does not count, because the quote without the negation
    says the opposite.

    Args:
        quote: The quote.
        text: The text.

    Returns:
        The place; `None` if there is none.
    """
    parts = [split_words(part) for part in _ELLIPSIS.split(quote)]
    parts = [part for part in parts if any(not word.optional for word in part)]
    words = split_words(text)
    for first, end in _find_exact(parts, words) if parts else ():
        place = _join_span(words, first, end)
        before = words[max(0, first - _NEGATION_REACH) : first][::-1]
        if not _is_negated(before, place, text):
            return QuoteMatch(place, exact=True)
    for first, end in _find_near(parts[0], words) if len(parts) == 1 else ():
        place = _join_span(words, first, end)
        before = words[max(0, first - _NEGATION_REACH) : first][::-1]
        after = words[end : end + _NEGATION_REACH]
        if not _is_negated(before, place, text) and not _is_negated(after, place, text):
            return QuoteMatch(place, exact=False)
    return None


def split_words(text: str) -> list[Word]:
    """Return the words, numbers and signs of a text in order."""
    return [_build_word(match) for match in _TOKEN.finditer(text)]


def _build_word(match: re.Match[str]) -> Word:
    """Return the word of a match of `_TOKEN`."""
    kind = str(match.lastgroup)
    written = match[kind]
    normalised = unicodedata.normalize("NFKC", _APOSTROPHE.sub("'", _BROKEN.sub("", written)))
    key = normalised.casefold().replace("\u2212", "-").replace("\u2013", "-")
    optional = kind in {"label", "note"}
    if optional:
        key = key.strip("()[].")
    telling = kind in {"number", "sign"} or normalised[:1].isupper() or key in NUMBER_WORDS
    return Word(key, Span(*match.span(kind)), optional, telling)


def _join_span(words: Sequence[Word], first: int, end: int) -> Span:
    """Return the span of the words with indices from `first` to `end` - 1."""
    return Span(words[first].span.start, words[end - 1].span.end)


def _is_negated(near: Sequence[Word], place: Span, text: str) -> bool:
    """Return whether one of the words near a place is a negation in the same clause.

    Args:
        near: The words before or after the place, the nearest first.
        place: The span of the place.
        text: The text.
    """
    for word in near:
        start, end = min(word.span.end, place.end), max(word.span.start, place.start)
        if _CLAUSE_END.search(text, start, end):
            return False
        if _is_negation(word.key):
            return True
    return False


def _is_negation(key: str) -> bool:
    """Return whether a word is a negation."""
    return key in _NEGATIONS or key.endswith("n't")


def _find_exact(
    parts: Sequence[Sequence[Word]], words: Sequence[Word]
) -> Iterator[tuple[int, int]]:
    """Yield the places that have all parts of a quote in order.

    Args:
        parts: The words of the quote, split at ellipses.
        words: The words of the text.

    Yields:
        The index of the first word of a place, and the index after its last word.
    """
    for first, end in _find_places(parts[0], words, 0):
        part_end: int | None = end
        for part in parts[1:]:
            part_end = _find_next(part, words, part_end) if part_end is not None else None
        if part_end is not None:
            yield first, part_end


def _find_next(part: Sequence[Word], words: Sequence[Word], start: int) -> int | None:
    """Return the index after the last word of a part that follows an ellipsis.

    `None` if the part does not follow, or if the ellipsis stands for too many words or a negation.

    Args:
        part: The words of the part.
        words: The words of the text.
        start: The index of the first word that may belong to the ellipsis.
    """
    for first, end in _find_places(part, words, start):
        hidden = words[start:first]
        if len(hidden) > _MAX_GAP or any(_is_negation(word.key) for word in hidden):
            return None
        return end
    return None


def _find_places(
    part: Sequence[Word], words: Sequence[Word], start: int
) -> Iterator[tuple[int, int]]:
    """Yield every place from the word `start` on that has the words of a part in a row.

    Yields:
        The index of the first word of a place, and the index after its last word.
    """
    head = next(place for place, word in enumerate(part) if not word.optional)
    for first in range(start, len(words)):
        if words[first].key == part[head].key:
            end = _match_words(part[head:], words, first)
            if end is not None:
                yield first, end


def _match_words(part: Sequence[Word], words: Sequence[Word], at: int) -> int | None:
    """Return the index after the words of a part that begin at a word; `None` if they do not.

    List numbers and marks of notes may be missing on either side.
    """
    for word in part:
        candidate = words[at] if at < len(words) else None
        if (
            candidate is not None
            and candidate.key != word.key
            and candidate.optional
            and not word.optional
        ):
            at += 1
            candidate = words[at] if at < len(words) else None
        if candidate is not None and candidate.key == word.key:
            at += 1
        elif not word.optional or (candidate is not None and candidate.optional):
            return None
    return at


def _find_near(part: Sequence[Word], words: Sequence[Word]) -> Iterator[tuple[int, int]]:
    """Yield the places around the longest common run of words whose differences are harmless.

    Yields:
        The index of the first word of a place, and the index after its last word.
    """
    quote = [word for word in part if not word.optional]
    places = [at for at, word in enumerate(words) if not word.optional]
    text_words = [words[at] for at in places]
    keys, text_keys = [word.key for word in quote], [word.key for word in text_words]
    matcher = SequenceMatcher(None, text_keys, keys, autojunk=False)
    place, begin, size = matcher.find_longest_match()
    if size < max(_MIN_STRETCH, _MIN_STRETCH_SHARE * len(quote)):
        return
    # The stretch may occur several times, with other words around it.
    for at in range(place, len(text_words) - size + 1):
        if text_keys[at : at + size] == keys[begin : begin + size]:
            extended = _extend_stretch(quote, text_words, Span(begin, begin + size), at)
            if extended is not None:
                yield places[extended[0]], places[extended[1] - 1] + 1


def _extend_stretch(
    quote: Sequence[Word], text_words: Sequence[Word], stretch: Span, at: int
) -> tuple[int, int] | None:
    """Extend a common run of words to the whole quote.

    Args:
        quote: The words of the quote.
        text_words: The words of the text.
        stretch: The span of the run in the words of the quote.
        at: The index of the run in the words of the text.

    Returns:
        The index of the first word of the place, and the index after its last word; `None` if too
        many words differ, or the meaning.
    """
    after, most = at + stretch.end - stretch.start, ceil(_MAX_DIFFERING_SHARE * len(quote))
    # With more words of the text than the quote has, too many would differ.
    room = len(quote)
    left = _align_words(
        quote[: stretch.start][::-1], text_words[max(0, at - room) : at][::-1], most
    )
    if left is None:
        return None
    right = _align_words(quote[stretch.end :], text_words[after : after + room], most - left.cost)
    return None if right is None else (at - left.used, after + right.used)


class _Alignment(NamedTuple):
    """An alignment of words of a quote with the first words of a text.

    Attributes:
        used: The number of words of the text that are aligned.
        cost: The number of words that differ, are missing or are added.
    """

    used: int
    cost: int


def _align_words(quote: Sequence[Word], text_words: Sequence[Word], most: int) -> _Alignment | None:
    """Align the words of a quote with the first words of a text, with the fewest differences.

    Args:
        quote: The words of the quote.
        text_words: The words of the text.
        most: The largest number of differences.

    Returns:
        The alignment; `None` if more words differ, or if a difference changes the meaning.
    """
    # The edit distance of words (Levenshtein); all rows are kept for tracing the differences.
    costs = [list(range(len(text_words) + 1))]
    for quoted in quote:
        above = costs[-1]
        row = [above[0] + 1]
        for at, word in enumerate(text_words, start=1):
            same = above[at - 1] + (quoted.key != word.key)
            row.append(min(same, above[at] + 1, row[-1] + 1))
        costs.append(row)
    cost = min(costs[-1])
    for used in (at for at, row_cost in enumerate(costs[-1]) if row_cost == cost <= most):
        if all(
            _is_harmless(quoted, word)
            for quoted, word in _trace_differences(quote, text_words, costs, used)
        ):
            return _Alignment(used, cost)
    return None


def _trace_differences(
    quote: Sequence[Word], text_words: Sequence[Word], costs: Sequence[Sequence[int]], at: int
) -> Iterator[tuple[Word | None, Word | None]]:
    """Yield the differences of an alignment, last first.

    Args:
        quote: The words of the quote.
        text_words: The words of the text.
        costs: The edit distances, by row (words of the quote) and column (words of the text).
        at: The number of words of the text that are aligned.

    Yields:
        A word of the quote and a different one of the text; either is `None` if it is missing.
    """
    row = len(quote)
    while row or at:
        cost = costs[row][at]
        if (
            row
            and at
            and cost == costs[row - 1][at - 1] + (quote[row - 1].key != text_words[at - 1].key)
        ):
            row, at = row - 1, at - 1
            if quote[row].key != text_words[at].key:
                yield quote[row], text_words[at]
        elif row and cost == costs[row - 1][at] + 1:
            row -= 1
            yield quote[row], None
        else:
            at -= 1
            yield None, text_words[at]


def _is_harmless(quoted: Word | None, word: Word | None) -> bool:
    """Return whether a difference does not change the meaning.

    Args:
        quoted: The word of the quote; `None` if it has none.
        word: The word of the text; `None` if it has none.
    """
    if quoted is None:
        return word is None or not _changes_meaning(word)
    if word is None:
        return quoted.key in _SMALL
    return {quoted.key, word.key} <= _SMALL or _are_forms(quoted, word)


def _changes_meaning(word: Word) -> bool:
    """Return whether the meaning changes if a word is left out."""
    if word.key in _SMALL:
        return False
    is_number = word.telling and not word.key.isalpha()
    return is_number or word.key in _LIMITS | NUMBER_WORDS or _is_negation(word.key)


def _are_forms(quoted: Word, word: Word) -> bool:
    """Return whether two words are forms of one word.

    They are if at least 4 letters at their start are equal and at most 3 letters follow.
    """
    if quoted.telling or word.telling or _changes_meaning(quoted) or _changes_meaning(word):
        return False
    first, second = quoted.key, word.key
    if any({first[-2:], second[-2:]} == set(ends) for ends in _ROLE_ENDINGS):
        return False
    pairs = enumerate(zip(first, second, strict=False))
    same = next((n for n, pair in pairs if len(set(pair)) > 1), min(len(first), len(second)))
    return same >= 4 and max(len(first), len(second)) - same <= 3
