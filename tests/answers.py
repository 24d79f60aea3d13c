"""Answers of a made-up library, for the tests of what is shown of an answer."""

from typing import Any

from fathom.types import Answer, Citation
from fathom.usage import Budget, Usage

QUOTE = "Books are lent for 28 days."


def make_citation(**fields: Any) -> Citation:
    values: dict[str, Any] = {
        "n": 1,
        "document": "ab12",
        "title": "Rules",
        "section": "Loans",
        "page": 3,
        "path": "/docs/rules.pdf",
        "start": 7,
        "end": 34,
        "quote": QUOTE,
        "verified": True,
        "support": 0.9,
    }
    return Citation(**(values | fields))


def make_answer(**fields: Any) -> Answer:
    values: dict[str, Any] = {
        "question": "For how long are books lent?",
        "status": "answered",
        "answer": f"{QUOTE} [1]",
        "short_answer": "28 days",
        "citations": (make_citation(),),
        "strategy": "naive",
        "phase": "read",
        "stop_reason": "answered",
        "usage": Usage(),
        "budget": Budget(),
    }
    return Answer(**(values | fields))
