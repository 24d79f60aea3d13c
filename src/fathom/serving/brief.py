"""Short output for agents: answers with quotes and a probability, and lines that contain a text.

A refusal has the nearest sentences of the documents, in the form of `fathom search`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from fathom.retrieval.excerpts import Excerpts, choose_hit_count
from fathom.serving.shapes import (
    Shortener,
    format_address,
    serialize_excerpts,
    serialize_matching_lines,
)
from fathom.text.instructions import gives_orders
from fathom.types import Answer, Citation, Filter

if TYPE_CHECKING:
    from fathom.engine import Engine

MOST_QUOTES = 3
"""The number of quotes of a short answer, at most."""
NEAREST_CHARS = 250
"""The number of characters of the nearest sentences, at most."""
LINE_CHARS = 300
"""The number of characters of a line in a reply, at most."""
MOST_LINES = 200
"""The number of lines in one reply, at most."""
MOST_TEXT = 1_000
"""The number of characters of a searched text, at most."""


def find_lines(
    engine: "Engine",
    texts: Sequence[str],
    documents: Sequence[str] = (),
    *,
    match_case: bool = False,
    most: int = MOST_LINES,
) -> dict[str, Any]:
    """Return the lines that contain at least one of the texts, word for word.

    Remote callers can give texts only, because matching a hostile pattern could take for ever.

    Args:
        engine: The engine over the documents.
        texts: The texts.
        documents: The documents to search: ids, paths, folders or patterns of paths; by default
            all.
        match_case: Whether capital and small letters are different.
        most: The number of lines, at most.

    Raises:
        UsageError: If a document does not exist.
    """
    pattern = "|".join(map(re.escape, texts))
    matches = engine.documents.grep(pattern, documents, ignore_case=not match_case)
    lines = list(islice(matches, most))
    shorten = engine.documents.make_place_names().shorten
    shape = serialize_matching_lines(lines, shorten, has_more=next(matches, None) is not None)
    expression = re.compile(pattern, 0 if match_case else re.IGNORECASE)
    for line in shape["lines"]:
        # The orders may be in the part that is cut off below.
        line["gives_orders"] = gives_orders(line["text"])
        line["text"] = _cut_around(line["text"], expression)
    return shape


def _cut_around(line: str, expression: re.Pattern[str]) -> str:
    """Return a line; cut a long line around the first match."""
    if len(line) <= LINE_CHARS:
        return line
    match = expression.search(line)
    middle = match.start() if match else 0
    start = max(min(middle - LINE_CHARS // 2, len(line) - LINE_CHARS), 0)
    end = start + LINE_CHARS
    return f"{'… ' if start else ''}{line[start:end]}{' …' if end < len(line) else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """A short answer.

    Attributes:
        answer: The whole answer.
        nearest: The sentences of the documents that are nearest to the question; `None` if it was
            answered.
        shorten: Returns a short name of a path.
    """

    answer: Answer
    nearest: Excerpts | None
    shorten: Shortener


def make_brief(engine: "Engine", answer: Answer, filters: Sequence[str | Filter] = ()) -> Brief:
    """Make a short answer; for a refusal, search for the nearest sentences."""
    nearest = None
    if answer.status != "answered":
        query = answer.standalone_question or answer.question
        hits = engine.search(query, k=choose_hit_count(NEAREST_CHARS), filters=filters)
        nearest = engine.excerpt(query, hits, chars=NEAREST_CHARS)
    shorten = engine.documents.make_place_names().shorten
    return Brief(answer=answer, nearest=nearest, shorten=shorten)


def list_quotes(answer: Answer) -> list[Citation]:
    """Return the first citations of an answer, without repeated places."""
    by_place = {(cited.document, cited.start, cited.end): cited for cited in answer.citations}
    return list(by_place.values())[:MOST_QUOTES]


def serialize_brief(brief: Brief) -> dict[str, Any]:
    """Return a short answer in the shape of `ask --brief --json`; `warnings` may be missing."""
    answer = brief.answer
    shape: dict[str, Any] = {"question": answer.question, "status": answer.status}
    if answer.warnings:
        shape["warnings"] = list(answer.warnings)
    if brief.nearest is not None:
        return {
            **shape,
            "reason": answer.stop_reason,
            "nearest": serialize_excerpts(brief.nearest)["hits"],
        }
    return {
        **shape,
        "tentative": answer.tentative,
        "answer": answer.short_answer or answer.answer,
        "quotes": [
            {"at": format_address(citation.place, brief.shorten), "quote": citation.quote}
            for citation in list_quotes(answer)
        ],
        "p": None if answer.confidence is None else round(answer.confidence, 2),
        # A disputed answer names all readings itself.
        "others": [] if answer.disputed else [conflict.answer for conflict in answer.conflicts],
    }


def serialize_located_brief(brief: Brief) -> dict[str, Any]:
    """Return a short answer with its trace, whose quotes have `document`, `start` and `end` too.

    Remote callers open documents and traces by these fields, and the audit log takes them from the
    reply.
    """
    shape = {**serialize_brief(brief), "trace_id": brief.answer.trace_id}
    for quote, citation in zip(shape.get("quotes", ()), list_quotes(brief.answer), strict=False):
        quote |= {name: getattr(citation, name) for name in ("document", "start", "end")}
    return shape
