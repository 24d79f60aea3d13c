"""The middle layer of the assembly: the retrievers, and the other parts of searches."""

from collections.abc import Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING

from fathom.index.base import IndexReader as Index
from fathom.models.query_encoder import SHA256
from fathom.retrieval.base import Retriever
from fathom.retrieval.keyword import KeywordRetriever
from fathom.retrieval.search import Search
from fathom.settings.anchor import AnchorSettings
from fathom.settings.retrievers import split_retriever
from fathom.settings.tree import RetrievalSettings
from fathom.types import Hit

if TYPE_CHECKING:
    from fathom.retrieval.context_selection import ContextSelector
    from fathom.retrieval.multihop import MultiHop

from fathom.assembly.models import ModelParts


class RetrievalParts(ModelParts):
    """The middle layer of the assembly: the parts that find and select hits."""

    def retriever(self, name: str, index: Index) -> Retriever:
        """Return a retriever over an index.

        Args:
            name: The name of the retriever, which may end in `:` and an embedder.
            index: The index.

        Raises:
            UsageError: If there is no such retriever.
        """
        kind, embedder = split_retriever(name)
        given = [embedder] if embedder else []
        retriever: Retriever = self.make("retriever", kind, index, *given)
        return retriever

    def search(self, name: str) -> Search:
        """Return the search of a run: a retriever whose rankings are recorded and replayed.

        The retriever is made at the first ranking that no record has, so never in a replay.

        Args:
            name: The name of the retriever.
        """
        unrecorded = {"k", "retriever", "rerank_weight", "rerank_most"}
        if not self.settings.retrieval.embedders:
            unrecorded |= {"embedders", "embedder_weights"}
        if self.settings.retrieval.definitions == RetrievalSettings().definitions:
            unrecorded |= {"definitions"}
        identity = self.settings.retrieval.model_dump(mode="json", exclude=unrecorded)
        query_encoder = self.settings.models.query_encoder
        if query_encoder != "same":
            identity["query_encoder"] = {"name": query_encoder, "sha256": SHA256[query_encoder]}
        if name in self.settings.extensions:
            identity["settings"] = self.settings.extensions[name]
        return Search(
            open_retriever=cache(lambda: self.retriever(name, self._index())),
            open_fallback=cache(lambda: KeywordRetriever(self._index())),
            identity={**identity, "retriever": name, "embedder": self.settings.models.embedder},
        )

    def select_hits(self, hits: Sequence[Hit]) -> tuple[Hit, ...]:
        """Return the hits of a ranking to read: the best ones within the limits of `[ask]`."""
        ask = self.settings.ask
        best = tuple(hits[: ask.chunks])
        if not ask.context_tokens:
            return best
        from fathom.retrieval.context_selection import pack_hits

        return pack_hits(best, tokens=ask.context_tokens, count=self.embedder.count)

    def multihop(self, search: Search) -> "MultiHop":
        """Return the search that follows anchors and bridges."""
        from fathom.retrieval.multihop import MultiHop

        return MultiHop(
            search=search,
            extract_terms=self.terms,
            settings=self.settings.get_section(AnchorSettings),
        )

    @cached_property
    def context_selector(self) -> "ContextSelector":
        """The selector of the chunks of a pool to read."""
        from fathom.retrieval.context_selection import ContextSelector, Selection

        selection = Selection(
            extract_terms=self.terms, settings=self.settings.get_section(AnchorSettings)
        )
        return ContextSelector(selection=selection, count_tokens=self.embedder.count)
