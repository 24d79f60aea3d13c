"""Texts of documents that traces hold, and the check whether the documents still contain them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

from fathom.index.base import IndexReader
from fathom.jsonable import hash_text
from fathom.types import Document, Span


@dataclass(frozen=True, slots=True)
class QuotedText:
    """The place of a text in a document, and a hash of the document's title and of the text."""

    document: str
    start: int
    end: int
    mark: str

    @classmethod
    def of(cls, document: str, title: str, span: Span, text: str) -> Self:
        """Record the text at a place of a document."""
        return cls(document, span.start, span.end, hash_text(f"{title}\n{text}")[:32])

    def is_still_in(self, document: Document | None) -> bool:
        """Return whether the document still contains the text at this place."""
        if document is None:
            return False
        span = Span(self.start, self.end)
        return self == QuotedText.of(document.id, document.title, span, span.cut(document.text))


class TextLookup:
    """A lookup of texts in an index that checks each text once."""

    def __init__(self, index: IndexReader) -> None:
        """Prepare the lookup without reading anything."""
        # One document is enough, because the texts come in the order of their documents.
        self._document = lru_cache(1)(index.get_document)
        self._stands: dict[QuotedText, bool] = {}

    def find_missing(self, held: Sequence[QuotedText]) -> list[QuotedText]:
        """Return the texts that their documents no longer contain.

        The call is quickest for texts in the order of their documents.
        """
        for text in held:
            if text not in self._stands:
                self._stands[text] = text.is_still_in(self._document(text.document))
        return [text for text in held if not self._stands[text]]
