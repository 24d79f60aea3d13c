"""The records that the index keeps of the places that were read."""

import hashlib
import json
from dataclasses import replace

from fathom.documents.base import ParsedDocument
from fathom.index.base import SourceRecord
from fathom.types import Document


def digest_record(record: ParsedDocument) -> str:
    """Return the digest of a record of a corpus file: sha256, 64 hexadecimal digits."""
    # Sorted, because the order of keys in a JSON line does not change the record.
    content = [record.title, record.text, sorted(record.metadata.items())]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def has_digest(source: SourceRecord | None, digest: str) -> bool:
    """Return whether a place has a document that was made from content with a digest."""
    return source is not None and source.digest == digest and source.document_id is not None


def mark_readable(source: SourceRecord) -> SourceRecord:
    """Return the record of a stale place whose content can be read again."""
    return replace(source, outcome="ok", reason="")


def build_source_record(document: Document, digest: str, reason: str = "") -> SourceRecord:
    """Return the record of a place at which a document was read.

    Args:
        document: The document.
        digest: The digest of the content.
        reason: The parts of the file that were left out, in one line; empty for none.
    """
    path, key = document.path, document.id
    return SourceRecord(path=path, digest=digest, outcome="ok", reason=reason, document_id=key)
