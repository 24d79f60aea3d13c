"""Fathom's embedder as each framework wants one, in the framework's own environment."""

from typing import Any

from benchmarks.rivals.embedder import TimedEmbedder


def make_langchain_embeddings(embedder: TimedEmbedder) -> Any:  # noqa: ANN401 - of the other environment
    """Return the embedder as LangChain's `Embeddings`."""
    from langchain_core.embeddings import Embeddings

    class Given(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return embedder.embed(texts).tolist()

        def embed_query(self, text: str) -> list[float]:
            return embedder.embed([text])[0].tolist()

    return Given()


def make_llamaindex_embedding(embedder: TimedEmbedder) -> Any:  # noqa: ANN401 - of the other environment
    """Return the embedder as LlamaIndex's `BaseEmbedding`."""
    from llama_index.core.embeddings import BaseEmbedding

    class Given(BaseEmbedding):
        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return embedder.embed(texts).tolist()

        def _get_text_embedding(self, text: str) -> list[float]:
            return embedder.embed([text])[0].tolist()

        _get_query_embedding = _get_text_embedding

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

    return Given(embed_batch_size=2048)
