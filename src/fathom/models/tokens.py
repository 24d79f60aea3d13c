"""WordPiece tokens of BERT's uncased models, in plain Python.

The code is our own, because it differs from the package `tokenizers` in two ways on purpose: a text
that spells out a mark such as `[SEP]` gets the tokens of its letters, and a lone surrogate is
dropped and not refused. There is one more difference: characters that Unicode has added or
reclassified since 2015 are treated as Python's newer tables say. For Unigram tokens the package is
used (`unigram.py`).
"""

import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

_LONGEST_WORD = 100  # characters; a longer word is one unknown token, as in BERT
_CACHED_WORDS = 1 << 16
_IDEOGRAPHS = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F), (0x2B920, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip


class Tokens(Protocol):
    """The tokenizer of one model."""

    def encode(self, text: str, limit: int) -> Sequence[int]:
        """Return the ids of `text` between the model's marks, at most `limit` with the marks."""
        ...

    def count(self, text: str) -> int:
        """Return the number of tokens of the whole `text`, without the marks."""
        ...


class WordPiece:
    """Greedy longest-match tokens over lower-cased text without accents (Devlin et al. 2019).

    The time is linear in the length of the text. Words are cached, up to a fixed number. It is safe
    to use from several threads.
    """

    def __init__(self, vocabulary: Sequence[str]) -> None:
        """Take the tokens in the order of their ids, with `[UNK]`, `[CLS]` and `[SEP]` among them.

        Raises:
            KeyError: If one of these three is missing.
        """
        self._ids = {token: number for number, token in enumerate(vocabulary)}
        self._unknown = (self._ids["[UNK]"],)
        self._start, self._end = self._ids["[CLS]"], self._ids["[SEP]"]
        self._longest = max(map(len, vocabulary))
        self._plain = _NormalizationTable()
        self._words: dict[str, tuple[int, ...]] = {}

    @classmethod
    def read(cls, path: Path) -> "WordPiece":
        """Read a `vocab.txt`, with one token in each line.

        Raises:
            OSError: If the file cannot be read.
            KeyError: If it lacks one of the marks.
        """
        return cls(path.read_text(encoding="utf-8").splitlines())

    def encode(self, text: str, limit: int) -> list[int]:
        """Return the ids of `text` between `[CLS]` and `[SEP]`.

        Args:
            text: The text.
            limit: The largest number of ids, both marks included; at least 2.
        """
        room = limit - 2
        ids = [self._start]
        for pieces in self._iterate_pieces(text):
            ids += pieces
            if len(ids) > room:
                break
        del ids[room + 1 :]
        ids.append(self._end)
        return ids

    def count(self, text: str) -> int:
        """Return the number of tokens of the whole `text`, without `[CLS]` and `[SEP]`."""
        return sum(map(len, self._iterate_pieces(text)))

    def _iterate_pieces(self, text: str) -> Iterator[tuple[int, ...]]:
        """Yield the ids of each word of `text`."""
        get_cached = self._words.get
        for word in self._plain.split_words(text):
            yield get_cached(word) or self._cache_word(word)

    def _cache_word(self, word: str) -> tuple[int, ...]:
        """Return the ids of a word that is not cached, and cache them unless it is very long."""
        if len(word) > _LONGEST_WORD:
            return self._unknown
        if len(self._words) >= _CACHED_WORDS:
            self._words.clear()
        pieces = self._words[word] = self._split_word(word)
        return pieces

    def _split_word(self, word: str) -> tuple[int, ...]:
        """Return the ids of a word; the unknown token alone if a part of it has no token."""
        pieces: list[int] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            # No token is longer than this bound, which keeps the time linear in the text's length.
            for end in range(min(len(word), start + self._longest), start, -1):
                piece = self._ids.get(prefix + word[start:end])
                if piece is not None:
                    break
            else:
                return self._unknown
            pieces.append(piece)
            start = end
        return tuple(pieces)


class _NormalizationTable(dict[int, str | None]):
    """BERT's normalisation and splitting as a table for `str.translate`, filled as needed."""

    def split_words(self, text: str) -> list[str]:
        return text.translate(self).split()

    def __missing__(self, code: int) -> str | None:
        self[code] = normalized = _normalize_character(chr(code))
        return normalized


def _normalize_character(char: str) -> str:
    """Return a character in lower case without accents; a separating sign between blanks."""
    if _is_control(char):
        return ""
    if char.isspace():
        return " "
    # NFD splits an accent from its letter; the accent (category Mn) is then dropped.
    base = unicodedata.normalize("NFD", char)
    letters = "".join(c.lower() for c in base if unicodedata.category(c) != "Mn")
    spaced = "".join(f" {c} " if _is_punctuation(c) else c for c in letters)
    return f" {spaced} " if _is_ideograph(ord(char)) else spaced


def _is_control(char: str) -> bool:
    """Return whether BERT drops a character, such as a control sign or a surrogate."""
    if char in "\t\n\r":
        return False
    return char == "\ufffd" or unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co"}


def _is_punctuation(char: str) -> bool:
    """Return whether BERT splits words at a sign; of ASCII, all but letters, digits and blanks."""
    if char.isascii():
        return char.isprintable() and not char.isalnum() and char != " "
    return unicodedata.category(char).startswith("P")


def _is_ideograph(code: int) -> bool:
    return any(first <= code <= last for first, last in _IDEOGRAPHS)
