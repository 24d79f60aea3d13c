"""Pairs of a question and a chunk as rows of tokens, with the place of each token in the chunk."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from typing_extensions import override

from fathom.models.tokens import WordPiece

QUESTION_LIMIT = 96  # tokens; room for a claim of three sentences
TITLE_LIMIT = 40  # tokens; room for a title and its sections
_UNITS = re.compile("w+|p")
_CACHED_UNITS = 1 << 16
_LONGEST_UNIT = 100  # characters; a longer word is one unknown token


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTokens:
    """The tokens of a text and their places in it.

    Attributes:
        ids: The token ids, without the model's marks.
        starts: For each token, the character at which its word starts.
        ends: For each token, the character after the last one of its word.
    """

    ids: Sequence[int]
    starts: Sequence[int]
    ends: Sequence[int]

    def slice_tokens(self, first: int, last: int) -> "TextTokens":
        """Return the tokens from `first` up to `last`, which is not included."""
        cut = slice(first, last)
        return TextTokens(ids=self.ids[cut], starts=self.starts[cut], ends=self.ends[cut])


@dataclass(frozen=True, slots=True, kw_only=True)
class PairRow:
    """One row of the model's input: `[CLS] question [SEP] title : chunk [SEP]`.

    Attributes:
        ids: The token ids, marks included.
        kinds: For each token, 0 up to the first `[SEP]` and 1 behind it.
        first: The place in the row of the chunk's first token.
        chunk: The chunk's tokens in this row; token i of them stands at `first + i`.
    """

    ids: Sequence[int]
    kinds: Sequence[int]
    first: int
    chunk: TextTokens


class PairWriter(ABC):
    """A base class of writers of pairs as rows; safe to use from several threads.

    Attributes:
        start: The id of the mark before a row.
        end: The id of the mark behind a question and behind a row.
    """

    start: int
    end: int

    @abstractmethod
    def locate_tokens(self, text: str) -> TextTokens:
        """Return the tokens of the whole `text` with their places."""

    @abstractmethod
    def tokenize(self, text: str, limit: int) -> list[int]:
        """Return the first `limit` tokens of `text`, without the model's marks."""

    def build_head(self, question: str, title: str) -> list[int]:
        """Return the token ids of a row up to the chunk, `[CLS] question [SEP] title :`.

        Args:
            question: The question, which is cut at `QUESTION_LIMIT` tokens.
            title: The title, which is cut at `TITLE_LIMIT` tokens; without one there is no colon.
        """
        question_ids = [self.start, *self.tokenize(question, QUESTION_LIMIT), self.end]
        title_ids = self.tokenize(title, TITLE_LIMIT)
        return (
            [*question_ids, *title_ids, *self.tokenize(":", TITLE_LIMIT)]
            if title_ids
            else question_ids
        )

    def build_row(self, head: Sequence[int], chunk: TextTokens) -> PairRow:
        """Return the whole row of a head, as `build_head` returns it, and a chunk that fits."""
        ids = [*head, *chunk.ids, self.end]
        question_length = head.index(self.end) + 1
        kinds = [0] * question_length + [1] * (len(ids) - question_length)
        return PairRow(ids=ids, kinds=kinds, first=len(head), chunk=chunk)


class PairTokens(PairWriter):
    """A writer of pairs with WordPiece tokens, which caches the tokens of words."""

    def __init__(self, words: WordPiece) -> None:
        """Take the tokenizer."""
        self._words = words
        self._shape = _SeparatorTable(words)
        self._cache: dict[str, tuple[int, ...]] = {}
        self.start, self.end = words.encode("", 2)

    @override
    def locate_tokens(self, text: str) -> TextTokens:
        # The tokens are those of `WordPiece.encode`, which gives no places.
        ids: list[int] = []
        starts: list[int] = []
        ends: list[int] = []
        for match in _UNITS.finditer(text.translate(self._shape)):
            start, end = match.span()
            pieces = self._split_unit(text[start:end])
            ids += pieces
            starts += [start] * len(pieces)
            ends += [end] * len(pieces)
        return TextTokens(ids=ids, starts=starts, ends=ends)

    @override
    def tokenize(self, text: str, limit: int) -> list[int]:
        return self._words.encode(text, limit + 2)[1:-1]

    def _split_unit(self, unit: str) -> tuple[int, ...]:
        """Return the tokens of a word or a separating sign."""
        pieces = self._cache.get(unit)
        if pieces is not None:
            return pieces
        if len(self._cache) >= _CACHED_UNITS:
            self._cache.clear()
        # A word has at most one token for each letter, and lower-casing can add letters.
        limit = 4 * min(len(unit), _LONGEST_UNIT)
        pieces = self._cache[unit] = tuple(self.tokenize(unit, limit))
        return pieces


class _SeparatorTable(dict[int, str]):
    """A table for `str.translate` that maps a character to `p` if it separates words, else to `w`.

    The tokenizer itself decides, when a character is first met.
    """

    def __init__(self, words: WordPiece) -> None:
        super().__init__()
        self._words = words

    def __missing__(self, code: int) -> str:
        char = chr(code)
        together, separate = (self._words.encode(text, 16) for text in (f"a{char}a", f"a {char} a"))
        self[code] = kind = "p" if together == separate else "w"
        return kind
