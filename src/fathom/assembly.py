"""Assembly: the one composition root; builds every part from the settings, when it is first needed.

What stands behind the protocols is known here alone. Parts are imported by who asks for them, as
no question needs all of them.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

from fathom.agents.finalizer import Finalizer
from fathom.documents.base import Limits
from fathom.documents.chunking.base import Chunker
from fathom.documents.chunking.fixed import FixedCharacters, FixedTokens
from fathom.documents.chunking.structure import StructureChunker
from fathom.documents.parse import VERSION as PARSERS_VERSION
from fathom.domains.domain import Domain, load_domain
from fathom.errors import ModelError, UsageError
from fathom.extensions import Extension, Kind, check_name, find
from fathom.index.base import Reader as Index
from fathom.index.base import Space
from fathom.llm.retry import RetryPolicy
from fathom.llm.role_models import Connect, RoleModels
from fathom.models.base import Embedder, for_questions
from fathom.models.cached import CachedEmbedder
from fathom.models.checked import CheckedEmbedder
from fathom.models.embedder import load_embedder
from fathom.models.reading import CrossReader
from fathom.models.shipped import load_readers
from fathom.retrieval.base import Retriever
from fathom.retrieval.expansion import Feedback
from fathom.retrieval.feedback import KeywordFeedback, VectorFeedback
from fathom.retrieval.fusion import ReciprocalRank, WeightedSum
from fathom.retrieval.hybrid import HybridRetriever, VectorSide
from fathom.retrieval.keyword import KeywordRetriever
from fathom.retrieval.lead import LeadRetriever
from fathom.retrieval.quotes import Quotes
from fathom.retrieval.search import Search
from fathom.retrieval.sentence import SentenceRetriever
from fathom.retrieval.vector import VectorRetriever
from fathom.settings import Settings
from fathom.settings.extended import ExtendedSettings, SectionT
from fathom.settings.retrievers import split
from fathom.text.analyzer import Analyzer
from fathom.text.content_words import ContentTerms
from fathom.text.language import detect, question_language
from fathom.types import Chunk, Span
from fathom.usage import Budget

if TYPE_CHECKING:
    from fathom.agents.aggregator import Aggregator
    from fathom.agents.classifier import Classifier
    from fathom.agents.complexity import ComplexityAnalyser
    from fathom.agents.debate import Debate
    from fathom.agents.debater import Debater
    from fathom.agents.decomposer import Decomposer, LocalDecomposer
    from fathom.agents.features import Observer
    from fathom.agents.hyde import Hypothesis
    from fathom.agents.judge import Judge, LocalJudge
    from fathom.agents.keyword_filter import KeywordFilter
    from fathom.agents.planner import Planner
    from fathom.agents.reader import LocalReader, Reader
    from fathom.agents.reorderer import Reorderer
    from fathom.agents.rewriter import Rewriter
    from fathom.agents.selector import Selector
    from fathom.agents.semantic_filter import SemanticFilter
    from fathom.agents.summarizer import Summarizer
    from fathom.agents.web import WebEngine, WebSearch
    from fathom.retrieval.context_selection import ContextSelector
    from fathom.retrieval.multihop import MultiHop
    from fathom.retrieval.rerank import Reranker

SERVED = "openai:"
"""Begins the names of embedders that a server gives."""
FURTHER_WEIGHT = 0.4
WARM = Chunk(id="warm#0", document_id="warm", text="warm", span=Span(0, 4), ordinal=0)


class Assembly:
    """Makes each part once; see `Strategy` for what a strategy takes of it."""

    def __init__(
        self,
        settings: Settings,
        *,
        index: Callable[[], Index],
        embedder: Embedder | None = None,
        cross_reader: CrossReader | None = None,
        connect: Connect | None = None,
    ) -> None:
        """Nothing is loaded or opened yet.

        Args:
            settings: What to make.
            index: Opens the index that searches and quotes look into.
            embedder: Used instead of the one that the settings name.
            cross_reader: Likewise.
            connect: Gives language models instead of those that the settings name.
        """
        self.settings = settings
        self.warm = False
        self._extended = ExtendedSettings(settings.extensions)
        self._index = index
        self._embedder = embedder
        self._cross_reader = cross_reader
        self._connect = connect
        self._warming = Lock()

    # The local models, and what is made with them.

    @cached_property
    def embedder(self) -> Embedder:
        """What turns texts into vectors."""
        return CheckedEmbedder(self._searched)

    @cached_property
    def _searched(self) -> Embedder:
        return self._embedder or self._load_embedder(self.settings.models.embedder)

    @cached_property
    def asked(self) -> Embedder:
        """What turns questions into vectors that are compared with those of texts."""
        return CheckedEmbedder(for_questions(self._searched))

    @cached_property
    def further(self) -> Mapping[str, Embedder]:
        """The embedders of further vector spaces, by the names of these."""
        return {name: self._load_embedder(name) for name in self.settings.retrieval.embedders}

    def _load_embedder(self, name: str) -> Embedder:
        models = self.settings.models
        if name.startswith(SERVED):
            return self._served_embedder(name)
        return load_embedder(
            name, runtime=models.runtime, threads=models.threads, offline=self.settings.offline
        )

    def _served_embedder(self, name: str) -> Embedder:
        from fathom.llm.embeddings import ServedEmbedder, embedding_endpoint

        own = self.settings.embedding
        endpoint = embedding_endpoint(
            name, base_url=own.base_url, key_env=own.key_env, offline=self.settings.offline
        )
        policy = RetryPolicy(tries=own.tries)
        return ServedEmbedder(endpoint, batch=own.batch, seconds=own.seconds, policy=policy)

    @property
    def spaces(self) -> list[Space]:
        """The further vector spaces that the index is to have."""
        return [Space(name=name, identity=each.identity) for name, each in self.further.items()]

    def side(self, name: str) -> VectorSide:
        """The embedder of questions and the space of this name; `""` is `models.embedder`.

        Raises:
            UsageError: If the settings name no such embedder.
        """
        if name in {"", self.settings.models.embedder}:
            return VectorSide(embedder=self.asked)
        if name not in self.settings.retrieval.embedders:
            raise UsageError(f"no vectors of {name!r} are searched; add it to retrieval.embedders")
        embedder = self.further[name]
        asked = CheckedEmbedder(for_questions(embedder))
        return VectorSide(embedder=asked, space=Space(name=name, identity=embedder.identity))

    @cached_property
    def cross_reader(self) -> CrossReader:
        """What reads a question and a chunk together."""
        models = self.settings.models
        return self._cross_reader or load_readers(
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
    def terms(self) -> ContentTerms:
        """Finds the distinct content words of a text, stemmed."""
        return ContentTerms()

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
    def parse_limits(self) -> Limits:
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

    # Language models, and who asks the web.

    @cached_property
    def models(self) -> RoleModels:
        """The language models of the roles."""
        return RoleModels(self.settings, connect=self._connect)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The keys of all that was made so far."""
        engine = self.__dict__.get("web_engine")
        web = (engine.key.get_secret_value(),) if engine and engine.key else ()
        return (*self.models.secrets, *web)

    def prepare(self) -> None:
        """Make all that the settings name, so that what is wrong with it is known at once.

        Raises:
            UsageError: See `RoleModels.of` and `load_web_engine`.
        """
        self.models.prepare()
        if self.settings.web.provider:
            _ = self.web_engine

    @cached_property
    def web_engine(self) -> "WebEngine":
        """What asks the web; only called where a search is not recorded.

        Raises:
            UsageError: As `load_web_engine`.
        """
        from fathom.agents.web_engines import load_web_engine

        web = self.settings.web
        return load_web_engine(
            web.provider,
            base_url=web.base_url,
            key_env=web.key_env,
            offline=self.settings.offline,
            most_bytes=web.max_kb << 10,
        )

    # Retrievers.

    def retriever(self, name: str, index: Index) -> Retriever:
        """The retriever of this name over an index.

        Raises:
            UsageError: If there is none of this name.
        """
        if name in RETRIEVERS:
            return RETRIEVERS[name](self, index)
        kind, embedder = split(name)
        if not embedder:
            added: Retriever = self.extension("retriever", name, index)
            return added
        side = self.side(embedder)
        if kind == "vector":
            return VectorRetriever(index, side.embedder, name, side.space)
        return self._fused(index, name, [embedder])

    # What other packages add.

    def extension(self, kind: Kind, name: str, *given: object) -> Any:  # noqa: ANN401
        """The strategy or the retriever that a package adds under this name.

        Args:
            kind: Which of both.
            name: As it is registered.
            given: What its class takes beside these parts.

        Raises:
            UsageError: If there is none, it cannot be used, or its settings are not as it says.
        """
        check_name(kind, name)
        made = cast("Extension", find(kind, name)).make(self, *given)
        self._extended.check_used(name)
        return made

    def section(self, name: str, kind: type[SectionT]) -> SectionT:
        """The settings of an extension: the table `[extensions.NAME]`.

        Args:
            name: Of the strategy or the retriever.
            kind: Says which settings it has, with their defaults.

        Raises:
            SettingsError: If one is unknown or illegal.
        """
        return self._extended.section(name, kind)

    def recorded(self, strategy: str) -> dict[str, Any]:
        """What the trace of an answer keeps of the settings; see `Settings.recorded`."""
        tables = self._extended.recorded(strategy)
        return self.settings.recorded() | ({"extensions": tables} if tables else {})

    @cached_property
    def remembering(self) -> Embedder:
        """The embedder of questions, which is not asked twice for the same text."""
        return CachedEmbedder(self.asked)

    def hybrid(self, index: Index) -> HybridRetriever:
        """The words and all vector spaces, fused."""
        return self._fused(index, "hybrid", ["", *self.settings.retrieval.embedders])

    def _fused(self, index: Index, name: str, spaces: Sequence[str]) -> HybridRetriever:
        settings = self.settings.retrieval
        fusion = ReciprocalRank(settings.rrf_k) if settings.fusion == "rrf" else WeightedSum()
        return HybridRetriever(
            index=index,
            sides=[self.side(space) for space in spaces],
            fusion=fusion,
            weights=lambda text: [
                settings.keyword_weight,
                *(self._vector_weight(space, text) for space in spaces),
            ],
            candidates=settings.candidates,
            name=name,
        )

    def _vector_weight(self, space: str, text: str) -> float:
        settings = self.settings.retrieval
        if space in settings.embedders:
            weights = settings.embedder_weights or [FURTHER_WEIGHT] * len(settings.embedders)
            return weights[settings.embedders.index(space)]
        foreign = detect(text) not in {"en", "und"}
        return settings.foreign_vector_weight if foreign else settings.vector_weight

    def search(self, name: str) -> Search:
        """The retriever of this name as runs use it; made when a ranking is not recorded."""
        later = {"k", "retriever", "rerank_weight", "rerank_most"}  # no ranking depends on them
        if not self.settings.retrieval.embedders:  # as searches were recorded before there were any
            later |= {"embedders", "embedder_weights"}
        identity = self.settings.retrieval.model_dump(mode="json", exclude=later)
        if name in self.settings.extensions:
            identity["settings"] = self.settings.extensions[name]
        return Search(
            retriever=cache(lambda: self.retriever(name, self._index())),
            spare=cache(lambda: KeywordRetriever(self._index())),
            identity={**identity, "retriever": name, "embedder": self.settings.models.embedder},
        )

    def multihop(self, search: Search) -> "MultiHop":
        """Follows anchors and bridges."""
        from fathom.retrieval.multihop import MultiHop

        return MultiHop(search=search, terms=self.terms, settings=self.settings.anchor)

    @cached_property
    def context_selector(self) -> "ContextSelector":
        """Selects from a pool what is read."""
        from fathom.retrieval.context_selection import ContextSelector, Selection

        selection = Selection(terms=self.terms, settings=self.settings.anchor)
        return ContextSelector(selection=selection, count=self.embedder.count)

    @cached_property
    def reranker(self) -> "Reranker":
        """Reorders hits by relevance."""
        from fathom.retrieval.rerank import Reranker

        retrieval = self.settings.retrieval
        return Reranker(
            pairs=self.cross_reader, weight=retrieval.rerank_weight, most=retrieval.rerank_most
        )

    # Agents: the language model's implementation where the role has a model, else the local one.

    @cached_property
    def quotes(self) -> Quotes:
        """Looks up what stands at a place."""
        return Quotes(lambda document: self._index().document(document))

    def finalizer(self, strategy: str) -> Finalizer:
        """The finalizer of a strategy."""
        return Finalizer(
            quotes=self.quotes,
            strategy=strategy,
            min_confidence=self.settings.ask.min_confidence,
        )

    @cached_property
    def web(self) -> "WebSearch | None":
        """Asks the web; `None` where that is off."""
        web = self.settings.web
        if not web.provider:
            return None
        from fathom.agents.web import LIST_PRICES, WebSearch

        return WebSearch(
            engine=lambda: self.web_engine,
            identity={"provider": web.provider, "base_url": web.base_url},
            results=web.results,
            seconds=web.seconds,
            fee_usd=LIST_PRICES[web.provider] if web.fee_usd is None else web.fee_usd,
        )

    @cached_property
    def local_reader(self) -> "LocalReader":
        """The local implementation of the reader."""
        from fathom.agents.reader import LocalReader

        return LocalReader(pairs=self.cross_reader, sentences=self.settings.ask.sentences)

    @cached_property
    def reader(self) -> "Reader":
        """Answers from hits."""
        model = self.models.of("reader")
        if model is None:
            return self.local_reader
        from fathom.agents.reader import LLMReader

        return LLMReader(
            model=model,
            local=self.local_reader,
            judge=self.judge,
            skip_above_confidence=self.settings.llm.skip_above_confidence,
            min_support=self.settings.ask.min_support,
            fallback=self.settings.llm.fallback,
        )

    @cached_property
    def local_judge(self) -> "LocalJudge":
        """The local implementation of the judge."""
        from fathom.agents.judge import LocalJudge

        return LocalJudge(pairs=self.cross_reader)

    @cached_property
    def judge(self) -> "Judge":
        """Says how well quotes support claims."""
        from fathom.agents.judge import LLMJudge

        model = self.models.of("judge")
        return LLMJudge(model=model, local=self.local_judge) if model else self.local_judge

    @cached_property
    def debater(self) -> "Debater":
        """Speaks for one chunk in a debate."""
        from fathom.agents.debater import LLMDebater, LocalDebater

        model = self.models.of("debater")
        local = LocalDebater(pairs=self.cross_reader, settings=self.settings.maf)
        return LLMDebater(model=model, local=local) if model else local

    @cached_property
    def aggregator(self) -> "Aggregator":
        """Says what the agents of a debate come to."""
        from fathom.agents.aggregator import LLMAggregator, LocalAggregator

        model = self.models.of("aggregator")
        local = LocalAggregator(min_share=self.settings.maf.min_share)
        return LLMAggregator(model=model, local=local) if model else local

    @cached_property
    def debate(self) -> "Debate":
        """Lets one agent speak for each of several hits."""
        from fathom.agents.debate import Debate

        own = self.settings.maf
        return Debate(
            debater=self.debater,
            aggregator=self.aggregator,
            rounds=own.rounds,
            feedback=own.feedback,
        )

    @cached_property
    def hypothesis(self) -> "Hypothesis":
        """Says what to search for in a later round; the local stand-in is RM3."""
        from fathom.agents.hyde import LLMHypothesis, LocalHypothesis

        model = self.models.of("hyde")
        local = LocalHypothesis(feedback=Feedback(words=self.terms.words))
        return LLMHypothesis(model=model, local=local) if model else local

    @cached_property
    def classifier(self) -> "Classifier":
        """Says which class of the domain a question belongs to."""
        from fathom.agents.classifier import Classifier

        return Classifier(domain=self.domain)

    @cached_property
    def complexity(self) -> "ComplexityAnalyser":
        """Says how complex a question is, and how the legs are to be weighed."""
        from fathom.agents.complexity import ComplexityAnalyser

        own = self.settings.hybrid
        levels = {"simple": own.simple, "moderate": own.moderate, "complex": own.complex}
        return ComplexityAnalyser(weights=levels)

    @cached_property
    def keyword_filter(self) -> "KeywordFilter":
        """Drops hits that share too few words with a question."""
        from fathom.agents.keyword_filter import KeywordFilter

        own = self.settings.hybrid
        return KeywordFilter(
            counts=Analyzer().query_terms,
            domain=self.domain,
            floor=own.tfidf_floor,
            domain_weight=own.domain_weight,
        )

    @cached_property
    def semantic_filter(self) -> "SemanticFilter":
        """Drops hits that are too unlike a question."""
        from fathom.agents.semantic_filter import SemanticFilter

        own = self.settings.hybrid
        return SemanticFilter(terms=self.terms, cosine=own.cosine_floor, density=own.density_floor)

    @cached_property
    def reorderer(self) -> "Reorderer":
        """Puts hits in the order of what they say to a question."""
        from fathom.agents.reorderer import LLMReorderer

        model, own = self.models.of("reorderer"), self.settings.hybrid
        if model is None:
            return self.reranker
        return LLMReorderer(
            model=model,
            local=self.reranker,
            top=own.reorder_top,
            window=own.window,
            step=own.step,
        )

    @cached_property
    def rewriter(self) -> "Rewriter":
        """Rewrites questions for a search."""
        from fathom.agents.rewriter import LLMRewriter, LocalRewriter

        model = self.models.of("rewriter")
        return LLMRewriter(model=model) if model else LocalRewriter()

    @cached_property
    def local_decomposer(self) -> "LocalDecomposer":
        """The local implementation of the decomposer."""
        from fathom.agents.decomposer import LocalDecomposer

        return LocalDecomposer(most=self.settings.mao.questions)

    @cached_property
    def decomposer(self) -> "Decomposer":
        """Splits questions."""
        from fathom.agents.decomposer import LLMDecomposer

        model, local = self.models.of("decomposer"), self.local_decomposer
        return LLMDecomposer(model=model, local=local) if model else local

    @cached_property
    def selector(self) -> "Selector":
        """Selects the hits that are worth reading."""
        from fathom.agents.selector import LLMSelector, LocalSelector

        model = self.models.of("reorderer")
        local = LocalSelector(reranker=self.reranker, keep=self.settings.mao.keep)
        return LLMSelector(model=model, local=local) if model else local

    @cached_property
    def summarizer(self) -> "Summarizer":
        """Composes the answers to sub-questions."""
        from fathom.agents.summarizer import LLMSummarizer, LocalSummarizer

        model = self.models.of("summarizer")
        if model is None:
            return LocalSummarizer()
        return LLMSummarizer(
            model=model,
            local=LocalSummarizer(),
            judge=self.judge,
            min_support=self.settings.ask.min_support,
        )

    @cached_property
    def observer(self) -> "Observer":
        """Tells a planner in numbers what a turn is like."""
        from fathom.agents.features import Observer

        return Observer(terms=self.terms, decomposer=self.local_decomposer)

    @cached_property
    def planner(self) -> "Planner":
        """Chooses the workflow of a turn."""
        from fathom.agents.planner import LLMPlanner, LocalPlanner, policy_named

        own, model = self.settings.mao, self.models.of("planner")
        policy = policy_named(own.policy, score_gap=own.score_gap)
        return LLMPlanner(model=model, local=policy) if model else LocalPlanner(policy=policy)


RETRIEVERS: Mapping[str, Callable[[Assembly, Index], Retriever]] = {
    "vector": lambda parts, index: VectorRetriever(index, parts.asked),
    "keyword": lambda _, index: KeywordRetriever(index),
    "hybrid": Assembly.hybrid,
    "lead": lambda parts, index: LeadRetriever(index, parts.asked),
    "sentence": lambda parts, index: SentenceRetriever(
        first=VectorRetriever(index, parts.asked), embedder=parts.remembering
    ),
    "vector_feedback": lambda parts, index: VectorFeedback(index=index, embedder=parts.asked),
    "keyword_feedback": lambda parts, index: KeywordFeedback(
        index=index, feedback=Feedback(words=parts.terms.words, hits=5, count=5)
    ),
}
"""All retrievers by the name that settings and flags know."""
