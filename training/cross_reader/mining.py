"""The best wrong texts for a question, found by words, or by vectors with a model."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import bm25s
import numpy as np
import Stemmer
from numpy.typing import NDArray
from training.cross_reader.rows import Row, hash_to_number

Embed = Callable[[Sequence[str]], NDArray[np.float32]]
"""Vectors of unit length of some texts."""

_DEPTH = 10  # wrong texts are taken among so many best
_WRONG = 2  # a question and a way of searching
# Group of the questions -> language of their words, group of what is mined for them.
_MINED = {
    "squad": ("english", "mined"),
    "wiki": ("english", "mined"),
    "nq": ("english", "mined"),
    "indonesian": ("indonesian", "mined-id"),
    "written": ("english", "mined-written"),
    "written-id": ("indonesian", "mined-written"),
    "news-id": ("indonesian", "mined-news"),
}
_STOP_WORDS = {"english": "en"}
Search = Callable[[Sequence[Row], Sequence[tuple[str, str]], str], list[list[int]]]


def mine_wrong(rows: Sequence[Row], embed: Embed | None = None) -> Iterator[Row]:
    """Yield for every answerable question up to `_WRONG` highly ranked wrong texts.

    Texts come from the training rows themselves, so no development text is ever seen.

    Args:
        rows: All rows.
        embed: Search with these vectors; None: by words.
    """
    for language, group in dict.fromkeys(_MINED.values()):
        answerable = [
            row for row in rows if row.answerable and _MINED.get(row.group) == (language, group)
        ]
        texts = sorted({(row.title, row.text) for row in answerable})
        if len(texts) > _DEPTH:
            ranked = (
                _rank_by_vectors(answerable, texts, embed)
                if embed
                else _rank_by_words(answerable, texts, language)
            )
            for row, places in zip(answerable, ranked, strict=True):
                yield from _list_wrong(row, texts, places, group)


def _list_wrong(
    row: Row, texts: Sequence[tuple[str, str]], places: Sequence[int], group: str
) -> Iterator[Row]:
    wrong = [place for place in places if _is_wrong(row, texts[place][1])]
    first = hash_to_number(row.question) % max(1, len(wrong))
    for place in {wrong[(first + step) % len(wrong)] for step in range(_WRONG)} if wrong else ():
        title, text = texts[place]
        yield replace(
            row,
            group=group,
            title=title,
            text=text,
            spans=(),
            answerable=False,
            relevant=False,
        )


def _rank_by_words(
    rows: Sequence[Row], texts: Sequence[tuple[str, str]], language: str
) -> list[list[int]]:
    stemmer = Stemmer.Stemmer(language)
    stop = _STOP_WORDS.get(language, [])
    index = bm25s.BM25()
    bodies = [f"{title} {text}" for title, text in texts]
    index.index(
        bm25s.tokenize(bodies, stopwords=stop, stemmer=stemmer, show_progress=False),
        show_progress=False,
    )
    questions = bm25s.tokenize(
        [row.question for row in rows], stopwords=stop, stemmer=stemmer, show_progress=False
    )
    best, _ = index.retrieve(questions, k=_DEPTH, show_progress=False)
    return [[int(place) for place in places] for places in best]


def _rank_by_vectors(
    rows: Sequence[Row], texts: Sequence[tuple[str, str]], embed: Embed
) -> list[list[int]]:
    bodies = embed([f"passage: {title} {text}" for title, text in texts])
    questions = embed([f"query: {row.question}" for row in rows])
    best = np.argpartition(-(questions @ bodies.T), _DEPTH, axis=1)[:, :_DEPTH]
    return [sorted(int(place) for place in places) for places in best]


def _is_wrong(row: Row, text: str) -> bool:
    low = text.casefold()
    answers = (row.text[start:end].casefold() for start, end in row.spans)
    return text != row.text and not any(answer in low for answer in answers)
