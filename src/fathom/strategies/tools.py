"""What strategies are made of."""

from collections.abc import Callable
from dataclasses import dataclass

from fathom.agents.finalizer import Finalizer
from fathom.retrieval.quotes import Quotes
from fathom.retrieval.search import Search
from fathom.settings import Settings
from fathom.strategies.cast import Cast


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """Agents and retrievers, made from the settings; a strategy takes what it needs.

    Attributes:
        search: The search that uses the retriever of this name: `vector`, `keyword`, `hybrid`.
        cast: The agents.
    """

    settings: Settings
    search: Callable[[str], Search]
    quotes: Quotes
    cast: Cast

    def finalizer(self, strategy: str) -> Finalizer:
        """The finalizer of a strategy."""
        return Finalizer(
            quotes=self.quotes,
            strategy=strategy,
            min_confidence=self.settings.ask.min_confidence,
        )
