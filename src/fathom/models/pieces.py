"""Pieces of words by a Unigram model (Kudo 2018), as SentencePiece and XLM-R write them.

Our own for a vocabulary of 250,000 pieces: the package `tokenizers` takes two seconds and 150 MB to
take it in, a dictionary a fifth of that. For places in the text, see `unigram.py`.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from math import inf

UNKNOWN = 3
_SPACES = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")
_MARKS = 4  # the first pieces are marks, never found in a text
_PENALTY = 10.0  # of an unknown letter, below the least likely piece
_CACHED_WORDS = 1 << 16
_LONG_WORD = 200  # characters; longer ones are not remembered


class Pieces:
    """The most likely pieces of every word. May be used from several threads."""

    def __init__(self, pieces: Sequence[str], scores: Sequence[float]) -> None:
        """`pieces` in the order of their ids, with their log probabilities."""
        known = list(zip(pieces, range(len(pieces)), strict=True))[_MARKS:]
        self._ids = dict(known)
        self._scores = scores
        self._longest = max(len(piece) for piece, _ in known)
        self._least = min(scores[number] for _, number in known) - _PENALTY
        self._words: dict[str, tuple[int, ...]] = {}

    def ids(self, text: str, limit: int | None = None) -> list[int]:
        """Ids of `text`, the first `limit` of them; consecutive unknown letters are one."""
        found: list[int] = []
        for word in self._of(text):
            found += word
            if limit is not None and len(found) >= limit:
                return found[:limit]
        return found

    def _of(self, text: str) -> Iterator[tuple[int, ...]]:
        readable = text.encode("utf-8", "replace").decode()  # a lone half of a character
        for word in _SPACES.split(unicodedata.normalize("NFKC", readable)):
            for part in word.split(" "):
                if part:
                    yield self._words.get(part) or self._learn(part)

    def _learn(self, word: str) -> tuple[int, ...]:
        pieces = tuple(self._best(f"▁{word}"))
        if len(word) <= _LONG_WORD:
            if len(self._words) >= _CACHED_WORDS:
                self._words.clear()
            self._words[word] = pieces
        return pieces

    def _best(self, word: str) -> Iterator[int]:
        """The path of highest probability (Viterbi)."""
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
