"""The content words of a text, which carry its meaning."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from fathom.text.analyzer import Analyzer
from fathom.text.language import load_stop_words

Terms = Callable[[str], frozenset[str]]
"""Returns the distinct content words of a text, stemmed."""
_WORD = re.compile(r"\w[\w'.,/-]*")


@dataclass(frozen=True, slots=True)
class ContentTerms:
    """The distinct terms of a text without stop words of both languages, stemmed as in search."""

    analyzer: Analyzer = field(default_factory=Analyzer)

    def __call__(self, text: str) -> frozenset[str]:
        """Return the terms; none when the text holds stop words only."""
        return frozenset(self.analyzer.count_query_terms(" ".join(self.words(text))))

    def words(self, text: str) -> Iterator[str]:
        """Yield the content words in order, in lower case, with repetitions."""
        excluded = load_stop_words("en") | load_stop_words("id")
        written = (match.group().rstrip("'.,/-") for match in _WORD.finditer(text))
        return (word for word in map(str.casefold, written) if word not in excluded)
