"""Short answers for agents: the answer, its quotes with their places, and how sure it is.

A refusal gives the sentences that come nearest, in the form of `fathom search`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fathom.retrieval.excerpts import EXCERPT_HITS, Excerpts
from fathom.serving.shapes import serialize_excerpts
from fathom.serving.wording import list_readings
from fathom.types import Answer, Filter

if TYPE_CHECKING:
    from fathom.engine import Engine

MOST_QUOTES = 3
"""The quotes of a short answer, at most."""
NEAREST_CHARS = 400
"""The characters of the sentences that come nearest."""


def find_nearest(
    engine: "Engine", answer: Answer, filters: Sequence[str | Filter] = ()
) -> Excerpts | None:
    """Return the sentences that come nearest to a question without an answer; else nothing."""
    if answer.status == "answered":
        return None
    query = answer.standalone_question or answer.question
    hits = engine.search(query, k=EXCERPT_HITS, filters=filters)
    return engine.excerpt(query, hits, chars=NEAREST_CHARS)


def serialize_brief(answer: Answer, nearest: Excerpts | None) -> dict[str, Any]:
    """Return an answer in the shape of `ask --brief --json`."""
    shape: dict[str, Any] = {"question": answer.question, "status": answer.status}
    if nearest is not None:
        return {
            **shape,
            "reason": answer.stop_reason,
            "nearest": serialize_excerpts(nearest)["hits"],
        }
    return {
        **shape,
        "tentative": answer.tentative,
        "answer": answer.short_answer or answer.answer,
        "quotes": [
            {"at": citation.place.address, "quote": citation.quote}
            for citation in answer.citations[:MOST_QUOTES]
        ],
        "p": None if answer.confidence is None else round(answer.confidence, 2),
        "others": [reading.text for reading in list_readings(answer)[1:]],
    }
