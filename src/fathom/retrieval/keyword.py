"""BM25, for a query as it is and with words of what it found first."""

import re
from dataclasses import dataclass

from fathom.index.base import IndexReader
from fathom.retrieval.base import to_hits
from fathom.retrieval.expansion import Feedback
from fathom.types import Hit, Query

LOOKED_AT = 20
"""So many of the chunks that have a word in some form are looked at for the word itself."""


@dataclass(frozen=True, slots=True)
class KeywordRetriever:
    """Ranks chunks by BM25 over the words of the query, any of which may match."""

    index: IndexReader
    name: str = "keyword"

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        """See `Retriever.retrieve`; scores are BM25 weights above 0."""
        matches = self.index.keyword_search(query.text, k=k, filters=query.filters)
        return to_hits(matches, self.index, self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordFeedback:
    """BM25 for the query and the words that RM3 takes from its best hits.

    Attributes:
        repeats: A word of the query counts as much as so many of the hits; about what RM3's
            own weights come to, where half of the model is the query.
    """

    index: IndexReader
    feedback: Feedback
    repeats: int = 10
    name: str = "keyword_feedback"

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        """See `Retriever.retrieve`; scores are BM25 weights above 0."""
        first = self._asked(query, query.text, self.feedback.hits)
        words = self.feedback.terms(query.text, first)
        return self._asked(query, " ".join([query.text] * self.repeats + list(words)), k)

    def _asked(self, query: Query, text: str, k: int) -> list[Hit]:
        matches = self.index.keyword_search(text, k=k, filters=query.filters)
        return to_hits(matches, self.index, self.name)


def stands(word: str, index: IndexReader) -> bool:
    """Whether a word stands, as it is but for its capitals, in the best hits for it."""
    found = KeywordRetriever(index).retrieve(Query(text=word), k=LOOKED_AT)
    whole = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
    return any(whole.search(hit.chunk.context) for hit in found)
