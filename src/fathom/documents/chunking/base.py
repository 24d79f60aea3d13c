"""The protocol of chunkers."""

from collections.abc import Mapping
from typing import Protocol

from fathom.documents.block_lookup import select_blocks
from fathom.documents.site import find_site
from fathom.types import Chunk, Document, Span


class Chunker(Protocol):
    """A cutter of documents into chunks.

    The text of a chunk is `chunk.span.cut(document.text)`. Chunks come in order with ids
    `<document id>#<ordinal>`, and every character but white space is in at least one of them.
    """

    @property
    def identity(self) -> Mapping[str, str]:
        """The properties on which the chunks depend: two runs with equal ones give equal chunks."""
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
    """Build the chunk of a document at a span.

    Args:
        document: The document.
        span: The span of the chunk in the document's text.
        ordinal: The number of the chunk in the document, from 0.
        headings: The headings above the chunk, outermost first.
        page: The page on which it begins; `None` without pages.
    """
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
