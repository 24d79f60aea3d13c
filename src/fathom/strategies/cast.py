"""The cast: every agent with the mind that the settings give its role."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from fathom.domains.domain import Domain
from fathom.llm.call import Role, RoleModel
from fathom.models.base import Embedder
from fathom.models.reading import CrossReader
from fathom.settings import Settings

if TYPE_CHECKING:  # each agent is imported by who asks for it: all together take 0.1 s
    from fathom.agents.aggregator import Aggregator
    from fathom.agents.classifier import Classifier
    from fathom.agents.complexity import ComplexityAnalyser
    from fathom.agents.debate import Debate
    from fathom.agents.debater import Debater
    from fathom.agents.decomposer import ClauseDecomposer, Decomposer
    from fathom.agents.hyde import Hypothesis
    from fathom.agents.judge import Judge, LocalJudge
    from fathom.agents.keyword_filter import KeywordFilter
    from fathom.agents.planner import Planner
    from fathom.agents.reader import Reader, SpanReader
    from fathom.agents.reorderer import Reorderer
    from fathom.agents.rewriter import Rewriter
    from fathom.agents.selector import Selector
    from fathom.agents.semantic_filter import SemanticFilter
    from fathom.agents.situation import Observer
    from fathom.agents.summarizer import Summarizer
    from fathom.agents.web import WebEngine, WebSearch
    from fathom.retrieval.rerank import Reranker

Terms = Callable[[str], frozenset[str]]
"""The distinct content words of a text, stemmed."""


@dataclass(frozen=True, kw_only=True)
class Cast:
    """Makes each agent once, when a strategy first asks for it.

    Attributes:
        model: The language model of a role; `None` where it has its local mind.
        web_engine: What asks the web; only called where a search is not recorded.
        domain: What is known of the subject of the documents.
    """

    settings: Settings
    embedder: Embedder
    cross_reader: CrossReader
    terms: Terms
    domain: Domain
    model: Callable[[Role], RoleModel | None]
    web_engine: "Callable[[], WebEngine]"

    @cached_property
    def web(self) -> "WebSearch | None":
        """Asks the web; `None` where that is off."""
        web = self.settings.web
        if not web.provider:
            return None
        from fathom.agents.web import LIST_PRICES, WebSearch

        return WebSearch(
            engine=self.web_engine,
            identity={"provider": web.provider, "base_url": web.base_url},
            results=web.results,
            seconds=web.seconds,
            fee_usd=LIST_PRICES[web.provider] if web.fee_usd is None else web.fee_usd,
        )

    @cached_property
    def local_reader(self) -> "SpanReader":
        """The local mind of the reader."""
        from fathom.agents.reader import SpanReader

        return SpanReader(pairs=self.cross_reader, sentences=self.settings.ask.sentences)

    @cached_property
    def reader(self) -> "Reader":
        """Answers from hits."""
        model = self.model("reader")
        if model is None:
            return self.local_reader
        from fathom.agents.reader_llm import LanguageReader

        return LanguageReader(
            model=model,
            local=self.local_reader,
            judge=self.judge,
            certain=self.settings.llm.certain,
            min_support=self.settings.ask.min_support,
            fallback=self.settings.llm.fallback,
        )

    @cached_property
    def reranker(self) -> "Reranker":
        """Reorders hits by relevance."""
        from fathom.retrieval.rerank import Reranker

        retrieval = self.settings.retrieval
        return Reranker(
            pairs=self.cross_reader, weight=retrieval.rerank_weight, most=retrieval.rerank_most
        )

    @cached_property
    def local_judge(self) -> "LocalJudge":
        """The local mind of the judge."""
        from fathom.agents.judge import LocalJudge

        return LocalJudge(pairs=self.cross_reader)

    @cached_property
    def judge(self) -> "Judge":
        """Says how well quotes support claims."""
        from fathom.agents.judge import LanguageJudge

        model = self.model("judge")
        return LanguageJudge(model=model, local=self.local_judge) if model else self.local_judge

    @cached_property
    def debater(self) -> "Debater":
        """Speaks for one chunk in a debate."""
        from fathom.agents.debater import LocalDebater
        from fathom.agents.debater_llm import LanguageDebater

        model, own = self.model("debater"), self.settings.maf
        local = LocalDebater(pairs=self.cross_reader, heed=own.heed, floor=own.floor, near=own.near)
        return LanguageDebater(model=model, local=local) if model else local

    @cached_property
    def aggregator(self) -> "Aggregator":
        """Says what the agents of a debate come to."""
        from fathom.agents.aggregator import LocalAggregator
        from fathom.agents.aggregator_llm import LanguageAggregator

        model = self.model("aggregator")
        local = LocalAggregator(share=self.settings.maf.share)
        return LanguageAggregator(model=model, local=local) if model else local

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
        from fathom.agents.content import ContentTerms
        from fathom.agents.hyde import FeedbackHypothesis, LanguageHypothesis
        from fathom.retrieval.expansion import Feedback

        model = self.model("hyde")
        local = FeedbackHypothesis(feedback=Feedback(words=ContentTerms().words))
        return LanguageHypothesis(model=model, local=local) if model else local

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
        from fathom.index.analyzer import Analyzer

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
        from fathom.agents.reorderer import LanguageReorderer

        model, own = self.model("reorderer"), self.settings.hybrid
        if model is None:
            return self.reranker
        return LanguageReorderer(
            model=model,
            local=self.reranker,
            top=own.reorder_top,
            window=own.window,
            step=own.step,
        )

    @cached_property
    def rewriter(self) -> "Rewriter":
        """Rewrites questions for a search."""
        from fathom.agents.rewriter import LanguageRewriter, PlainRewriter

        model = self.model("rewriter")
        return LanguageRewriter(model=model) if model else PlainRewriter()

    @cached_property
    def local_decomposer(self) -> "ClauseDecomposer":
        """The local mind of the decomposer."""
        from fathom.agents.decomposer import ClauseDecomposer

        return ClauseDecomposer(most=self.settings.mao.questions)

    @cached_property
    def decomposer(self) -> "Decomposer":
        """Splits questions."""
        from fathom.agents.decomposer import LanguageDecomposer

        model, local = self.model("decomposer"), self.local_decomposer
        return LanguageDecomposer(model=model, local=local) if model else local

    @cached_property
    def selector(self) -> "Selector":
        """Selects the hits that are worth reading."""
        from fathom.agents.selector import LanguageSelector, RelevanceSelector

        model = self.model("reorderer")
        local = RelevanceSelector(reranker=self.reranker, keep=self.settings.mao.keep)
        return LanguageSelector(model=model, local=local) if model else local

    @cached_property
    def summarizer(self) -> "Summarizer":
        """Composes the answers to sub-questions."""
        from fathom.agents.summarizer import LanguageSummarizer, RuleSummarizer

        model = self.model("summarizer")
        if model is None:
            return RuleSummarizer()
        return LanguageSummarizer(
            model=model,
            local=RuleSummarizer(),
            judge=self.judge,
            min_support=self.settings.ask.min_support,
        )

    @cached_property
    def observer(self) -> "Observer":
        """Tells a planner in numbers what a turn is like."""
        from fathom.agents.situation import Observer

        return Observer(terms=self.terms, decomposer=self.local_decomposer)

    @cached_property
    def planner(self) -> "Planner":
        """Chooses the workflow of a turn."""
        from fathom.agents.planner import LanguagePlanner, PolicyPlanner, policy_named

        own, model = self.settings.mao, self.model("planner")
        policy = policy_named(own.policy, clear=own.clear)
        return LanguagePlanner(model=model, local=policy) if model else PolicyPlanner(policy=policy)
