"""The best wrong texts for a question, found by words and by vectors, as Fathom searches."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import bm25s
import numpy as np
import Stemmer
from training.cross_reader.rows import Row, number_of

from fathom.models.base import Embedder

_DEPTH = 8  # a leg's wrong texts are taken among so many best
_WRONG = 2  # a question: the one from the keyword leg, the other from the vector leg
# Group of the questions -> language of their words, group of what is mined for them.
_MINED = {
    "squad": ("english", "mined"),
    "wiki": ("english", "mined"),
    "nq": ("english", "mined"),
    "indonesian": ("indonesian", "mined-id"),
}
_STOP_WORDS = {"english": "en"}


def mined(rows: Sequence[Row], embedder: Embedder) -> Iterator[Row]:
    """For every answerable question up to two texts of high rank that hold no answer to it.

    Texts come from the training rows themselves, so no development text is ever seen.
    """
    for language, group in dict.fromkeys(_MINED.values()):
        asked = [
            row for row in rows if row.answerable and _MINED.get(row.group) == (language, group)
        ]
        texts = sorted({(row.title, row.text) for row in asked})
        if len(texts) > _DEPTH:
            legs = _words(asked, texts, language), _vectors(asked, texts, embedder)
            for row, by_words, by_vectors in zip(asked, *legs, strict=True):
                yield from _wrong_texts(row, texts, (by_words, by_vectors), group)


def _wrong_texts(
    row: Row, texts: Sequence[tuple[str, str]], legs: Sequence[Sequence[int]], group: str
) -> Iterator[Row]:
    taken: set[int] = set()
    for places in legs:
        wrong = [p for p in places if p not in taken and _is_wrong(row, texts[p][1])]
        if wrong and len(taken) < _WRONG:
            place = wrong[number_of(row.question) % len(wrong)]
            taken.add(place)
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


def _words(
    asked: Sequence[Row], texts: Sequence[tuple[str, str]], language: str
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
        [row.question for row in asked], stopwords=stop, stemmer=stemmer, show_progress=False
    )
    best, _ = index.retrieve(questions, k=_DEPTH, show_progress=False)
    return [[int(place) for place in places] for places in best]


def _vectors(
    asked: Sequence[Row], texts: Sequence[tuple[str, str]], embedder: Embedder
) -> list[list[int]]:
    bodies = embedder.embed([f"{title}: {text}" for title, text in texts])
    questions = embedder.embed([row.question for row in asked])
    best = np.argsort(-(questions @ bodies.T), axis=1, kind="stable")[:, :_DEPTH]
    return [[int(place) for place in places] for places in best]


def _is_wrong(row: Row, text: str) -> bool:
    low = text.casefold()
    answers = (row.text[start:end].casefold() for start, end in row.spans)
    return text != row.text and not any(answer in low for answer in answers)
