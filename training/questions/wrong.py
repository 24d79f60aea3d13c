"""The best wrong text for a question among the chunks around its passage, by BM25."""

from collections.abc import Mapping, Sequence
from typing import Any

import bm25s
from training.questions.replies import place_answer

_FEWEST = 3  # chunks of which one is chosen
Text = tuple[str, str]


class WrongTexts:
    """The chunks around a passage, ranked for its questions."""

    def __init__(self, passage: Mapping[str, Any]) -> None:
        """Create the ranking; nothing is indexed where there are too few chunks."""
        self._texts: Sequence[Text] = passage["around"]
        self._index = bm25s.BM25()
        if len(self._texts) >= _FEWEST:
            bodies = [f"{title} {text}" for title, text in self._texts]
            self._index.index(_tokenize(bodies), show_progress=False)

    def find(self, question: str, answer: str) -> Text | None:
        """Return title and text of the likeliest chunk in which the answer does not stand.

        Returns:
            None if there are too few chunks, or all hold the answer.
        """
        count = len(self._texts)
        if count < _FEWEST:
            return None
        asked = _tokenize([question])
        best, _ = self._index.retrieve(asked, k=count, show_progress=False)
        ranked = (self._texts[int(place)] for place in best[0])
        return next((text for text in ranked if place_answer(answer, text[1]) is None), None)


def _tokenize(texts: list[str]) -> list[list[str]]:
    words: list[list[str]] = bm25s.tokenize(
        texts, stopwords=[], return_ids=False, show_progress=False
    )
    return words
