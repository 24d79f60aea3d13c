"""The facade: builds everything from the settings; ingest, search, ask.

The only file that knows which parts stand behind the protocols.
"""

import asyncio
import os
import time
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Self

from fathom.agents.content import ContentTerms
from fathom.agents.finalizer import finalize
from fathom.agents.reader import Reader as EvidenceReader
from fathom.agents.reader import SentenceReader
from fathom.config import Settings
from fathom.documents.chunk import Chunker, StructureChunker
from fathom.documents.chunk_fixed import FixedCharacters, FixedTokens
from fathom.documents.discover import discover
from fathom.documents.guard import Cage
from fathom.documents.language import detect
from fathom.documents.limits import Limits
from fathom.documents.parse import VERSION as PARSERS_VERSION
from fathom.errors import UsageError
from fathom.index.analyzer import Analyzer
from fathom.index.base import Reader, Status, Summary
from fathom.index.embedded import open_reader, open_writer, verify
from fathom.index.ingest import Ingester, Progress, Report
from fathom.models.base import Embedder
from fathom.models.embedder import load_embedder
from fathom.retrieval.base import Retriever
from fathom.retrieval.fusion import ReciprocalRank, WeightedSum
from fathom.retrieval.hybrid import HybridRetriever
from fathom.retrieval.keyword import KeywordRetriever
from fathom.retrieval.vector import VectorRetriever
from fathom.types import Answer, Document, Filter, Hit, Query
from fathom.usage import Usage

MAX_QUESTION_CHARS = 100_000


