"""What every surface gives of hits, documents, replays and the index, as JSON.

The same objects on the command line (`--json`), over HTTP and over MCP; an answer's shape is its
own, see `fathom.types.Answer`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fathom.jsonable import Json
from fathom.types import Document, Hit, Place

if TYPE_CHECKING:  # only who answers or calibrates needs them
    from fathom.calibration.law import Calibration
    from fathom.index.base import IndexStatus
    from fathom.strategies.run import Replay

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff"  # controls, halves of pairs
    "\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # order and width
    "\U000e0000-\U000e0fff]"  # tags and their kind: text that a model reads and nobody sees
)


def harmless(value: Json) -> Json:
    """Plain JSON whose texts hold no character that nobody sees and that steers who reads it.

    Each is replaced by one other, so that offsets hold and a quote still stands in its document.
    """
    if isinstance(value, str):
        return _UNSEEN.sub(lambda found: " " if found[0].isspace() else "\ufffd", value)
    if isinstance(value, Mapping):
        return {harmless(str(key)): harmless(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [harmless(item) for item in value]
    return value


def hits_json(query: str, hits: Sequence[Hit], places: Sequence[Place]) -> dict[str, Any]:
    """The shape of `search --json`; of each hit its place is given too."""
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


def document_json(document: Document) -> dict[str, Any]:
    """A document with its text, without its structure."""
    return {
        "id": document.id,
        "path": document.path,
        "title": document.title,
        "language": document.language,
        "metadata": dict(document.metadata),
        "text": document.text,
    }


def replay_json(done: "Replay") -> dict[str, Any]:
    """The shape of `replay --json`."""
    return {
        "trace_id": done.trace.id,
        "same": done.same,
        "difference": done.difference,
        "missing": done.missing,
        "prompts": done.prompts,
        "answer": done.answer,
    }


def status_json(status: "IndexStatus", calibrations: "Mapping[str, Calibration]") -> dict[str, Any]:
    """The shape of `status --json`."""
    known = {name: calibration_json(made) for name, made in calibrations.items()}
    return {**asdict(status), "calibrations": known}


def calibration_json(made: "Calibration") -> dict[str, Any]:
    """A calibration without its numbers."""
    return {
        "source": made.source,
        "made_of": dict(made.made_of),
        "certificates": [
            {"max_error": each.max_error, "threshold": each.threshold, "coverage": each.coverage}
            for each in made.certificates
        ],
    }
