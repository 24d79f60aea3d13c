"""Questions without an answer: the source is left out, or a detail of the question is replaced.

The reader's probability of an answer is recorded, but no question is selected by it. Otherwise only
questions that are easy to refuse would remain.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import replace

from fathom.question_maker.base import SyntheticQuestion
from fathom.question_maker.facts import Fact
from fathom.question_maker.round_trip import RoundTrip
from fathom.text.answer_match import normalize_answer
from fathom.text.entities import find_names
from fathom.types import Hit

_SEARCH_DEPTH = 20
_LEAST_COVERAGE = 0.5
_MOST_REMOVED = 4
_NUMBER = re.compile(r"(?<![\w.,-])\d[\d,.]*\d(?![\w])|(?<![\w.,-])\d(?!\w)")


def remove_source(fact: Fact, trip: RoundTrip) -> SyntheticQuestion | None:
    """Make a question without the documents that answer it; `None` if there are too many."""
    without = [fact.document]
    # Each search may find further documents with the answer.
    while len(without) <= _MOST_REMOVED:
        hits = trip.search(fact.question, without=without, k=_SEARCH_DEPTH)
        more = [hit for hit in hits if _may_answer(fact, hit, trip)]
        if not more:
            question = _make_question(
                fact, fact.question, "removed", trip.measure_answerability(fact.question, hits)
            )
            return replace(question, without=tuple(without))
        without += dict.fromkeys(hit.chunk.document_id for hit in more)
    return None


def _may_answer(fact: Fact, hit: Hit, trip: RoundTrip) -> bool:
    """Return whether a hit contains the answer, and covers enough of the question."""
    has_answer = normalize_answer(fact.answer) in normalize_answer(hit.chunk.text)
    return has_answer and trip.measure_coverage(fact.question, hit.chunk) >= _LEAST_COVERAGE


def twist_question(
    fact: Fact, others: Sequence[str], trip: RoundTrip, draw: random.Random
) -> SyntheticQuestion | None:
    """Make a question with another number, year or name; `None` if the documents may answer it."""
    source_coverage = trip.measure_coverage(fact.question, fact.chunk)
    for question in _list_twists(fact, others, draw):
        hits = trip.search(question, k=_SEARCH_DEPTH)
        # A chunk that covers as much of the question as the source did might answer it.
        if all(trip.measure_coverage(question, hit.chunk) < source_coverage for hit in hits):
            return _make_question(
                fact, question, "twisted", trip.measure_answerability(question, hits)
            )
    return None


def _list_twists(fact: Fact, others: Sequence[str], draw: random.Random) -> list[str]:
    question, twists = fact.question, []
    number = _NUMBER.search(question)
    if number:
        twists.append(
            _replace_span(question, number.start(), number.end(), _change_number(number[0], draw))
        )
    inside = [span for span in find_names(question) if span.start > 0]
    if inside:
        span = max(inside, key=lambda name_span: name_span.end - name_span.start)
        name = span.cut(question)
        new = [other for other in others if other not in question and name not in other]
        # A name with the same number of words is more likely of the same kind.
        new = [other for other in new if len(other.split()) == len(name.split())]
        twists += [
            _replace_span(question, span.start, span.end, other)
            for other in draw.sample(new, min(2, len(new)))
        ]
    draw.shuffle(twists)
    return twists


def _replace_span(question: str, start: int, end: int, new: str) -> str:
    return question[:start] + new + question[end:]


def _change_number(number: str, draw: random.Random) -> str:
    """Return the number with another last digit."""
    places = [at for at, char in enumerate(number) if char.isdigit()]
    at = places[-1] if len(places) > 1 else places[0]
    digit = draw.choice([other for other in "123456789" if other != number[at]])
    return number[:at] + digit + number[at + 1 :]


def _make_question(fact: Fact, question: str, way: str, answerable: float) -> SyntheticQuestion:
    return SyntheticQuestion(
        text=question,
        kind="unanswerable",
        language=fact.language,
        rule=f"{way}: {fact.rule}",
        chunks=(fact.chunk.id,),
        answerable=answerable,
    )
