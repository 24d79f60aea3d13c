"""What an index notes of a place that was read."""

import hashlib
import json
from dataclasses import replace

from fathom.documents.base import ParsedDocument
from fathom.index.base import SourceRecord
from fathom.types import Document


def record_digest(record: ParsedDocument) -> str:
    """The digest of a record of a corpus file."""
    content = [record.title, record.text, sorted(record.metadata.items())]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def holds(known: SourceRecord | None, digest: str) -> bool:
    """Whether what is known of a record is what its file holds, as a document."""
    return known is not None and known.digest == digest and known.document_id is not None


def ok(source: SourceRecord) -> SourceRecord:
    """A place that can be read again."""
    return replace(source, outcome="ok", reason="")


def noted(document: Document, digest: str, reason: str = "") -> SourceRecord:
    """The place of a document that was read there."""
    path, key = document.path, document.id
    return SourceRecord(path=path, digest=digest, outcome="ok", reason=reason, document_id=key)