class Engine:
    """Fathom over one index directory; a context manager that closes what it opened."""

    def __init__(
        self, settings: Settings | None = None, *, embedder: Embedder | None = None
    ) -> None:
        """Nothing is loaded or opened before it is needed.

        Args:
            settings: By default the defaults; files and environment are not read here.
            embedder: Used instead of the one that the settings name.
        """
        self.settings = settings or Settings()
        self._embedder = embedder
        self._opened: Reader | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the index; the engine may be used again."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    @property
    def directory(self) -> Path:
        """Where the index lies."""
        return self.settings.index.directory

    @cached_property
    def embedder(self) -> Embedder:
        """What turns texts into vectors."""
        if self._embedder is not None:
            return self._embedder
        models = self.settings.models
        return load_embedder(
            models.embedder,
            runtime=models.runtime,
            threads=models.threads,
            offline=self.settings.offline,
        )

    @cached_property
    def chunker(self) -> Chunker:
        """The chunker that the settings name."""
        chunking = self.settings.chunking
        if chunking.method == "characters":
            return FixedCharacters(size=chunking.size, overlap=chunking.overlap)
        count = self.embedder.count
        if chunking.method == "tokens":
            return FixedTokens(count, size=chunking.size, overlap=chunking.overlap)
        return StructureChunker(count, max_tokens=chunking.max_tokens)

    @cached_property
    def identity(self) -> dict[str, str]:
        """All that must agree between the index and those who read it."""
        parts = {
            "embedder": {**self.embedder.identity, "dimension": str(self.embedder.dimension)},
            "chunker": self.chunker.identity,
            "analyzer": Analyzer().identity,
            "parsers": {"version": PARSERS_VERSION},
        }
        return {
            f"{part}.{name}": value
            for part, identity in parts.items()
            for name, value in identity.items()
        }

    def ingest(
        self,
        paths: Sequence[Path],
        *,
        prune: bool = False,
        rebuild: bool = False,
        on_progress: Progress = lambda _report, _files: None,
    ) -> Report:
        """Bring the index in line with files and folders.

        Args:
            paths: Files, folders, BEIR folders.
            prune: Also remove documents whose file below `paths` is gone.
            rebuild: Start from an empty index, also where the old one had another identity.
            on_progress: Told the counts so far, whenever they change.

        Raises:
            UsageError: If a path is missing or there is no file below the paths.
            IndexMismatch: If the index was made with other settings, unless `rebuild`.
            IndexLocked: If another process is writing.
        """
        _check_paths(paths)
        self.close()
        limits = self.settings.limits
        caps = Limits(
            memory_bytes=limits.memory_mb << 20,
            cpu_s=limits.cpu_s,
            wall_s=limits.wall_s,
            file_bytes=limits.file_mb << 20,
        )
        index = self.settings.index
        with (
            open_writer(
                self.directory,
                self.identity,
                durability=index.durability,
                ann_from_chunks=index.ann_from_chunks,
                fresh=rebuild,
            ) as writer,
            Cage(caps) as cage,
        ):
            ingester = Ingester(
                writer=writer,
                embedder=self.embedder,
                chunker=self.chunker,
                cage=cage,
                batch_documents=self.settings.ingest.batch_documents,
                on_progress=on_progress,
            )
            return ingester.run(paths, prune=prune)

    def search(
        self,
        text: str,
        *,
        k: int | None = None,
        retriever: str | None = None,
        filters: Sequence[Filter] = (),
    ) -> list[Hit]:
        """The `k` best hits for a query.

        Raises:
            UsageError: If the query is empty or too long, or `k` is below 1.
            IndexMissing: If nothing has been ingested.
            IndexMismatch: If the index was made with another embedder.
        """
        _check_question(text)
        chosen = self.settings.retrieval.k if k is None else k
        if chosen < 1:
            raise UsageError(f"k = {chosen}: ask for at least 1 hit")
        query = Query(text=text, filters=tuple(filters))
        return self.retriever(retriever).retrieve(query, k=chosen)

    def ask(self, question: str, *, filters: Sequence[Filter] = ()) -> Answer:
        """Answer from the documents, or say that they do not hold an answer.

        Raises:
            UsageError: If the question is empty or too long.
            IndexMissing: If nothing has been ingested.
        """
        return asyncio.run(self.aask(question, filters=filters))

    async def aask(self, question: str, *, filters: Sequence[Filter] = ()) -> Answer:
        """See `ask`."""
        started = time.perf_counter()
        settings = self.settings.ask
        hits = self.search(question, k=settings.chunks, filters=filters)
        draft = await self.evidence_reader.read(question, hits)
        return finalize(
            question,
            draft,
            lookup=self.reader().document,
            min_confidence=settings.min_confidence,
            usage=Usage(retrievals=1, seconds=time.perf_counter() - started),
            phase="read",
        )

    @cached_property
    def evidence_reader(self) -> EvidenceReader:
        """The agent that reads hits."""
        return SentenceReader(
            embedder=self.embedder,
            terms=ContentTerms(),
            sentences=self.settings.ask.sentences,
        )

    def retriever(self, name: str | None = None) -> Retriever:
        """The retriever of this name, by default that of the settings.

        Raises:
            UsageError: If there is none of this name.
        """
        settings = self.settings.retrieval
        name = name or settings.retriever
        index = self.reader(checked=name != "keyword")
        if name == "keyword":
            return KeywordRetriever(index)
        if name == "vector":
            return VectorRetriever(index, self.embedder)
        if name == "hybrid":
            fusion = ReciprocalRank(settings.rrf_k) if settings.fusion == "rrf" else WeightedSum()
            return HybridRetriever(
                index=index,
                embedder=self.embedder,
                fusion=fusion,
                weights=self._weights,
                candidates=settings.candidates,
            )
        raise UsageError(f"retriever {name!r}: choose vector, keyword or hybrid")

    def _weights(self, text: str) -> tuple[float, float]:
        settings = self.settings.retrieval
        foreign = detect(text) not in {"en", "und"}
        vector = settings.foreign_vector_weight if foreign else settings.vector_weight
        return vector, settings.keyword_weight

    def documents(self) -> Iterator[Summary]:
        """All documents, ordered by path."""
        return self.reader(checked=False).documents()

    def document(self, name: str) -> Document:
        """The document with this id or path.

        Raises:
            UsageError: If there is none.
        """
        index = self.reader(checked=False)
        source = index.source(name) or index.source(os.path.abspath(name))  # noqa: PTH100
        found = index.document(source.document_id if source and source.document_id else name)
        if found is None:
            raise UsageError(f"no document {name!r}; `fathom docs list` shows ids and paths")
        return found

    def remove(self, names: Sequence[str]) -> int:
        """Remove documents by id or path, with every place they were read from.

        Raises:
            UsageError: If one of them is not there; then none is removed.
        """
        found = {self.document(name).id for name in names}
        self.close()
        with open_writer(self.directory, None, durability=self.settings.index.durability) as writer:
            places = [source.path for source in writer.sources() if source.document_id in found]
            return writer.forget(places)

    def status(self) -> Status:
        """Counts, sizes and identity of the index."""
        return self.reader(checked=False).status()

    def verify(self, *, fix: bool = False) -> list[str]:
        """What is wrong with the index, in words; empty when it is sound."""
        self.close()
        return verify(self.directory, fix=fix)

    def reader(self, *, checked: bool = True) -> Reader:
        """The open index.

        Args:
            checked: Whether it must have been made with the settings' own identity; looking at
                documents does not need that, and spares loading the model.

        Raises:
            IndexMissing: If there is none.
            IndexMismatch: If it was made with other settings.
        """
        if self._opened is None:
            self._opened = open_reader(self.directory, self.identity if checked else None)
        return self._opened


def _check_paths(paths: Sequence[Path]) -> None:
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path}: no such file or folder")
    if not any(True for _ in discover(paths)):
        places = ", ".join(str(path) for path in paths)
        raise UsageError(f"{places}: no file to ingest there (hidden ones are skipped)")


def _check_question(text: str) -> None:
    if not text.strip():
        raise UsageError("the question is empty")
    if len(text) > MAX_QUESTION_CHARS:
        raise UsageError(
            f"the question has {len(text)} characters, at most {MAX_QUESTION_CHARS} are read; "
            "ingest long text as a document and ask about it"
        )
