"""The content words of a text, which carry its meaning."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from fathom.text.analyzer import Analyzer
from fathom.text.language import load_stop_words

Terms = Callable[[str], frozenset[str]]
"""A function that returns the distinct stemmed content words of a text."""
_WORD = re.compile(r"\w[\w'.,/-]*")


@dataclass(frozen=True, slots=True)
class ContentTerms:
    """A function that returns the content words of a text, stemmed as in search.

    Stop words of English and Indonesian are left out.
    """

    analyzer: Analyzer = field(default_factory=Analyzer)

    def __call__(self, text: str) -> frozenset[str]:
        """Return the distinct terms; empty if the text has stop words only."""
        return frozenset(self.analyzer.count_query_terms(" ".join(self.words(text))))

    def words(self, text: str) -> Iterator[str]:
        """Yield the content words in order, in lower case, with repetitions."""
        excluded = load_stop_words("en") | load_stop_words("id")
        written = (match.group().rstrip("'.,/-") for match in _WORD.finditer(text))
        return (word for word in map(str.casefold, written) if word not in excluded)
