"""Unigram tokens (Kudo 2018) with their places in the text, and pairs of texts as rows of tokens."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from fathom.models.pair import QUESTION_LIMIT, TITLE_LIMIT, PairRow, Placed

_MARKS = (("<s>", "</s>"), ("[CLS]", "[SEP]"))  # of XLM-R, of BERT
_UNIT = re.compile(r"\w+|[^\w\s]")


class Pieces(Protocol):
    """What is needed of `tokenizers.Encoding`."""

    ids: list[int]
    offsets: list[tuple[int, int]]


def place(pieces: Pieces, text: str) -> Placed:
    """The pieces of `text` with the word, or the sign, that each of them begins and ends in.

    A piece that is nothing but space is left out, so every token stands for letters of the text.
    """
    starts_of, ends_of = _units(text)
    ids, starts, ends = [], [], []
    for number, (first, last) in zip(pieces.ids, pieces.offsets, strict=True):
        while first < last and text[first].isspace():
            first += 1  # noqa: PLW2901 - the piece holds the space before its word
        if first < last:
            ids.append(number)
            starts.append(starts_of[first])
            ends.append(ends_of[last - 1])
    return Placed(ids=ids, starts=starts, ends=ends)


def _units(text: str) -> tuple[list[int], list[int]]:
    """For every character where its word or sign starts, and the character after its end."""
    starts = list(range(len(text)))
    ends = list(range(1, len(text) + 1))
    for match in _UNIT.finditer(text):
        first, last = match.span()
        if last - first > 1:
            starts[first:last] = [first] * (last - first)
            ends[first:last] = [last] * (last - first)
    return starts, ends


class UnigramPairs:
    """Writes pairs as rows, as `PairTokens` does for WordPiece. May be used from several threads.

    Needs the library `tokenizers`.
    """

    def __init__(self, tokenizer: Path) -> None:
        """`tokenizer` is a `tokenizer.json`.

        Raises:
            OSError: If it cannot be read.
        """
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_str(tokenizer.read_text(encoding="utf-8"))
        found = [[self._tokenizer.token_to_id(mark) for mark in marks] for marks in _MARKS]
        self.start, self.end = next(marks for marks in found if None not in marks)
        self._colon = self._ids(":")

    def placed(self, text: str) -> Placed:
        """Tokens of `text` with their places."""
        return place(self._tokenizer.encode(text, add_special_tokens=False), text)

    def placed_all(self, texts: Sequence[str]) -> list[Placed]:
        """`placed` for many texts, on all cores."""
        encoded = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [place(pieces, text) for pieces, text in zip(encoded, texts, strict=True)]

    def head(self, question: str, title: str) -> list[int]:
        """The row up to the chunk; question and title are cut at their limits."""
        asked = [self.start, *self._ids(question)[:QUESTION_LIMIT], self.end]
        named = self._ids(title)[:TITLE_LIMIT]
        return [*asked, *named, *self._colon] if named else asked

    def row(self, head: Sequence[int], chunk: Placed) -> PairRow:
        """The whole row of `head` and a chunk that fits."""
        ids = [*head, *chunk.ids, self.end]
        asked = head.index(self.end) + 1
        kinds = [0] * asked + [1] * (len(ids) - asked)
        return PairRow(ids=ids, kinds=kinds, first=len(head), chunk=chunk)

    def _ids(self, text: str) -> list[int]:
        return list(self.placed(text).ids)
