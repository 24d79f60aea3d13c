"""Disputed answers: documents give different answers, and nothing decides which one is right.

Anybody who can add documents can plant another answer, and planted text often reads best or is
repeated. No reading therefore leads, whatever a debate decided: all are listed in alphabetical
order.
"""

from dataclasses import replace

from fathom.question.question import Question
from fathom.types import Answer, Conflict

_OR = {"en": "or", "id": "atau"}


def state_dispute(question: Question, answer: Answer) -> Answer:
    """Return the answer with all its readings side by side, marked as disputed and tentative.

    The answer is unchanged if no second document gives another reading: two values within one
    document, or two computations over one table, are no dispute between documents.
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
    """Return whether another reading rests only on documents that the first does not cite."""
    documents = {citation.n: citation.document for citation in answer.citations}
    supporting = {documents[n] for n in answer.first_reading.citations}
    return bool(supporting) and any(
        supporting.isdisjoint(documents[n] for n in conflict.citations)
        for conflict in answer.conflicts
    )


def _get_order(reading: Conflict) -> tuple[str, tuple[int, ...]]:
    """Return the sort key of a reading: alphabetical, then by its citations."""
    return reading.answer.casefold(), reading.citations
