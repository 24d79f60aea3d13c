"""Texts of documents that are held elsewhere, and whether the documents still hold them."""

from dataclasses import dataclass
from typing import Self

from fathom.jsonable import digest
from fathom.types import Document, Span


@dataclass(frozen=True, slots=True)
class Held:
    """Where a text stood in a document, and the hash of the document's title and of the text."""

    document: str
    start: int
    end: int
    mark: str

    @classmethod
    def of(cls, document: str, title: str, span: Span, text: str) -> Self:
        """What stood at a place."""
        return cls(document, span.start, span.end, digest(f"{title}\n{text}")[:32])

    def still_in(self, document: Document | None) -> bool:
        """Whether the document holds it now."""
        if document is None:
            return False
        span = Span(self.start, self.end)
        return self == Held.of(document.id, document.title, span, span.cut(document.text))
