"""Unigram tokens (Kudo 2018) with their places in the text, and pairs as rows of tokens."""

import re
from pathlib import Path

from tokenizers import Tokenizer
from typing_extensions import override

from fathom.errors import ModelError
from fathom.models.pair import PairWriter, TextTokens

_MARKS = ("<s>", "</s>", "<unk>")
_SPACE = "▁"  # a piece of its own where no piece begins with it and the letters behind it
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f]*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_UNIT = re.compile(r"\d{4}-\d\d-\d\d(?!\d)|\d+(?:[.,:]\d+)+\w*|\w+|[^\w\s]")
"""A word or sign. A date or a number is one word, because a part of it would be another one."""


class UnigramPairs(PairWriter):
    """A writer of pairs with the pieces of XLM-R and similar models.

    Every token stands for letters of the text. A piece that is only a space is left out, and a
    model's mark that is spelt out in a text counts as an unknown word.
    """

    def __init__(self, tokenizer: Path) -> None:
        """Read a `tokenizer.json`.

        Raises:
            ModelError: If it cannot be read or lacks one of the marks.
        """
        try:
            self._tokenizer = Tokenizer.from_file(str(tokenizer))
            self.start, self.end, self._unknown = _find_marks(self._tokenizer)
        except Exception as error:  # the package raises plain Exceptions
            raise ModelError(f"tokenizer {str(tokenizer)!r} cannot be read: {error}") from error
        self._space = self._tokenizer.token_to_id(_SPACE)
        self._marks = frozenset({self.start, self.end, self._tokenizer.token_to_id("<pad>")})

    @override
    def locate_tokens(self, text: str) -> TextTokens:
        # The place of a token is that of the whole word or sign to which it belongs. A lone
        # surrogate is replaced by a sign that no model knows.
        readable = _SURROGATE.sub("\ufffd", text)
        pieces = self._tokenizer.encode(readable, add_special_tokens=False)
        starts_of, ends_of = _find_units(text)
        ids, starts, ends = [], [], []
        for number, (begin, end) in zip(pieces.ids, pieces.offsets, strict=True):
            first = _skip_blanks(text, begin, end)  # a piece may include the space before its word
            if first < end and number != self._space:
                ids.append(self._unknown if number in self._marks else number)
                starts.append(starts_of[first])
                ends.append(ends_of[end - 1])
        return TextTokens(ids=ids, starts=starts, ends=ends)

    @override
    def tokenize(self, text: str, limit: int) -> list[int]:
        return list(self.locate_tokens(text).ids[:limit])


def _find_marks(tokenizer: Tokenizer) -> list[int]:
    """Return the ids of the marks, in the order of `_MARKS`.

    Raises:
        ValueError: If the tokenizer lacks one of them.
    """
    numbers = [tokenizer.token_to_id(name) for name in _MARKS]
    ids = [number for number in numbers if number is not None]
    if len(ids) < len(_MARKS):
        raise ValueError(f"lacks one of the marks {', '.join(_MARKS)}")
    return ids


def _skip_blanks(text: str, start: int, end: int) -> int:
    """Return the place of the first character from `start` that is no blank; at most `end`."""
    match = _BLANKS.match(text, start, end)
    return match.end() if match else start


def _find_units(text: str) -> tuple[list[int], list[int]]:
    """Return, for every character, the start of its word or sign and the place after its end."""
    starts = list(range(len(text)))
    ends = list(range(1, len(text) + 1))
    for match in _UNIT.finditer(text):
        first, last = match.span()
        if last - first > 1:
            starts[first:last] = [first] * (last - first)
            ends[first:last] = [last] * (last - first)
    return starts, ends
