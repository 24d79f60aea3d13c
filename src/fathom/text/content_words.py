"""The words that carry a text's meaning."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from fathom.text.analyzer import Analyzer
from fathom.text.language import stop_words

Terms = Callable[[str], frozenset[str]]
"""Gives the distinct content words of a text, stemmed."""
_WORD = re.compile(r"\w[\w'.,/-]*")


@dataclass(frozen=True, slots=True)
class ContentTerms:
    """Distinct terms of a text without English and Indonesian stop words, stemmed as in search."""

    analyzer: Analyzer = field(default_factory=Analyzer)

    def __call__(self, text: str) -> frozenset[str]:
        """The terms; empty when the text holds stop words only."""
        return frozenset(self.analyzer.query_terms(" ".join(self.words(text))))

    def words(self, text: str) -> Iterator[str]:
        """The words themselves in order, small letters, with repetitions."""
        dropped = stop_words("en") | stop_words("id")
        found = (match.group().rstrip("'.,/-") for match in _WORD.finditer(text))
        return (word for word in map(str.casefold, found) if word not in dropped)
