"""The JSON shapes of hits, documents, replays and the index.

The command line (`--json`), HTTP and MCP give the same objects. The shape of an answer is that
of its class, `fathom.types.Answer`.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from fathom.index.rights import ReaderList, combine_limits
from fathom.jsonable import Json
from fathom.serving.invisible import INVISIBLE, replace_controls
from fathom.types import Document, Hit, Place

if TYPE_CHECKING:  # only commands that answer or calibrate need these
    from fathom.calibration.law import Calibration
    from fathom.documents.lines import Heading, MatchingLine
    from fathom.index.base import DocumentSummary, IndexStatus
    from fathom.retrieval.excerpts import Excerpts
    from fathom.strategies.run import Replay

Shortener = Callable[[str], str]
"""A function that returns a short name of a path, which opens the same document."""
DOCUMENT_URI = "fathom://documents/"
"""The prefix of the address of a document as a resource of MCP; its id follows."""
_ESCAPED = re.compile(f"%|{INVISIBLE.pattern}")


def replace_invisible(value: Json) -> Json:
    """Return JSON without invisible characters, which could secretly instruct a reader.

    Each one is replaced by one other character, so that offsets stay valid and a quote still
    matches its document.
    """
    if isinstance(value, str):
        return replace_controls(value)
    if isinstance(value, Mapping):
        return {replace_invisible(str(key)): replace_invisible(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [replace_invisible(item) for item in value]
    return value


def make_cursor(path: str) -> str:
    """Return the cursor of the documents that follow a path.

    Invisible characters are escaped, because replacing them would lead to another place of the
    list.
    """
    return _ESCAPED.sub(lambda match: quote(match[0], safe="", errors="replace"), path)


def parse_cursor(cursor: str) -> str:
    """Return the path of a cursor."""
    return unquote(cursor)


def serialize_limits(limits: Sequence[ReaderList]) -> dict[str, Any]:
    """Return the readers of a document, and the reader lists that they follow from.

    A reader must be in every list of `readers`; `*` means everybody, an empty list nobody.
    """
    return {
        "readers": [list(readers) for readers in combine_limits(limits)],
        "reader_lists": [asdict(limit) for limit in limits],
    }


def serialize_summaries(
    summaries: "Iterable[DocumentSummary]", limits: Mapping[str, Sequence[ReaderList]]
) -> list[dict[str, Any]]:
    """Return the entries of a list of documents; `limits` are their reader lists by id."""
    return [
        {
            **asdict(summary),
            **(serialize_limits(limits[summary.id]) if summary.id in limits else {}),
        }
        for summary in summaries
    ]


def serialize_hits(query: str, hits: Sequence[Hit], places: Sequence[Place]) -> dict[str, Any]:
    """Return hits with their places in the shape of `search --json`."""
    return {
        "query": query,
        "hits": [
            {
                "rank": hit.rank,
                "score": hit.score,
                "document": hit.chunk.document_id,
                "chunk": hit.chunk.id,
                **asdict(place),
                "start": hit.chunk.span.start,
                "end": hit.chunk.span.end,
                "text": hit.chunk.text,
            }
            for hit, place in zip(hits, places, strict=True)
        ],
    }


def serialize_excerpts(excerpts: "Excerpts") -> dict[str, Any]:
    """Return excerpts in the shape of `search --brief --json`."""
    return {
        "query": excerpts.query,
        "hits": [
            {
                "at": excerpt.at,
                "name": excerpt.name,
                "document": excerpt.hit.chunk.document_id,
                "start": excerpt.start,
                "end": excerpt.end,
                "text": excerpt.text,
            }
            for excerpt in excerpts.excerpts
        ],
        "hits_left": excerpts.hits_left,
        "chars_left": excerpts.chars_left,
    }


def serialize_document(document: Document) -> dict[str, Any]:
    """Return a document with its text but without its blocks."""
    return {
        "id": document.id,
        "path": document.path,
        "title": document.title,
        "language": document.language,
        "metadata": dict(document.metadata),
        "text": document.text,
    }


def serialize_outline(document: Document, headings: "Sequence[Heading]") -> dict[str, Any]:
    """Return the headings of a document in the shape of `docs outline --json`."""
    return {
        "id": document.id,
        "path": document.path,
        "title": document.title,
        "headings": [
            {
                "text": heading.text,
                "depth": heading.depth,
                "line": heading.place.line,
                "page": heading.place.page,
            }
            for heading in headings
        ],
    }


def format_address(place: Place, shorten: Shortener) -> str:
    """Return the short path of a place with its line or page."""
    return replace(place, path=shorten(place.path)).address


def serialize_matching_lines(
    lines: "Sequence[MatchingLine]", shorten: Shortener, *, has_more: bool
) -> dict[str, Any]:
    """Return matching lines in the shape of `docs grep --json`."""
    return {
        "lines": [
            {
                "at": format_address(line.place, shorten),
                "document": line.document,
                "start": line.start,
                "text": line.text,
            }
            for line in lines
        ],
        "has_more": has_more,
    }


def serialize_replay(replay: "Replay") -> dict[str, Any]:
    """Return a replay in the shape of `replay --json`."""
    return {
        "trace_id": replay.trace.id,
        "same": replay.same,
        "difference": replay.difference,
        "missing": replay.missing,
        "prompts": replay.prompts,
        "answer": replay.answer,
    }


def serialize_status(
    status: "IndexStatus", calibrations: "Mapping[str, Calibration]"
) -> dict[str, Any]:
    """Return the state of an index in the shape of `status --json`."""
    by_strategy = {
        name: serialize_calibration(calibration) for name, calibration in calibrations.items()
    }
    return {**asdict(status), "calibrations": by_strategy}


def serialize_calibration(calibration: "Calibration") -> dict[str, Any]:
    """Return the source, the questions and the certificates of a calibration."""
    return {
        "source": calibration.source,
        "made_of": dict(calibration.made_of),
        "certificates": [
            {
                "max_error": certificate.max_error,
                "threshold": certificate.threshold,
                "coverage": certificate.coverage,
            }
            for certificate in calibration.certificates
        ],
    }
