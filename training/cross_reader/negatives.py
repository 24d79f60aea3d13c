"""Pairs that look right and are not: the best wrong texts for a question, and swapped questions."""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import bm25s
import Stemmer
from training.cross_reader.rows import Row, number_of

_ASKED = ("squad", "wiki", "nq")
_DEPTH = 8  # wrong texts are taken among so many best
_NUMBER = re.compile(r"\b\d[\d,.]*\b")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][\w'-]+(?: [A-Z][\w'-]+)*")


def mined(rows: Sequence[Row]) -> Iterator[Row]:
    """For every answerable question a wrong text of high BM25 rank that holds no answer to it.

    Texts come from the training rows themselves, so no development text is ever seen.
    """
    asked = [row for row in rows if row.group in _ASKED and row.answerable]
    texts = sorted({(row.title, row.text) for row in asked})
    if len(texts) <= _DEPTH:
        return
    stemmer = Stemmer.Stemmer("english")
    index = bm25s.BM25()
    bodies = [f"{title} {text}" for title, text in texts]
    index.index(
        bm25s.tokenize(bodies, stopwords="en", stemmer=stemmer, show_progress=False),
        show_progress=False,
    )
    questions = bm25s.tokenize(
        [row.question for row in asked], stopwords="en", stemmer=stemmer, show_progress=False
    )
    best, _ = index.retrieve(questions, k=_DEPTH, show_progress=False)
    for row, places in zip(asked, best, strict=True):
        wrong = [texts[place] for place in places if _is_wrong(row, texts[place][1])]
        if wrong:
            title, text = wrong[number_of(row.question) % len(wrong)]
            yield replace(
                row,
                group="mined",
                title=title,
                text=text,
                spans=(),
                answerable=False,
                relevant=False,
            )


def _is_wrong(row: Row, text: str) -> bool:
    low = text.casefold()
    answers = (row.text[start:end].casefold() for start, end in row.spans)
    return text != row.text and not any(answer in low for answer in answers)


def swapped(rows: Sequence[Row]) -> Iterator[Row]:
    """Answerable questions with one number or name replaced, so that their text no longer answers.

    The new name is one that another question over the same article or source has and that this
    question lacks; it may occur in the text, which makes the pair harder.
    """
    asked = [row for row in rows if row.group in ("squad", "wiki") and row.answerable]
    names: dict[str, list[str]] = {}
    for row in asked:
        names.setdefault(row.title, []).extend(_NAME.findall(row.question))
    for row in asked:
        question = _swap(row.question, sorted(set(names[row.title])))
        if question != row.question:
            yield replace(
                row, group="swapped", question=question, spans=(), answerable=False, relevant=None
            )


def _swap(question: str, names: Sequence[str]) -> str:
    draw = random.Random(number_of(question))
    number = _NUMBER.search(question)
    if number:
        return (
            question[: number.start()] + _other_number(number[0], draw) + question[number.end() :]
        )
    name = _NAME.search(question)
    others = [other for other in names if other not in question and question not in other]
    if not name or not others:
        return question
    return question[: name.start()] + draw.choice(others) + question[name.end() :]


def _other_number(number: str, draw: random.Random) -> str:
    """A number of the same shape in which at least one digit differs."""
    place = draw.choice([place for place, char in enumerate(number) if char.isdigit()])
    digit = draw.choice([d for d in "123456789" if d != number[place]])
    return number[:place] + digit + number[place + 1 :]
