"""BM25 retrieval: for the query alone, and for the query with words of its best hits."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from fathom.index.base import IndexReader
from fathom.retrieval.base import to_hits
from fathom.retrieval.expansion import RelevanceFeedback
from fathom.types import Hit, Query

if TYPE_CHECKING:  # the assembly makes the retrievers, and imports every part
    from fathom.assembly import Assembly

MOST_INSPECTED = 20
"""The largest number of chunks in which `has_exact_word` looks for a word."""


@dataclass(frozen=True, slots=True)
class KeywordRetriever:
    """A ranking of chunks by BM25 over the words of the query, any of which may match."""

    index: IndexReader
    name: str = "keyword"

    @classmethod
    def of(cls, assembly: "Assembly", index: IndexReader) -> Self:  # noqa: ARG003
        """Build the retriever over an index."""
        return cls(index)

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        """Return at most `k` hits, best first; scores are BM25 weights above 0."""
        matches = self.index.keyword_search(query.text, k=k, filters=query.filters)
        return to_hits(matches, self.index, self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordFeedback:
    """A ranking by BM25 over the query and the words that RM3 takes from its best hits.

    Attributes:
        index: The index.
        feedback: The choice of the words to add.
        repeats: The number of times that the query is repeated, which is its weight against the
            added words. The default is about the weight that RM3 itself gives a query that makes up
            half of its model.
    """

    index: IndexReader
    feedback: RelevanceFeedback
    repeats: int = 10
    name: str = "keyword_feedback"

    @classmethod
    def of(cls, assembly: "Assembly", index: IndexReader) -> Self:
        """Build the retriever over an index."""
        words = assembly.terms.words
        return cls(index=index, feedback=RelevanceFeedback(extract_words=words, hits=5, count=5))

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        """Return at most `k` hits, best first; scores are BM25 weights above 0."""
        first = self._search(query, query.text, self.feedback.hits)
        words = self.feedback.select_terms(query.text, first)
        # The keyword index takes no weights, so the query is repeated instead.
        return self._search(query, " ".join([query.text] * self.repeats + list(words)), k)

    def _search(self, query: Query, text: str, k: int) -> list[Hit]:
        """Search for a text under the filters of a query."""
        matches = self.index.keyword_search(text, k=k, filters=query.filters)
        return to_hits(matches, self.index, self.name)


def has_exact_word(word: str, index: IndexReader) -> bool:
    """Return whether one of the best hits for a word holds this form of it, in any capitals."""
    hits = KeywordRetriever(index).retrieve(Query(text=word), k=MOST_INSPECTED)
    # The index compares stems, so a hit may hold another form of the word.
    word_pattern = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
    return any(word_pattern.search(hit.chunk.context) for hit in hits)
