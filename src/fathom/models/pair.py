"""A question and a chunk as one row of tokens, every token knowing its place in the chunk."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from fathom.models.tokens import WordPiece

QUESTION_LIMIT = 96  # tokens; room for a claim of three sentences
TITLE_LIMIT = 40  # tokens; room for a title and its sections
_UNITS = re.compile("w+|p")
_CACHED_UNITS = 1 << 16
_LONGEST_UNIT = 100  # characters; a longer word is one unknown token


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """The tokens of a text and where they stand in it.

    Attributes:
        ids: Token ids, without the model's marks.
        starts: Character at which the word of each token starts.
        ends: Character after the last one of that word.
    """

    ids: Sequence[int]
    starts: Sequence[int]
    ends: Sequence[int]

    def part(self, first: int, last: int) -> "Placed":
        """The tokens `first` to `last`, the last one not included."""
        cut = slice(first, last)
        return Placed(ids=self.ids[cut], starts=self.starts[cut], ends=self.ends[cut])


@dataclass(frozen=True, slots=True, kw_only=True)
class PairRow:
    """One row of the model's input: `[CLS] question [SEP] title : chunk [SEP]`.

    Attributes:
        ids: Token ids, marks included.
        kinds: 0 up to the first `[SEP]`, 1 behind it.
        first: Place in the row of the chunk's first token.
        chunk: The chunk's tokens in this row; the i-th stands at `first + i`.
    """

    ids: Sequence[int]
    kinds: Sequence[int]
    first: int
    chunk: Placed


class PairWriter(ABC):
    """Writes pairs as rows, whatever the tokens are. May be used from several threads.

    Attributes:
        start: Id of the mark before a row.
        end: Id of the mark behind a question and behind a row.
    """

    start: int
    end: int

    @abstractmethod
    def placed(self, text: str) -> Placed:
        """Tokens of `text` with their places."""

    @abstractmethod
    def ids(self, text: str, limit: int) -> list[int]:
        """The first `limit` tokens of `text`, without the model's marks."""

    def head(self, question: str, title: str) -> list[int]:
        """The row up to the chunk; question and title are cut at their limits."""
        asked = [self.start, *self.ids(question, QUESTION_LIMIT), self.end]
        named = self.ids(title, TITLE_LIMIT)
        return [*asked, *named, *self.ids(":", TITLE_LIMIT)] if named else asked

    def row(self, head: Sequence[int], chunk: Placed) -> PairRow:
        """The whole row of `head` and a chunk that fits."""
        ids = [*head, *chunk.ids, self.end]
        asked = head.index(self.end) + 1
        kinds = [0] * asked + [1] * (len(ids) - asked)
        return PairRow(ids=ids, kinds=kinds, first=len(head), chunk=chunk)


class PairTokens(PairWriter):
    """Writes pairs with WordPiece; remembers the words it has met."""

    def __init__(self, words: WordPiece) -> None:
        self._words = words
        self._shape = _Shape(words)
        self._known: dict[str, tuple[int, ...]] = {}
        self.start, self.end = words.encode("", 2)

    def placed(self, text: str) -> Placed:
        """Tokens of `text`, the ones `WordPiece.encode` gives, with their places."""
        ids: list[int] = []
        starts: list[int] = []
        ends: list[int] = []
        for match in _UNITS.finditer(text.translate(self._shape)):
            start, end = match.span()
            pieces = self._pieces(text[start:end])
            ids += pieces
            starts += [start] * len(pieces)
            ends += [end] * len(pieces)
        return Placed(ids=ids, starts=starts, ends=ends)

    def ids(self, text: str, limit: int) -> list[int]:
        """See `PairWriter.ids`."""
        return self._words.encode(text, limit + 2)[1:-1]

    def _pieces(self, unit: str) -> tuple[int, ...]:
        known = self._known.get(unit)
        if known is not None:
            return known
        if len(self._known) >= _CACHED_UNITS:
            self._known.clear()
        pieces = self._known[unit] = tuple(self.ids(unit, _room(unit)))
        return pieces


def _room(unit: str) -> int:
    """Tokens a word can have: never more than its letters, which lower-casing can add to."""
    return 4 * min(len(unit), _LONGEST_UNIT)


class _Shape(dict[int, str]):
    """Every character as `p` (no word goes on across it) or `w` (one does), one for one."""

    def __init__(self, words: WordPiece) -> None:
        super().__init__()
        self._words = words

    def __missing__(self, code: int) -> str:
        char = chr(code)
        joined, apart = (self._words.encode(text, 16) for text in (f"a{char}a", f"a {char} a"))
        self[code] = kind = "p" if joined == apart else "w"
        return kind
