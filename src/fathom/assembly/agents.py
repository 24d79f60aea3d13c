"""The agents: with a language model where the role has one, else the local implementation."""

from functools import cached_property
from typing import TYPE_CHECKING, get_args

if TYPE_CHECKING:
    from fathom.agents.answer_fit import AnswerFit
    from fathom.agents.classifier import Classifier
    from fathom.agents.complexity import ComplexityAnalyser
    from fathom.agents.debate.aggregator import Aggregator
    from fathom.agents.debate.debate import Debate
    from fathom.agents.debate.debater import Debater, LocalDebater
    from fathom.agents.decomposer import Decomposer, LocalDecomposer
    from fathom.agents.finalizer import Finalizer
    from fathom.agents.hyde import Hypothesis
    from fathom.agents.judge import Judge, LocalJudge
    from fathom.agents.keyword_filter import KeywordFilter
    from fathom.agents.question_cleaner import QuestionCleaner
    from fathom.agents.questioner import LLMQuestioner
    from fathom.agents.reader.base import Reader
    from fathom.agents.reader.citations import CitationForm
    from fathom.agents.reader.confidence import AnswerConfidence
    from fathom.agents.reader.local import LocalReader
    from fathom.agents.reader.signals import AnswerSignals
    from fathom.agents.reorderer import Reorderer
    from fathom.agents.rewriter import Rewriter
    from fathom.agents.selector import Selector
    from fathom.agents.semantic_filter import SemanticFilter
    from fathom.agents.summarizer import Summarizer
    from fathom.agents.web.search import WebSearch
    from fathom.planner.policy import Policy
    from fathom.planner.question_features import QuestionObserver
    from fathom.planner.workflows import Planner
    from fathom.retrieval.quotes import QuoteLookup

from fathom.assembly.prompts import choose_prompt
from fathom.assembly.retrieval import RetrievalParts
from fathom.llm.call import AgentRole
from fathom.llm.prompt import Prompt


