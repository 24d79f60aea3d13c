"""Spelling mistakes: words that a question may have meant, judged by the words of documents.

The four slips of Damerau (1964), one a word: two letters swapped, one lost, one too many, one
wrong.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

CountChunks = Callable[[Sequence[str]], Sequence[int]]
"""Counts the chunks that hold each of the words."""

_LEAST_LETTERS = 5
_LEAST_FOR_WRONG_LETTER = 7
"""Letters that a word needs for a wrong letter to be mended; too many shorter words are alike."""
_COMMON_CHUNKS = 5
"""Chunks that must hold a correction that is made of as many pieces as the mistake."""
_MOST_WORDS = 8
_MOST_LETTERS = 30
"""Letters of the longest word that is mended; each letter costs some fifty look-ups."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_WORD = re.compile(
    rf"(?<![\w@/#'\u2019\"\u201c.-])[^\W\d_]{{{_LEAST_LETTERS},{_MOST_LETTERS}}}"
    r"(?![\w@/#\"\u201d-]|['\u2019](?!s\b)\w|\.\w)"
)


@dataclass(frozen=True, slots=True)
class Speller:
    """A speller that mends words in no document which are one slip away from a word in some.

    Words of fewer than five letters or more than thirty, in capitals, in quotation marks, or in
    names of files and addresses stay; so does a word that the model knows whole, and a name that
    another letter would make another name.

    Attributes:
        count_chunks: Counts the chunks of the index that hold each of the words.
        count_pieces: Counts the pieces of a model's vocabulary that make up a word. One piece is a
            known word; a mistake is made of more pieces than the word that was meant.
        is_word: Tells whether a word stands in a document as it is. The index counts stems, so
            "moring" counts wherever "more" stands, though it is no word.
    """

    count_chunks: CountChunks
    count_pieces: Callable[[str], int]
    is_word: Callable[[str], bool]

    def find_corrections(self, question: str) -> dict[str, str]:
        """Return the words to replace, as the question writes them, with their corrections."""
        words = [word for word in _list_words(question) if self.count_pieces(word) > 1]
        counts = self.count_chunks(words) if words else ()
        unknown = [word for word, count in zip(words, counts, strict=True) if count == 0]
        guesses = {word: self._guess_word(word) for word in unknown[:_MOST_WORDS]}
        return {word: meant for word, meant in guesses.items() if meant}

    def _guess_word(self, word: str) -> str:
        """Return the word in most chunks that one slip turns into this one; empty if none."""
        small = word.lower()
        surely = set(_undo_swaps(small))
        candidates = sorted({*surely, *_undo_edits(small, wrong=word.islower())} - {small})
        counts = dict(zip(candidates, self.count_chunks(candidates), strict=True))
        word_pieces = self.count_pieces(word)
        likely: list[tuple[int, int, bool, str]] = []
        for other in candidates:
            if counts[other]:
                meant = other.capitalize() if word[0].isupper() else other
                pieces = self.count_pieces(meant)
                common = other in surely or counts[other] >= _COMMON_CHUNKS
                # Fewer pieces mark a real word; with as many, the word must be common or the slip a
                # swap.
                if pieces < word_pieces or (pieces == word_pieces and common):
                    likely.append((-counts[other], pieces, other not in surely, meant))
        # A word of several pieces may be there as a stem only, so it is looked up as it is.
        words = (
            meant for _, pieces, _, meant in sorted(likely) if pieces == 1 or self.is_word(meant)
        )
        return next(words, "")


def apply_corrections(question: str, corrections: Mapping[str, str]) -> str:
    """Return the question with the words replaced wherever they stand as whole words."""
    return _WORD.sub(lambda match: corrections.get(match[0], match[0]), question)


def _undo_swaps(word: str) -> Iterator[str]:
    """Yield the words that swapping two letters, or doubling one, turns into this word."""
    for at in range(1, len(word)):
        head, tail = word[:at], word[at:]
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        if head[-1] == tail[0]:
            yield head + tail[1:]


def _undo_edits(word: str, *, wrong: bool) -> Iterator[str]:
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
        if tail and wrong and len(word) >= _LEAST_FOR_WRONG_LETTER:
            yield from (head + letter + tail[1:] for letter in _LETTERS)


def _list_words(question: str) -> list[str]:
    shouted = question.isupper()
    matches = (match[0] for match in _WORD.finditer(question))
    # Capitals mark an abbreviation, except where the whole question is in capitals.
    return list(dict.fromkeys(word for word in matches if shouted or not word.isupper()))
