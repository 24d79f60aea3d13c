"""The texts of documents that traces hold, and the check that the documents still contain them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

from fathom.index.base import IndexReader
from fathom.jsonable import hash_text
from fathom.types import Document, Span


@dataclass(frozen=True, slots=True)
class QuotedText:
    """The place of a text in a document, with a hash by which a change is noticed.

    Attributes:
        document: The id of the document.
        start: The offset of the text's first character in the document's text.
        end: The offset after its last character.
        mark: A hash of the document's title and of the text, 32 hexadecimal digits.
    """

    document: str
    start: int
    end: int
    mark: str

    @classmethod
    def of(cls, document: str, title: str, span: Span, text: str) -> Self:
        """Build the record of a text at a place in a document."""
        return cls(document, span.start, span.end, hash_text(f"{title}\n{text}")[:32])

    def is_still_in(self, document: Document | None) -> bool:
        """Return whether a document still contains the text here and has the same title.

        Args:
            document: The present version of the document; `None` if it is gone.
        """
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
