"""Slips of the fingers: words that a question may have meant, told by the words of the documents.

Damerau's four slips (1964), one a word: two letters swapped, one lost, one too many, one wrong.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

Counts = Callable[[Sequence[str]], Sequence[int]]
"""In how many chunks each of the words stands."""

_LEAST = 5
_LEAST_WRONG = 7
"""Letters of a word that one wrong letter may stand in: of shorter words too many are alike."""
_COMMON = 5
"""Chunks that have a word which may be meant though it is made of as many pieces."""
_MOST_WORDS = 8
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_WORD = re.compile(
    rf"(?<![\w@/#'\u2019\"\u201c.-])[^\W\d_]{{{_LEAST},}}"
    r"(?![\w@/#\"\u201d-]|['\u2019](?!s\b)\w|\.\w)"
)


@dataclass(frozen=True, slots=True)
class Speller:
    """Mends words that no document has, where one slip makes them of a word that some have.

    What is left alone: words of fewer than five letters, in capitals, in quotation marks, parts of
    names of files and of addresses; a word that the model knows whole; a name that another letter
    would make another name.

    Attributes:
        counts: Of the words of the index.
        pieces: Of how many pieces of a model's vocabulary a word is made; of one, it is a word,
            and a slip is made of more pieces than what was meant.
        stands: Whether a word stands in a document as it is. Words count by their stems, so
            "moring" counts wherever "more" stands, and is no word.
    """

    counts: Counts
    pieces: Callable[[str], int]
    stands: Callable[[str], bool]

    def corrections(self, question: str) -> dict[str, str]:
        """The words to be replaced, as they stand, with what stands for them."""
        words = [word for word in _words(question) if self.pieces(word) > 1]
        found = self.counts(words) if words else ()
        strange = [word for word, count in zip(words, found, strict=True) if count == 0]
        made = {word: self._meant(word) for word in strange[:_MOST_WORDS]}
        return {word: meant for word, meant in made.items() if meant}

    def _meant(self, word: str) -> str:
        """The word that most chunks have of those that a slip makes into this one, or none."""
        small = word.lower()
        surely = set(_swapped(small))
        near = sorted({*surely, *_other(small, wrong=word.islower())} - {small})
        counts = dict(zip(near, self.counts(near), strict=True))
        bound = self.pieces(word)
        likely: list[tuple[int, int, bool, str]] = []
        for other in near:
            if counts[other]:
                meant = other.capitalize() if word[0].isupper() else other
                pieces = self.pieces(meant)
                common = other in surely or counts[other] >= _COMMON
                if pieces < bound or (pieces == bound and common):
                    likely.append((-counts[other], pieces, other not in surely, meant))
        words = (
            meant for _, pieces, _, meant in sorted(likely) if pieces == 1 or self.stands(meant)
        )
        return next(words, "")


def corrected(question: str, corrections: Mapping[str, str]) -> str:
    """The question with these words replaced wherever they stand as words of their own."""
    return _WORD.sub(lambda found: corrections.get(found[0], found[0]), question)


def _swapped(word: str) -> Iterator[str]:
    """Words of which two swapped letters, or one struck twice, make this one."""
    for at in range(1, len(word)):
        head, tail = word[:at], word[at:]
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        if head[-1] == tail[0]:
            yield head + tail[1:]


def _other(word: str, *, wrong: bool) -> Iterator[str]:
    """Words of which a lost letter, one too many or a wrong one makes this one.

    Args:
        word: In small letters; the first of them is right.
        wrong: Whether a letter may be another one, in words long enough.
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
    found = (match[0] for match in _WORD.finditer(question))
    return list(dict.fromkeys(word for word in found if shouted or not word.isupper()))
