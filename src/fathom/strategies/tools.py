"""What strategies are made of."""

from dataclasses import dataclass

from fathom.agents.reader import Reader
from fathom.retrieval.quotes import Quotes
from fathom.retrieval.search import Search


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """Agents and retrievers, made from the settings; a strategy takes what it needs.

    Attributes:
        chunks: How many hits are read.
        min_confidence: Below it an answer is withheld.
    """

    search: Search
    reader: Reader
    quotes: Quotes
    chunks: int
    min_confidence: float
