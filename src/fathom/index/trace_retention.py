"""Texts of documents that are held elsewhere, and whether the documents still hold them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

from fathom.index.base import IndexReader
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


class Looked:
    """Looks texts up in an index, each once."""

    def __init__(self, index: IndexReader) -> None:
        """Nothing is looked up yet."""
        self._document = lru_cache(1)(index.document)
        self._stands: dict[Held, bool] = {}

    def gone(self, held: Sequence[Held]) -> list[Held]:
        """Those that their documents do not hold; best given in the order of these."""
        for text in held:
            if text not in self._stands:
                self._stands[text] = text.still_in(self._document(text.document))
        return [text for text in held if not self._stands[text]]
