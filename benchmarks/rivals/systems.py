"""Fathom and four others behind one interface, each as its own documentation recommends.

Every system searches by words and by vectors and fuses both; each runs in an environment of its
own, so imports stand where they are used. What was chosen, and why:

- LangChain: `EnsembleRetriever` over `BM25Retriever` and `FAISS`, half the weight each. The
  retriever for words cannot be saved, so it is pickled, which is the quickest way to have it back.
- LlamaIndex: `QueryFusionRetriever` (reciprocal ranks) over `BM25Retriever` (bm25s, stemmed) and a
  `VectorStoreIndex` in FAISS, one query, no further ones by a language model.
- Haystack: `InMemoryBM25Retriever` and `FAISSEmbeddingRetriever`, joined by reciprocal ranks; its
  in-memory store for vectors also works but is a hundred times slower.
- txtai: `Embeddings(hybrid=True, content=True)`, all else its defaults.
- Fathom: its defaults.

Each returns texts, not only names, as an answer needs them. None of the others has a reader of its
own that needs no language model, so each gives its best texts to Fathom's cross-reader and says the
likeliest span. Fathom answers by its defaults: quotes verified, with a confidence, or not at all.
"""

import gzip
import json
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks.rivals.adapters import make_langchain_embeddings, make_llamaindex_embedding
from benchmarks.rivals.embedder import TimedEmbedder
from benchmarks.rivals.reader import SharedReader

K = 10


class System(ABC):
    """A system whose index is in a folder."""

    @abstractmethod
    def ingest(self, documents: Mapping[str, str]) -> None:
        """Index these texts in the folder."""

    @abstractmethod
    def open(self) -> None:
        """Load the index."""

    @abstractmethod
    def search(self, text: str) -> dict[str, str]:
        """Return the texts of the best documents by name, best first."""

    def answer(self, text: str) -> str:
        """Return the answer to a question; empty for none."""
        return self._reader.answer(text, list(self.search(text).values()))

    @cached_property
    def _reader(self) -> SharedReader:
        return SharedReader()


class Fathom(System):
    """Reads its documents from a file and parses them in its sandbox, like documents of users."""

    def __init__(self, folder: Path, embedder: TimedEmbedder) -> None:
        from fathom.engine import Engine
        from fathom.settings.tree import IndexSettings, Settings

        self._corpus = folder / "corpus"
        settings = Settings(index=IndexSettings(directory=folder / "index"))
        self._engine = Engine(settings, embedder=embedder)

    def ingest(self, documents: Mapping[str, str]) -> None:
        """Write the documents to a file and ingest it."""
        self._corpus.mkdir(parents=True, exist_ok=True)
        with gzip.open(self._corpus / "corpus.jsonl.gz", "wt", compresslevel=1) as file:
            for name, text in documents.items():
                file.write(json.dumps({"_id": name, "title": "", "text": text}) + "\n")
        self._engine.ingest([self._corpus])

    def open(self) -> None:
        """Open the engine."""

    def search(self, text: str) -> dict[str, str]:
        """Search with the default retriever."""
        hits = self._engine.search(text, k=K)
        return {hit.chunk.document_id: hit.chunk.text for hit in hits}

    def answer(self, text: str) -> str:
        """Ask the engine."""
        return self._engine.ask(text).answer


class LangChain(System):
    """LangChain with its recommended parts."""

    def __init__(self, folder: Path, embedder: TimedEmbedder) -> None:
        self._folder, self._given = folder, make_langchain_embeddings(embedder)

    def ingest(self, documents: Mapping[str, str]) -> None:
        """Index the documents."""
        from langchain_community.retrievers import BM25Retriever
        from langchain_community.vectorstores import FAISS
        from langchain_core.documents import Document

        entries = [
            Document(page_content=text, metadata={"name": name}) for name, text in documents.items()
        ]
        FAISS.from_documents(entries, self._given).save_local(str(self._folder))
        words = BM25Retriever.from_documents(entries, k=K)
        with (self._folder / "words.pickle").open("wb") as file:
            pickle.dump(words, file)

    def open(self) -> None:
        """Load the index."""
        from langchain_classic.retrievers import EnsembleRetriever
        from langchain_community.vectorstores import FAISS

        store = FAISS.load_local(
            str(self._folder), self._given, allow_dangerous_deserialization=True
        )
        with (self._folder / "words.pickle").open("rb") as file:
            words = pickle.load(file)  # written by `ingest`
        near = store.as_retriever(search_kwargs={"k": K})
        self._both = EnsembleRetriever(retrievers=[words, near], weights=[0.5, 0.5])

    def search(self, text: str) -> dict[str, str]:
        """Search with words and vectors."""
        hits = self._both.invoke(text)[:K]
        return {hit.metadata["name"]: hit.page_content for hit in hits}


