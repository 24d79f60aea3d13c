"""Disputed answers: documents give different answers, and nothing settles which one is right.

Anybody who can add a document can bring another answer about, and a planted text is often the one
that reads best, or one of many. So no reading leads, whatever a debate of the documents made of
them: all stand side by side, in the order of the alphabet.
"""

from dataclasses import replace

from fathom.question.question import Question
from fathom.types import Answer, Conflict

_OR = {"en": "or", "id": "atau"}


def state_dispute(question: Question, answer: Answer) -> Answer:
    """Return the answer with all its readings side by side; unchanged where none contradicts it."""
    others = {n for conflict in answer.conflicts for n in conflict.citations}
    first = Conflict(
        answer=answer.short_answer,
        # A citation of no other reading supports the first one.
        citations=tuple(citation.n for citation in answer.citations if citation.n not in others),
    )
    readings = sorted([first, *answer.conflicts], key=_get_order)
    texts = list(dict.fromkeys(reading.answer for reading in readings))
    if not answer.short_answer or len(texts) < 2:
        return answer
    return replace(
        answer,
        tentative=True,
        disputed=True,
        short_answer=f"{', '.join(texts[:-1])} {_OR[question.language]} {texts[-1]}",
        conflicts=tuple(readings),
    )


def _get_order(reading: Conflict) -> tuple[str, tuple[int, ...]]:
    return reading.answer.casefold(), reading.citations
