"""Short output for agents: an answer with its quotes and how sure it is, and lines with a text.

A refusal gives the sentences that come nearest, in the form of `fathom search`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from fathom.retrieval.excerpts import EXCERPT_HITS, Excerpts
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
"""The quotes of a short answer, at most."""
NEAREST_CHARS = 250
"""The characters of the sentences that come nearest."""
LINE_CHARS = 300
"""The characters of a line that holds a text."""
MOST_LINES = 200
"""The lines in one reply, at most."""
MOST_TEXT = 1_000
"""The characters of a text that lines are searched for."""


def find_lines(
    engine: "Engine",
    texts: Sequence[str],
    documents: Sequence[str] = (),
    *,
    match_case: bool = False,
    most: int = MOST_LINES,
) -> dict[str, Any]:
    """Return the lines that hold one of several texts word for word, for callers elsewhere.

    They may give no pattern, because matching a hostile one never ends.

    Args:
        engine: The engine over the documents.
        texts: The texts.
        documents: Only these documents: ids, paths, folders or patterns of paths.
        match_case: Whether capital and small letters are different.
        most: The lines, at most.

    Raises:
        UsageError: If a document is not there.
    """
    pattern = "|".join(map(re.escape, texts))
    matches = engine.documents.grep(pattern, documents, ignore_case=not match_case)
    lines = list(islice(matches, most))
    shorten = engine.documents.make_place_names().shorten
    shape = serialize_matching_lines(lines, shorten, has_more=next(matches, None) is not None)
    expression = re.compile(pattern, 0 if match_case else re.IGNORECASE)
    for line in shape["lines"]:
        # The orders may stand in a part that is not shown.
        line["gives_orders"] = gives_orders(line["text"])
        line["text"] = _cut_around(line["text"], expression)
    return shape


def _cut_around(line: str, expression: re.Pattern[str]) -> str:
    """Return a line, or of a long one the part around what it holds."""
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
        nearest: The sentences that come nearest to a question without an answer; else nothing.
        shorten: Returns a short name of a path.
    """

    answer: Answer
    nearest: Excerpts | None
    shorten: Shortener


def make_brief(engine: "Engine", answer: Answer, filters: Sequence[str | Filter] = ()) -> Brief:
    """Return an answer in short; for a refusal the documents are searched."""
    nearest = None
    if answer.status != "answered":
        query = answer.standalone_question or answer.question
        hits = engine.search(query, k=EXCERPT_HITS, filters=filters)
        nearest = engine.excerpt(query, hits, chars=NEAREST_CHARS)
    shorten = engine.documents.make_place_names().shorten
    return Brief(answer=answer, nearest=nearest, shorten=shorten)


def list_quotes(answer: Answer) -> list[Citation]:
    """Return the first citations of an answer, each place once."""
    by_place = {(cited.document, cited.start, cited.end): cited for cited in answer.citations}
    return list(by_place.values())[:MOST_QUOTES]


def serialize_brief(brief: Brief) -> dict[str, Any]:
    """Return a short answer in the shape of `ask --brief --json`; `warnings` only if it has any."""
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