class LlamaIndex(System):
    """LlamaIndex with its recommended parts."""

    def __init__(self, folder: Path, embedder: TimedEmbedder) -> None:
        from llama_index.core import Settings
        from llama_index.core.llms import MockLLM

        self._folder, self._dimension = folder, embedder.dimension
        Settings.embed_model = make_llamaindex_embedding(embedder)
        Settings.llm = MockLLM()

    def ingest(self, documents: Mapping[str, str]) -> None:
        """Index the documents."""
        import faiss
        from llama_index.core import StorageContext, VectorStoreIndex
        from llama_index.core.schema import TextNode
        from llama_index.vector_stores.faiss import FaissVectorStore

        nodes = [TextNode(id_=name, text=text) for name, text in documents.items()]
        store = FaissVectorStore(faiss_index=faiss.IndexFlatL2(self._dimension))
        context = StorageContext.from_defaults(vector_store=store)
        VectorStoreIndex(nodes, storage_context=context)
        context.persist(str(self._folder / "vectors"))
        self._iter_words(nodes).persist(str(self._folder / "words"))

    def _iter_words(self, nodes: list[Any]) -> Any:  # noqa: ANN401 - of the other environment
        import Stemmer
        from llama_index.retrievers.bm25 import BM25Retriever

        return BM25Retriever.from_defaults(
            nodes=nodes, similarity_top_k=K, stemmer=Stemmer.Stemmer("english"), language="english"
        )

    def open(self) -> None:
        """Load the index."""
        from llama_index.core import StorageContext, load_index_from_storage
        from llama_index.core.retrievers import QueryFusionRetriever
        from llama_index.retrievers.bm25 import BM25Retriever
        from llama_index.vector_stores.faiss import FaissVectorStore

        place = str(self._folder / "vectors")
        context = StorageContext.from_defaults(
            vector_store=FaissVectorStore.from_persist_dir(place), persist_dir=place
        )
        near = load_index_from_storage(context).as_retriever(similarity_top_k=K)
        words = BM25Retriever.from_persist_dir(str(self._folder / "words"))
        self._both = QueryFusionRetriever(
            [near, words],
            similarity_top_k=K,
            num_queries=1,
            mode="reciprocal_rerank",
            use_async=False,
        )

    def search(self, text: str) -> dict[str, str]:
        """Search with words and vectors."""
        return {hit.node.node_id: hit.node.text for hit in self._both.retrieve(text)}


class Haystack(System):
    """Haystack with its recommended parts."""

    def __init__(self, folder: Path, embedder: TimedEmbedder) -> None:
        self._folder, self._embedder = folder, embedder

    def _open_vector_store(self) -> Any:  # noqa: ANN401 - of the other environment
        from haystack_integrations.document_stores.faiss import FAISSDocumentStore

        return FAISSDocumentStore(
            index_path=str(self._folder / "vectors"), embedding_dim=self._embedder.dimension
        )

    def ingest(self, documents: Mapping[str, str]) -> None:
        """Index the documents."""
        from haystack import Document
        from haystack.document_stores.in_memory import InMemoryDocumentStore

        vectors = self._embedder.embed(list(documents.values())).tolist()
        near, words = self._open_vector_store(), InMemoryDocumentStore()
        near.write_documents(
            [
                Document(id=name, content=text, embedding=vector)
                for (name, text), vector in zip(documents.items(), vectors, strict=True)
            ]
        )
        near.save(str(self._folder / "vectors"))
        words.write_documents([Document(id=name, content=text) for name, text in documents.items()])
        words.save_to_disk(str(self._folder / "words.json"))

    def open(self) -> None:
        """Load the index."""
        from haystack import Pipeline, component
        from haystack.components.joiners import DocumentJoiner
        from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
        from haystack.document_stores.in_memory import InMemoryDocumentStore
        from haystack_integrations.components.retrievers.faiss import FAISSEmbeddingRetriever

        embedder = self._embedder

        @component
        class Given:
            @component.output_types(embedding=list[float])
            def run(self, text: str) -> dict[str, list[float]]:
                return {"embedding": embedder.embed([text])[0].tolist()}

        words = InMemoryDocumentStore.load_from_disk(str(self._folder / "words.json"))
        both = Pipeline()
        both.add_component("embedder", Given())
        both.add_component(
            "near", FAISSEmbeddingRetriever(document_store=self._open_vector_store(), top_k=K)
        )
        both.add_component("words", InMemoryBM25Retriever(document_store=words, top_k=K))
        both.add_component("join", DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=K))
        both.connect("embedder.embedding", "near.query_embedding")
        both.connect("near", "join")
        both.connect("words", "join")
        self._both = both

    def search(self, text: str) -> dict[str, str]:
        """Search with words and vectors."""
        hits = self._both.run({"embedder": {"text": text}, "words": {"query": text}})
        return {document.id: document.content for document in hits["join"]["documents"]}


class Txtai(System):
    """Txtai with its recommended parts."""

    def __init__(self, folder: Path, embedder: TimedEmbedder) -> None:
        import torch
        from txtai import Embeddings

        torch.set_num_threads(1)  # nothing is computed with it here

        def embed_given(texts: list[str]) -> Any:  # noqa: ANN401 - a function, as it refuses methods
            return embedder.embed(texts)

        self._folder, self._given = folder, {"transform": embed_given}
        self._both = Embeddings(method="external", hybrid=True, content=True, **self._given)

    def ingest(self, documents: Mapping[str, str]) -> None:
        """Index the documents."""
        self._both.index(documents.items())
        self._both.save(str(self._folder / "txtai"))

    def open(self) -> None:
        """Load the index."""
        self._both.load(str(self._folder / "txtai"), config=self._given)

    def search(self, text: str) -> dict[str, str]:
        """Search with words and vectors."""
        return {hit["id"]: hit["text"] for hit in self._both.search(text, K)}


SYSTEMS: Mapping[str, Callable[[Path, TimedEmbedder], System]] = {
    "fathom": Fathom,
    "langchain": LangChain,
    "llamaindex": LlamaIndex,
    "haystack": Haystack,
    "txtai": Txtai,
}
