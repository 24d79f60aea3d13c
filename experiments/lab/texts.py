"""The documents of a data set's corpus as texts, whatever their format."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fathom.documents.base import ParsedDocument, ParseRefusal
from fathom.documents.discover import derive_document_id, digest_content, discover_files
from fathom.documents.record_ids import name_record
from fathom.documents.sandbox.parent import Sandbox, read_file
from fathom.evaluation.datasets import read_rows
from fathom.jsonable import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A document before it is indexed, with the id it would get there."""

    id: str
    title: str
    text: str
    metadata: Mapping[str, Json] = field(default_factory=dict)


def read_texts(corpus: Path) -> Iterator[Text]:
    """Yield the documents of a corpus file or of a folder of files, equal files once.

    A file that cannot be read gives a document without text. What a file's format told of headings
    and tables is lost: so a variant of a corpus of files differs from it in this too.
    """
    if corpus.is_file():
        yield from _read_records(corpus)
        return
    ids: set[str] = set()
    with Sandbox() as sandbox:
        for file in discover_files([corpus]):
            for text in _read_file(file, sandbox):
                if text.id not in ids:
                    ids.add(text.id)
                    yield text


def _read_records(file: Path) -> Iterator[Text]:
    for _, row in read_rows(file):
        yield Text(
            id=name_record(row["_id"]),
            title=row.get("title") or "",
            text=row.get("text") or "",
            metadata=row.get("metadata") or {},
        )


def _read_file(file: Path, sandbox: Sandbox) -> Iterator[Text]:
    document_id = derive_document_id(digest_content(file))
    try:
        for part in read_file(file, sandbox):
            if isinstance(part, ParsedDocument):
                yield Text(
                    id=document_id if part.record is None else part.record,
                    title=part.title or file.stem,
                    text=part.text,
                    metadata=part.metadata,
                )
    except ParseRefusal:
        yield Text(id=document_id, title=file.stem, text="")
