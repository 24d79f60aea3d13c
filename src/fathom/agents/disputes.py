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
    """Return the answer with all its readings side by side.

    It is unchanged where no other document gives another reading: what a document says twice, or
    what a table gives by two computations, its own words have to settle.
    """
    readings = sorted([answer.first_reading, *answer.conflicts], key=_get_order)
    texts = list(dict.fromkeys(reading.answer for reading in readings))
    if not answer.short_answer or len(texts) < 2 or not _has_other_document(answer):
        return answer
    return replace(
        answer,
        tentative=True,
        disputed=True,
        short_answer=f"{', '.join(texts[:-1])} {_OR[question.language]} {texts[-1]}",
        conflicts=tuple(readings),
    )


def _has_other_document(answer: Answer) -> bool:
    """Return whether a document that the first reading does not cite gives another one."""
    documents = {citation.n: citation.document for citation in answer.citations}
    supporting = {documents[n] for n in answer.first_reading.citations}
    return bool(supporting) and any(
        supporting.isdisjoint(documents[n] for n in conflict.citations)
        for conflict in answer.conflicts
    )


def _get_order(reading: Conflict) -> tuple[str, tuple[int, ...]]:
    return reading.answer.casefold(), reading.citations
