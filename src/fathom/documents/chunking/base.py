"""The protocol of chunkers."""

from collections.abc import Mapping
from typing import Protocol

from fathom.documents.block_lookup import select_blocks
from fathom.documents.site import find_site
from fathom.types import Chunk, Document, Span


class Chunker(Protocol):
    """A cutter of documents into chunks.

    `document.text[chunk.span] == chunk.text`, chunks come in order with ids
    `<document id>#<ordinal>`, and every character but white space is in at least one.
    """

    @property
    def identity(self) -> Mapping[str, str]:
        """The properties that must agree between two runs for their chunks to be the same."""
        ...

    def split(self, document: Document) -> tuple[Chunk, ...]:
        """Return the chunks of `document`; none if it holds only white space."""
        ...


def build_chunk(
    document: Document,
    span: Span,
    ordinal: int,
    *,
    headings: tuple[str, ...] = (),
    page: int | None = None,
) -> Chunk:
    """Build the chunk of `document` at `span`."""
    return Chunk(
        id=f"{document.id}#{ordinal}",
        document_id=document.id,
        text=span.cut(document.text),
        span=span,
        ordinal=ordinal,
        title=document.title,
        path=document.path,
        site=find_site(document.id, document.path, document.metadata),
        headings=headings,
        page=page,
        blocks=select_blocks(document.blocks, span),
    )
