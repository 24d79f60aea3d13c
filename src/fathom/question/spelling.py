"""Spelling mistakes in questions, corrected to words that are in the documents.

A word may have one slip of the four of Damerau (1964): two letters swapped, one missing, one too
many, or one wrong.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

CountChunks = Callable[[Sequence[str]], Sequence[int]]
"""A function that counts, for each word, the chunks that contain it."""

_LEAST_LETTERS = 5
"""The smallest number of letters of a word that is corrected."""
_LEAST_FOR_WRONG_LETTER = 7
"""The smallest number of letters for correcting a wrong one; many shorter words are alike."""
_COMMON_CHUNKS = 5
"""The smallest number of chunks with a correction that has as many pieces as the mistake."""
_MOST_WORDS = 8
"""The largest number of unknown words of a question that are corrected."""
_MOST_LETTERS = 30
"""The largest number of letters of a corrected word; each letter costs about fifty look-ups."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_WORD = re.compile(
    rf"(?<![\w@/#'\u2019\"\u201c.-])[^\W\d_]{{{_LEAST_LETTERS},{_MOST_LETTERS}}}"
    r"(?![\w@/#\"\u201d-]|['\u2019](?!s\b)\w|\.\w)"
)


@dataclass(frozen=True, slots=True)
class Speller:
    """A speller that corrects words that no document has but that are one slip from one that has.

    Words stay as they are if they have fewer than five or more than thirty letters, are in capitals
    or quotation marks, are part of a file name or address, or are one piece of the model's
    vocabulary. A wrong letter is corrected in words of lower case only, because in names it may
    give another name.

    Attributes:
        count_chunks: A function that counts the chunks of the index with each of some words.
        count_pieces: A function that counts the pieces of a model's vocabulary in a word. A known
            word is one piece; a mistake has more pieces than the word that was meant.
        is_word: A predicate that tells whether a document has a word exactly as it is. The index
            counts stems, so "moring" is found if "more" is in a chunk, though it is no word.
    """

    count_chunks: CountChunks
    count_pieces: Callable[[str], int]
    is_word: Callable[[str], bool]

    def find_corrections(self, question: str) -> dict[str, str]:
        """Return the misspelt words, as the question writes them, with their corrections."""
        words = [word for word in _list_words(question) if self.count_pieces(word) > 1]
        counts = self.count_chunks(words) if words else ()
        unknown = [word for word, count in zip(words, counts, strict=True) if count == 0]
        guesses = {word: self._guess_word(word) for word in unknown[:_MOST_WORDS]}
        return {word: meant for word, meant in guesses.items() if meant}

    def _guess_word(self, word: str) -> str:
        """Return the correction of a word that is in the most chunks; empty if there is none."""
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
                # Fewer pieces are a sign of a real word. With equally many pieces, the correction
                # must be common, or the slip a swap or a doubled letter.
                if pieces < word_pieces or (pieces == word_pieces and common):
                    likely.append((-counts[other], pieces, other not in surely, meant))
        # A word of several pieces may be in the index as a stem only, so it is checked exactly.
        words = (
            meant for _, pieces, _, meant in sorted(likely) if pieces == 1 or self.is_word(meant)
        )
        return next(words, "")


def apply_corrections(question: str, corrections: Mapping[str, str]) -> str:
    """Return a question with each misspelt word replaced by its correction."""
    return _WORD.sub(lambda match: corrections.get(match[0], match[0]), question)


def _undo_swaps(word: str) -> Iterator[str]:
    """Yield the words that give this word if two letters are swapped or one is doubled."""
    for at in range(1, len(word)):
        head, tail = word[:at], word[at:]
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        if head[-1] == tail[0]:
            yield head + tail[1:]


def _undo_edits(word: str, *, wrong: bool) -> Iterator[str]:
    """Yield the words that give this word if one letter is lost, added or mistyped.

    Args:
        word: A word in lower case; its first letter is taken as right.
        wrong: Whether to undo mistyped letters too, if the word is long enough.
    """
    for at in range(1, len(word) + 1):
        head, tail = word[:at], word[at:]
        yield from (head + letter + tail for letter in _LETTERS)
        if tail:
            yield head + tail[1:]
        if tail and wrong and len(word) >= _LEAST_FOR_WRONG_LETTER:
            yield from (head + letter + tail[1:] for letter in _LETTERS)


def _list_words(question: str) -> list[str]:
    """Return the words of a question that may be corrected, each once."""
    shouted = question.isupper()
    matches = (match[0] for match in _WORD.finditer(question))
    # A word in capitals is an abbreviation, unless the whole question is in capitals.
    return list(dict.fromkeys(word for word in matches if shouted or not word.isupper()))
