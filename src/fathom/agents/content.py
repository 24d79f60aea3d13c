"""The words that carry a text's meaning."""

import re
from dataclasses import dataclass, field

from fathom.documents.language import stop_words
from fathom.index.analyzer import Analyzer

_WORD = re.compile(r"\w[\w'.,/-]*")


@dataclass(frozen=True, slots=True)
class ContentTerms:
    """Distinct terms of a text without English and Indonesian stop words, stemmed as in search."""

    analyzer: Analyzer = field(default_factory=Analyzer)

    def __call__(self, text: str) -> frozenset[str]:
        """The terms; empty when the text holds stop words only."""
        dropped = stop_words("en") | stop_words("id")
        words = (match.group().rstrip("'.,/-") for match in _WORD.finditer(text))
        kept = " ".join(word for word in words if word.casefold() not in dropped)
        return frozenset(self.analyzer.query_terms(kept))
