"""Pieces of words by a Unigram model (Kudo 2018), as SentencePiece and XLM-R write them.

The code is our own because of the vocabulary of 250,000 pieces: the package `tokenizers` takes two
seconds and 150 MB to load it, and a dictionary takes a fifth of that. `unigram.py` also gives the
places of pieces in a text.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from math import inf

UNKNOWN = 3
_SPACES = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")
_MARKS = 4  # the first pieces are marks of the model, which no text is split into
_PENALTY = 10.0  # how far an unknown letter's log probability is below that of any piece
_CACHED_WORDS = 1 << 16
_LONG_WORD = 200  # characters; longer words are not cached


class Pieces:
    """The most likely pieces of every word; safe to use from several threads."""

    def __init__(self, pieces: Sequence[str], scores: Sequence[float]) -> None:
        """Take the pieces in the order of their ids, from 0, with their log probabilities."""
        numbered = list(zip(pieces, range(len(pieces)), strict=True))[_MARKS:]
        self._ids = dict(numbered)
        self._scores = scores
        self._longest = max(len(piece) for piece, _ in numbered)
        self._least = min(scores[number] for _, number in numbered) - _PENALTY
        self._words: dict[str, tuple[int, ...]] = {}

    def tokenize(self, text: str, limit: int | None = None) -> list[int]:
        """Return the ids of the pieces of `text`; consecutive unknown letters make one piece.

        Args:
            text: The text.
            limit: The largest number of ids; `None` for all.
        """
        piece_ids: list[int] = []
        for word in self._iterate_words(text):
            piece_ids += word
            if limit is not None and len(piece_ids) >= limit:
                return piece_ids[:limit]
        return piece_ids

    def _iterate_words(self, text: str) -> Iterator[tuple[int, ...]]:
        """Yield the ids of each word of `text`, after its normalisation (NFKC)."""
        readable = text.encode("utf-8", "replace").decode()  # replaces lone surrogates
        for word in _SPACES.split(unicodedata.normalize("NFKC", readable)):
            for piece in word.split(" "):
                if piece:
                    yield self._words.get(piece) or self._split_word(piece)

    def _split_word(self, word: str) -> tuple[int, ...]:
        """Return the ids of a word, and cache them unless the word is long."""
        pieces = tuple(self._find_best_path(f"▁{word}"))
        if len(word) <= _LONG_WORD:
            if len(self._words) >= _CACHED_WORDS:
                self._words.clear()
            self._words[word] = pieces
        return pieces

    def _find_best_path(self, word: str) -> Iterator[int]:
        """Yield the ids of the most likely split of a word into pieces (Viterbi)."""
        scores = [0.0] + [-inf] * len(word)
        steps: list[tuple[int, int]] = [(0, UNKNOWN)] * (len(word) + 1)
        for start in range(len(word)):
            for end in range(start + 1, min(len(word), start + self._longest) + 1):
                number = self._ids.get(word[start:end])
                if number is None:
                    continue
                score = scores[start] + self._scores[number]
                if score > scores[end]:
                    scores[end], steps[end] = score, (start, number)
            # A letter without a piece is an unknown one, which is less likely than any piece.
            if scores[start] + self._least > scores[start + 1]:
                scores[start + 1] = scores[start] + self._least
                steps[start + 1] = (start, UNKNOWN)
        path: list[int] = []
        end = len(word)
        while end:
            end, number = steps[end]
            if not (number == UNKNOWN and path and path[-1] == UNKNOWN):
                path.append(number)
        yield from reversed(path)