class Assembly(RetrievalParts):
    """The parts that the settings name, each made once."""

    def prompt(self, shipped: Prompt) -> Prompt:
        """Return a shipped prompt of a role, or the one in the file that replaces it."""
        return choose_prompt(shipped, self.settings)

    @cached_property
    def quotes(self) -> "QuoteLookup":
        """The lookup of document text at a place."""
        from fathom.retrieval.quotes import QuoteLookup

        # The index is looked up at each call: another one may have taken its place since.
        return QuoteLookup(lambda document: self._index().get_document(document))

    @cached_property
    def question_cleaner(self) -> "QuestionCleaner":
        """The question cleaner: corrects slips in questions."""
        from fathom.agents.question_cleaner import QuestionCleaner
        from fathom.question.spelling import Speller
        from fathom.retrieval.keyword import has_exact_word

        return QuestionCleaner(
            Speller(
                count_chunks=lambda words: self._index().count_chunks_per_word(words),
                count_pieces=self.count_pieces,
                is_word=lambda word: has_exact_word(word, self._index()),
            )
        )

    def finalizer(self, strategy: str) -> "Finalizer":
        """Return the finalizer of a strategy."""
        from fathom.agents.finalizer import Finalizer

        return Finalizer(
            quotes=self.quotes,
            strategy=strategy,
            min_confidence=self.settings.ask.min_confidence,
            signals=self.answer_signals,
        )

    @cached_property
    def answer_signals(self) -> "AnswerSignals":
        """The signals of an answer, in numbers."""
        from fathom.agents.reader.signals import AnswerSignals

        return AnswerSignals(pairs=self.cross_reader, extract_terms=self.terms)

    @cached_property
    def web(self) -> "WebSearch | None":
        """The web search; `None` where it is off."""
        web = self.settings.web
        if not web.provider:
            return None
        from fathom.agents.web.search import LIST_PRICES, WebSearch

        return WebSearch(
            # The client of the web engine is built at the first search, as most questions need
            # none.
            open_engine=lambda: self.web_engine,
            identity={"provider": web.provider, "base_url": web.base_url},
            results=web.results,
            seconds=web.seconds,
            fee_usd=LIST_PRICES[web.provider] if web.fee_usd is None else web.fee_usd,
        )

    @cached_property
    def local_reader(self) -> "LocalReader":
        """The local implementation of the reader."""
        from fathom.agents.reader.local import LocalReader

        return LocalReader(pairs=self.cross_reader, sentences=self.settings.ask.sentences)

    @cached_property
    def reader(self) -> "Reader":
        """The reader: answers from hits."""
        model = self.models.language_models.get_model("reader")
        if model is None:
            return self.local_reader
        from fathom.agents.reader.llm import LLMReader

        return LLMReader(
            model=model,
            # The local reader answers first; the model is asked only if that answer is not sure.
            local=self.local_reader,
            judge=self.judge,
            confidence=self.answer_confidence,
            skip_above_confidence=self.settings.llm.skip_above_confidence,
            min_support=self.settings.ask.min_support,
            min_confidence=self.settings.ask.min_confidence,
            fallback=self.settings.llm.fallback,
            form=self.choose_form(model.chat.name),
        )

    def choose_form(self, model: str) -> "CitationForm":
        """Return the form in which the model called `provider:model` names its evidence."""
        from fathom.agents.reader import citations as cited_answer

        # Which form a model masters was measured; docs/runs.md has the figures.
        if cited_answer.choose_form(model, self.settings.llm.evidence) == "numbers":
            return cited_answer.NumberForm(prompt=self.prompt(cited_answer.NUMBERS_PROMPT))
        return cited_answer.QuoteForm(prompt=self.prompt(cited_answer.QUOTES_PROMPT))

    @cached_property
    def answer_confidence(self) -> "AnswerConfidence":
        """The confidence of a language model's answers."""
        from fathom.agents.reader.confidence import AnswerConfidence

        return AnswerConfidence(pairs=self.cross_reader)

    @cached_property
    def local_judge(self) -> "LocalJudge":
        """The local implementation of the judge."""
        from fathom.agents.judge import LocalJudge

        return LocalJudge(pairs=self.cross_reader)

    @cached_property
    def answer_fit(self) -> "AnswerFit":
        """The check whether a right answer that a person gives answers the question."""
        from fathom.agents.answer_fit import AnswerFit

        return AnswerFit(pairs=self.cross_reader, judge=self.local_judge)

    @cached_property
    def judge(self) -> "Judge":
        """The judge: scores how well quotes support claims."""
        from fathom.agents.judge import PROMPT, LLMJudge

        model = self.models.language_models.get_model("judge")
        if model is None:
            return self.local_judge
        return LLMJudge(model=model, local=self.local_judge, prompt=self.prompt(PROMPT))

    @cached_property
    def local_debater(self) -> "LocalDebater":
        """The local implementation of the debater."""
        from fathom.agents.debate.debater import LocalDebater

        return LocalDebater(pairs=self.cross_reader, settings=self.settings.maf)

    @property
    def debater(self) -> "Debater":
        """The debater of the best chunk."""
        return self.debaters[0]

    @cached_property
    def debaters(self) -> "tuple[Debater, ...]":
        """The debaters, who take turns in speaking for one chunk each; at least one."""
        from fathom.agents.debate.debater import PROMPT, LLMDebater

        local, prompt = self.local_debater, self.prompt(PROMPT)
        return tuple(
            LLMDebater(model=model, local=local, pairs=self.cross_reader, prompt=prompt)
            if model
            else local
            for model in self.models.language_models.debaters
        )

    @cached_property
    def aggregator(self) -> "Aggregator":
        """The aggregator: concludes a debate."""
        return self._make_aggregator(self.settings.maf.min_share)

    def _make_aggregator(self, min_share: float) -> "Aggregator":
        from fathom.agents.debate.aggregator import PROMPT, LLMAggregator, LocalAggregator

        model = self.models.language_models.get_model("aggregator")
        local = LocalAggregator(min_share=min_share)
        if model is None:
            return local
        return LLMAggregator(model=model, local=local, prompt=self.prompt(PROMPT))

    @cached_property
    def debate(self) -> "Debate":
        """The debate of one agent per hit."""
        return self.make_debate(self.settings.maf.min_share)

    def make_debate(self, min_share: float) -> "Debate":
        """Return a debate that drops readings below this share of the leading one's weight."""
        from fathom.agents.debate.debate import Debate

        section = self.settings.maf
        return Debate(
            debaters=self.debaters,
            aggregator=self._make_aggregator(min_share),
            # The scout tells for each question whether there is anything to debate, at no call of a
            # model.
            scout=self.local_debater,
            rounds=section.rounds,
            feedback=section.feedback,
        )

    @cached_property
    def questioner(self) -> "LLMQuestioner | None":
        """The writer of questions about chunks; `None` without a language model."""
        model = self.models.language_models.get_model("questioner")
        if model is None:
            return None
        from fathom.agents.questioner import PROMPT, LLMQuestioner

        return LLMQuestioner(model=model, prompt=self.prompt(PROMPT))

    @cached_property
    def hypothesis(self) -> "Hypothesis":
        """The hypothesis of a later search round; without a model that is RM3."""
        from fathom.agents.hyde import PROMPT, LLMHypothesis, LocalHypothesis
        from fathom.retrieval.expansion import RelevanceFeedback

        model = self.models.language_models.get_model("hyde")
        local = LocalHypothesis(feedback=RelevanceFeedback(extract_words=self.terms.words))
        if model is None:
            return local
        return LLMHypothesis(model=model, local=local, prompt=self.prompt(PROMPT))

    @cached_property
    def classifier(self) -> "Classifier":
        """The classifier of questions by the domain."""
        from fathom.agents.classifier import Classifier

        return Classifier(domain=self.domain)

    @cached_property
    def complexity(self) -> "ComplexityAnalyser":
        """The analyser of a question's complexity, which weights the retrievers."""
        from fathom.agents.complexity import ComplexityAnalyser

        section = self.settings.hybrid
        levels = {
            "simple": section.simple,
            "moderate": section.moderate,
            "complex": section.complex,
        }
        return ComplexityAnalyser(weights=levels)

    @cached_property
    def keyword_filter(self) -> "KeywordFilter":
        """The filter of hits that share too few words with a question."""
        from fathom.agents.keyword_filter import KeywordFilter
        from fathom.text.analyzer import Analyzer

        section = self.settings.hybrid
        return KeywordFilter(
            count_words=Analyzer().count_query_terms,
            domain=self.domain,
            floor=section.tfidf_floor,
            domain_weight=section.domain_weight,
        )

    @cached_property
    def semantic_filter(self) -> "SemanticFilter":
        """The filter of hits that are too unlike a question."""
        from fathom.agents.semantic_filter import SemanticFilter

        section = self.settings.hybrid
        return SemanticFilter(
            extract_terms=self.terms, cosine=section.cosine_floor, density=section.density_floor
        )

    @cached_property
    def reorderer(self) -> "Reorderer":
        """The reorderer: orders hits by what they say to a question."""
        from fathom.agents.reorderer import PROMPT, LLMReorderer

        model, section = self.models.language_models.get_model("reorderer"), self.settings.hybrid
        if model is None:
            return self.reranker
        return LLMReorderer(
            model=model,
            local=self.reranker,
            top=section.reorder_top,
            window=section.window,
            step=section.step,
            prompt=self.prompt(PROMPT),
        )

    @cached_property
    def rewriter(self) -> "Rewriter":
        """The rewriter of questions for a search."""
        from fathom.agents.rewriter import PROMPT, STAND_ALONE, LLMRewriter, LocalRewriter

        model = self.models.language_models.get_model("rewriter")
        if model is None:
            return LocalRewriter()
        return LLMRewriter(
            model=model,
            prompt=self.prompt(PROMPT),
            conversation=self.prompt(STAND_ALONE),
        )

    @cached_property
    def local_decomposer(self) -> "LocalDecomposer":
        """The local implementation of the decomposer."""
        from fathom.agents.decomposer import LocalDecomposer

        return LocalDecomposer(most=self.settings.mao.questions)

    @cached_property
    def decomposer(self) -> "Decomposer":
        """The decomposer: splits questions."""
        from fathom.agents.decomposer import PARALLEL, SERIAL, LLMDecomposer

        model, local = self.models.language_models.get_model("decomposer"), self.local_decomposer
        if model is None:
            return local
        return LLMDecomposer(
            model=model,
            local=local,
            serial=self.prompt(SERIAL),
            parallel=self.prompt(PARALLEL),
        )

    @cached_property
    def selector(self) -> "Selector":
        """The selector of the hits that are worth reading."""
        from fathom.agents.selector import PROMPT, LLMSelector, LocalSelector

        # The selector has no model of its own in the settings; the reorderer's ranks hits anyway.
        model = self.models.language_models.get_model("reorderer")
        local = LocalSelector(reranker=self.reranker, keep=self.settings.mao.keep)
        if model is None:
            return local
        return LLMSelector(model=model, local=local, prompt=self.prompt(PROMPT))

    @cached_property
    def summarizer(self) -> "Summarizer":
        """The summarizer: composes the answers to sub-questions."""
        from fathom.agents.summarizer import PROMPT, LLMSummarizer, LocalSummarizer

        model = self.models.language_models.get_model("summarizer")
        if model is None:
            return LocalSummarizer()
        return LLMSummarizer(
            model=model,
            local=LocalSummarizer(),
            judge=self.judge,
            min_support=self.settings.ask.min_support,
            prompt=self.prompt(PROMPT),
        )

    @cached_property
    def observer(self) -> "QuestionObserver":
        """The observer: describes a turn to a planner in numbers."""
        from fathom.planner.question_features import QuestionObserver

        return QuestionObserver(extract_terms=self.terms, decomposer=self.local_decomposer)

    @cached_property
    def planner(self) -> "Planner":
        """The planner of a turn's workflow."""
        from fathom.planner.workflows import (
            PROMPT,
            LLMPlanner,
            LocalPlanner,
            WorkflowPrices,
            estimate_tokens,
            make_workflow_policy,
        )

        section, model = self.settings.mao, self.models.language_models.get_model("planner")
        policy = make_workflow_policy(section.policy, score_gap=section.score_gap)
        if model is None:
            return LocalPlanner(policy=policy)
        # The estimate of a workflow's tokens counts the roles that a model plays.
        roles = {
            role for role in get_args(AgentRole) if self.models.language_models.get_model(role)
        }
        prices = WorkflowPrices(
            alpha=section.alpha,
            tokens=estimate_tokens(roles, hits=section.retrieve),
            coverage_threshold=section.coverage_threshold,
        )
        return LLMPlanner(model=model, local=policy, prompt=self.prompt(PROMPT), prices=prices)

    @cached_property
    def policy(self) -> "Policy":
        """The policy of `adaptive`.

        Raises:
            SettingsError: If the settings name no policy, or force what is no executor.
        """
        from fathom.planner.policy import ModelFallbackPolicy, load_policy

        section = self.settings.adaptive
        enough = self.settings.ask.min_confidence
        policy = load_policy(section.policy, section.forced, min_confidence=enough)
        # A forced sequence runs as it is, and without a reader's model there is none to fall back
        # on.
        if section.forced or self.models.language_models.get_model("reader") is None:
            return policy
        return ModelFallbackPolicy(
            policy=policy, min_certainty=self.settings.llm.skip_above_confidence
        )
