"""Spelling mistakes: words that a question may have meant, judged by the words of documents.

The four slips of Damerau (1964), one a word: two letters swapped, one lost, one too many, one
wrong.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

Counts = Callable[[Sequence[str]], Sequence[int]]
"""Counts the chunks that hold each of the words."""

_LEAST = 5
_LEAST_WRONG = 7
"""Letters that a word needs for a wrong letter to be mended; too many shorter words are alike."""
_COMMON = 5
"""Chunks that must hold a correction that is made of as many pieces as the mistake."""
_MOST_WORDS = 8
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_WORD = re.compile(
    rf"(?<![\w@/#'\u2019\"\u201c.-])[^\W\d_]{{{_LEAST},}}"
    r"(?![\w@/#\"\u201d-]|['\u2019](?!s\b)\w|\.\w)"
)


@dataclass(frozen=True, slots=True)
class Speller:
    """A speller that mends words in no document which are one slip away from a word in some.

    Words of fewer than five letters, in capitals, in quotation marks, or in names of files and
    addresses stay; so does a word that the model knows whole, and a name that another letter would
    make another name.

    Attributes:
        count_chunks: Counts the chunks of the index that hold each of the words.
        count_pieces: Counts the pieces of a model's vocabulary that make up a word. One piece is a
            known word; a mistake is made of more pieces than the word that was meant.
        is_word: Tells whether a word stands in a document as it is. The index counts stems, so
            "moring" counts wherever "more" stands, though it is no word.
    """

    counts: Counts
    pieces: Callable[[str], int]
    stands: Callable[[str], bool]

    def corrections(self, question: str) -> dict[str, str]:
        """Return the words to replace, as the question writes them, with their corrections."""
        words = [word for word in _words(question) if self.pieces(word) > 1]
        counts = self.counts(words) if words else ()
        unknown = [word for word, count in zip(words, counts, strict=True) if count == 0]
        guesses = {word: self._meant(word) for word in unknown[:_MOST_WORDS]}
        return {word: meant for word, meant in guesses.items() if meant}

    def _meant(self, word: str) -> str:
        """Return the word in most chunks that one slip turns into this one; empty if none."""
        small = word.lower()
        surely = set(_swapped(small))
        candidates = sorted({*surely, *_other(small, wrong=word.islower())} - {small})
        counts = dict(zip(candidates, self.counts(candidates), strict=True))
        word_pieces = self.pieces(word)
        likely: list[tuple[int, int, bool, str]] = []
        for other in candidates:
            if counts[other]:
                meant = other.capitalize() if word[0].isupper() else other
                pieces = self.pieces(meant)
                common = other in surely or counts[other] >= _COMMON
                # Fewer pieces mark a real word; with as many, the word must be common or the slip a
                # swap.
                if pieces < word_pieces or (pieces == word_pieces and common):
                    likely.append((-counts[other], pieces, other not in surely, meant))
        # A word of several pieces may be there as a stem only, so it is looked up as it is.
        words = (
            meant for _, pieces, _, meant in sorted(likely) if pieces == 1 or self.stands(meant)
        )
        return next(words, "")


def corrected(question: str, corrections: Mapping[str, str]) -> str:
    """Return the question with the words replaced wherever they stand as whole words."""
    return _WORD.sub(lambda match: corrections.get(match[0], match[0]), question)


def _swapped(word: str) -> Iterator[str]:
    """Yield the words that swapping two letters, or doubling one, turns into this word."""
    for at in range(1, len(word)):
        head, tail = word[:at], word[at:]
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        if head[-1] == tail[0]:
            yield head + tail[1:]


def _other(word: str, *, wrong: bool) -> Iterator[str]:
    """Yield the words that losing, adding or mistyping one letter turns into this word.

    Args:
        word: In small letters; the first of them is right.
        wrong: Whether a letter may be mistyped, in words that are long enough.
    """
    for at in range(1, len(word) + 1):
        head, tail = word[:at], word[at:]
        yield from (head + letter + tail for letter in _LETTERS)
        if tail:
            yield head + tail[1:]
        if tail and wrong and len(word) >= _LEAST_WRONG:
            yield from (head + letter + tail[1:] for letter in _LETTERS)


def _words(question: str) -> list[str]:
    shouted = question.isupper()
    matches = (match[0] for match in _WORD.finditer(question))
    # Capitals mark an abbreviation, except where the whole question is in capitals.
    return list(dict.fromkeys(word for word in matches if shouted or not word.isupper()))
