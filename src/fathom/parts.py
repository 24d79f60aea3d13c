"""The parts: everything that the settings name, made when it is first needed.

With the engine, the only place that knows which parts stand behind the protocols.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, cached_property
from threading import Lock
from typing import TYPE_CHECKING

from fathom.agents.content import ContentTerms
from fathom.documents.chunk import Chunker, StructureChunker
from fathom.documents.chunk_fixed import FixedCharacters, FixedTokens
from fathom.documents.language import detect, question_language
from fathom.documents.limits import Limits
from fathom.documents.parse import VERSION as PARSERS_VERSION
from fathom.domains.domain import Domain, load_domain
from fathom.errors import ModelError, UsageError
from fathom.index.analyzer import Analyzer
from fathom.index.base import Reader
from fathom.jsonable import Json
from fathom.models.base import Embedder
from fathom.models.cached import CachedEmbedder
from fathom.models.checked import CheckedEmbedder
from fathom.models.embedder import load_embedder
from fathom.models.reading import CrossReader
from fathom.models.shipped import load_readers
from fathom.retrieval.base import Retriever
from fathom.retrieval.expansion import Feedback
from fathom.retrieval.feedback import KeywordFeedback, VectorFeedback
from fathom.retrieval.fusion import ReciprocalRank, WeightedSum
from fathom.retrieval.hybrid import HybridRetriever
from fathom.retrieval.keyword import KeywordRetriever
from fathom.retrieval.lead import LeadRetriever
from fathom.retrieval.search import Search
from fathom.retrieval.sentence import SentenceRetriever
from fathom.retrieval.vector import VectorRetriever
from fathom.settings import Settings
from fathom.types import Chunk, Span
from fathom.usage import Budget

if TYPE_CHECKING:  # language models are imported where a role has one
    from fathom.roles import Roles
    from fathom.strategies.cast import Cast

RECORDED: Mapping[str, tuple[str, ...]] = {
    "ask": (),
    "domain": (),
    "maf": (),
    "rrf": (),
    "anchor": (),
    "mao": (),
    "hybrid": (),
    "retrieval": (),
    "roles": (),
    "web": ("provider", "base_url", "results"),
    "llm": ("model", "base_url", "max_tokens", "certain", "fallback"),
    "models": ("embedder", "cross_reader", "runtime"),
}
"""The settings that can change an answer: sections, whole or these keys of them."""


WARM = Chunk(id="warm#0", document_id="warm", text="warm", span=Span(0, 4), ordinal=0)


class Parts:
    """Makes each part once."""

    def __init__(
        self,
        settings: Settings,
        embedder: Embedder | None = None,
        cross_reader: CrossReader | None = None,
    ) -> None:
        """Nothing is loaded yet.

        Args:
            settings: What to make.
            embedder: Used instead of the one that the settings name.
            cross_reader: Likewise.
        """
        self.settings = settings
        self.warm = False
        self._warming = Lock()
        self._embedder = embedder
        self._cross_reader = cross_reader

    @cached_property
    def embedder(self) -> Embedder:
        """What turns texts into vectors."""
        models = self.settings.models
        embedder = self._embedder or load_embedder(
            models.embedder,
            runtime=models.runtime,
            threads=models.threads,
            offline=self.settings.offline,
        )
        return CheckedEmbedder(embedder)

    @cached_property
    def _remembering(self) -> Embedder:
        return CachedEmbedder(self.embedder)

    @cached_property
    def cross_reader(self) -> CrossReader:
        """What reads a question and a chunk together."""
        if self._cross_reader is not None:
            return self._cross_reader
        models = self.settings.models
        return load_readers(
            models.cross_reader,
            question_language,
            runtime=models.runtime,
            threads=models.threads,
        )

    @cached_property
    def domain(self) -> Domain:
        """What is known of the subject of the documents.

        Raises:
            SettingsError: If its file is not as it should be.
        """
        return load_domain(self.settings.domain.file)

    @cached_property
    def chunker(self) -> Chunker:
        """What cuts documents."""
        chunking = self.settings.chunking
        if chunking.method == "characters":
            return FixedCharacters(size=chunking.size, overlap=chunking.overlap)
        count = self.embedder.count
        if chunking.method == "tokens":
            return FixedTokens(count, size=chunking.size, overlap=chunking.overlap)
        return StructureChunker(count, max_tokens=chunking.max_tokens)

    @cached_property
    def identity(self) -> dict[str, str]:
        """All that must agree between the index and those who write to it."""
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

    @cached_property
    def query_identity(self) -> dict[str, str]:
        """What must agree between the index and those who search it: what queries are made with."""
        made_with = ("embedder.", "analyzer.")
        return {key: value for key, value in self.identity.items() if key.startswith(made_with)}

    @property
    def caps(self) -> Limits:
        """What one file may cost while it is parsed."""
        limits = self.settings.limits
        return Limits(
            memory_bytes=limits.memory_mb << 20,
            cpu_s=limits.cpu_s,
            wall_s=limits.wall_s,
            file_bytes=limits.file_mb << 20,
        )

    @property
    def budget(self) -> Budget:
        """What one question may spend."""
        return Budget(**self.settings.budget.model_dump())

    @cached_property
    def recorded(self) -> dict[str, Json]:
        """The settings that a trace keeps: those that can change an answer."""
        kept: dict[str, Json] = {}
        for name, wanted in RECORDED.items():
            section = getattr(self.settings, name).model_dump(mode="json")
            kept[name] = {k: v for k, v in section.items() if k in wanted or not wanted}
        return kept

    def retriever(self, name: str, index: Reader) -> Retriever:
        """The retriever of this name over an index.

        Raises:
            UsageError: If there is none of this name.
        """
        makers: Mapping[str, Callable[[Reader], Retriever]] = {
            "vector": lambda index: VectorRetriever(index, self.embedder),
            "keyword": KeywordRetriever,
            "hybrid": self._hybrid,
            "lead": lambda index: LeadRetriever(index, self.embedder),
            "sentence": lambda index: SentenceRetriever(
                first=VectorRetriever(index, self.embedder), embedder=self._remembering
            ),
            "vector_feedback": lambda index: VectorFeedback(index=index, embedder=self.embedder),
            "keyword_feedback": lambda index: KeywordFeedback(
                index=index, feedback=Feedback(words=ContentTerms().words, hits=5, count=5)
            ),
        }
        if name not in makers:
            raise UsageError(f"retriever {name!r}: choose one of {', '.join(makers)}")
        return makers[name](index)

    def _hybrid(self, index: Reader) -> HybridRetriever:
        settings = self.settings.retrieval
        fusion = ReciprocalRank(settings.rrf_k) if settings.fusion == "rrf" else WeightedSum()
        return HybridRetriever(
            index=index,
            embedder=self.embedder,
            fusion=fusion,
            weights=self._weights,
            candidates=settings.candidates,
        )

    def _weights(self, text: str) -> tuple[float, float]:
        settings = self.settings.retrieval
        foreign = detect(text) not in {"en", "und"}
        vector = settings.foreign_vector_weight if foreign else settings.vector_weight
        return vector, settings.keyword_weight

    def search(self, name: str, index: Callable[[], Reader]) -> Search:
        """The retriever of this name as runs use it; made when a ranking is not recorded."""
        later = {"k", "retriever", "rerank_weight", "rerank_most"}  # no ranking depends on them
        identity = self.settings.retrieval.model_dump(exclude=later)
        return Search(
            retriever=cache(lambda: self.retriever(name, index())),
            spare=cache(lambda: KeywordRetriever(index())),
            identity={
                **identity,
                "retriever": name,
                "embedder": self.settings.models.embedder,
            },
        )

    def warm_up(self) -> None:
        """Load what a question needs, so that none has to wait for it within its budget.

        Who calls it while another thread is at it waits for that; once is enough.
        """
        with self._warming:
            if self.warm:
                return
            with suppress(ModelError):  # searches fall back on words then, and say so
                self.embedder.embed(["warm"])
            self.cross_reader.session("warm").read([WARM])
            self.warm = True

    def cast(self, roles: "Roles") -> "Cast":
        """The agents with the minds that the settings give them."""
        from fathom.strategies.cast import Cast  # LangGraph takes a second to import

        return Cast(
            settings=self.settings,
            embedder=self.embedder,
            cross_reader=self.cross_reader,
            terms=ContentTerms(),
            domain=self.domain,
            model=roles.model,
            web_engine=roles.web_engine,
        )
