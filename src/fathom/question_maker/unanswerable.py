"""Questions that the documents do not answer: their source left out, or a detail exchanged.

How sure the reader is that they have no answer is noted with them; nothing is chosen by it, or
only those that are easy to refuse would be left.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import replace

from fathom.question_maker.base import MadeQuestion
from fathom.question_maker.facts import Fact
from fathom.question_maker.round_trip import RoundTrip
from fathom.text.answer_match import normalize_answer
from fathom.text.entities import names
from fathom.types import Hit

_LOOKED_AT = 20
_NEAR = 0.5
_MOST_LEFT_OUT = 4
_NUMBER = re.compile(r"(?<![\w.,-])\d[\d,.]*\d(?![\w])|(?<![\w.,-])\d(?!\w)")


def removed(fact: Fact, trip: RoundTrip) -> MadeQuestion | None:
    """The fact's question, asked without the documents that answer it; `None` if they are many."""
    without = [fact.document]
    while len(without) <= _MOST_LEFT_OUT:
        hits = trip.hits(fact.question, without=without, k=_LOOKED_AT)
        more = [hit for hit in hits if _says(fact, hit, trip)]
        if not more:
            made = _made(fact, fact.question, "removed", trip.answerable(fact.question, hits))
            return replace(made, without=tuple(without))
        without += dict.fromkeys(hit.chunk.document_id for hit in more)
    return None


def _says(fact: Fact, hit: Hit, trip: RoundTrip) -> bool:
    """Whether a hit may hold the answer: its words, and about what is asked."""
    held = normalize_answer(fact.answer) in normalize_answer(hit.chunk.text)
    return held and trip.coverage(fact.question, hit.chunk) >= _NEAR


def twisted(
    fact: Fact, others: Sequence[str], trip: RoundTrip, draw: random.Random
) -> MadeQuestion | None:
    """The question about another number, year or name; `None` where nothing says so surely.

    Args:
        fact: Whose question is changed.
        others: Names that other questions are about.
        trip: Sees whether a chunk could answer the new question.
        draw: Decides which it is.
    """
    held = trip.coverage(fact.question, fact.chunk)
    for question in _twists(fact, others, draw):
        hits = trip.hits(question, k=_LOOKED_AT)
        if all(trip.coverage(question, hit.chunk) < held for hit in hits):
            return _made(fact, question, "twisted", trip.answerable(question, hits))
    return None


def _twists(fact: Fact, others: Sequence[str], draw: random.Random) -> list[str]:
    question, found = fact.question, []
    number = _NUMBER.search(question)
    if number:
        found.append(_put(question, number.start(), number.end(), _other_number(number[0], draw)))
    inside = [span for span in names(question) if span.start > 0]
    if inside:
        span = max(inside, key=lambda each: each.end - each.start)
        own = span.cut(question)
        new = [each for each in others if each not in question and own not in each]
        new = [each for each in new if len(each.split()) == len(own.split())]
        found += [
            _put(question, span.start, span.end, each)
            for each in draw.sample(new, min(2, len(new)))
        ]
    draw.shuffle(found)
    return found


def _put(question: str, start: int, end: int, new: str) -> str:
    return question[:start] + new + question[end:]


def _other_number(number: str, draw: random.Random) -> str:
    """A number of the same shape and about the same size, in which the last digits differ."""
    places = [at for at, char in enumerate(number) if char.isdigit()]
    at = places[-1] if len(places) > 1 else places[0]
    digit = draw.choice([each for each in "123456789" if each != number[at]])
    return number[:at] + digit + number[at + 1 :]


def _made(fact: Fact, question: str, way: str, answerable: float) -> MadeQuestion:
    return MadeQuestion(
        text=question,
        kind="unanswerable",
        language=fact.language,
        rule=f"{way}: {fact.rule}",
        chunks=(fact.chunk.id,),
        answerable=answerable,
    )
