"""The top layer of the assembly: the agents.

An agent has a language model if the settings name one for its role, else it is local.
"""

from functools import cached_property
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, cast

from fathom.assembly.prompts import choose_prompt
from fathom.assembly.retrieval import RetrievalParts
from fathom.llm.prompt import Prompt
from fathom.registry import AgentT, Role
from fathom.settings.adaptive import AdaptiveSettings

if TYPE_CHECKING:
    from fathom.agents.finalizer import Finalizer
    from fathom.agents.question_cleaner import QuestionCleaner
    from fathom.agents.reader.signals import AnswerSignals
    from fathom.agents.reader.trusted_sources import TrustedSources
    from fathom.agents.web.search import WebSearch
    from fathom.planner.policy import Policy
    from fathom.retrieval.quotes import QuoteLookup
    from fathom.retrieval.report_lookup import ReportLookup
    from fathom.retrieval.table_lookup import TableLookup
    from fathom.tables.labels import LabelNames


class Assembly(RetrievalParts):
    """All parts that the settings name, each built on first use."""

    def agent(self, role: Role[AgentT]) -> AgentT:
        """Return the agent of a role, which is made once."""
        if role.name not in self._agents:
            self._agents[role.name] = self.make_agent(role)
        return cast("AgentT", self._agents[role.name])

    def make_agent(self, role: Role[AgentT], *given: object) -> AgentT:
        """Make a new agent of a role.

        Args:
            role: The entry of the role in the registry.
            given: The arguments of the agent's `of` besides this assembly and the model.

        Returns:
            The agent with a language model if the role has one, else the local agent; `None` if the
            role has no local implementation.
        """
        model = self.models.language_models.get_model(role.model_of or role.name)
        place = role.local if model is None else role.llm
        models = () if model is None else (model,)
        agent: Any = resolve_name(place).of(self, *models, *given) if place else None
        return cast("AgentT", agent)

    def prompt(self, shipped: Prompt) -> Prompt:
        """Return a shipped prompt, or the one in the user's file that replaces it.

        Raises:
            SettingsError: If the file cannot be read, or lacks a placeholder or has another one.
        """
        return choose_prompt(shipped, self.settings)

    @cached_property
    def quotes(self) -> "QuoteLookup":
        """The lookup of the text at a place of a document."""
        from fathom.retrieval.quotes import QuoteLookup

        # The index is got at each call, because another one may have replaced it.
        return QuoteLookup(lambda document: self._index().get_document(document))

    @cached_property
    def tables(self) -> "TableLookup":
        """The lookup of the whole tables that hits have a part of."""
        from fathom.retrieval.table_lookup import TableLookup

        return TableLookup(
            lambda document: self._index().get_document(document),
            lambda: self._index().get_revision(),
        )

    @cached_property
    def reports(self) -> "ReportLookup":
        """The lookup of the statements of reports that hits have a part of."""
        from fathom.retrieval.report_lookup import ReportLookup

        return ReportLookup(self.tables)

    @cached_property
    def statement_names(self) -> "LabelNames":
        """The names of rows of statements: those of the domain, then those of `finance`.

        Raises:
            SettingsError: If the file of the domain cannot be read or has another form.
        """
        from fathom.domains.domain import FINANCE, load_domain
        from fathom.tables.labels import LabelNames

        return LabelNames.of(self.domain, load_domain(FINANCE))

    @cached_property
    def question_cleaner(self) -> "QuestionCleaner":
        """The cleaner of questions, which removes politeness and corrects typing errors."""
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
            trusted=self.trusted_sources,
        )

    @property
    def trusted_sources(self) -> "TrustedSources":
        """The documents that are believed against all others (`sources.trusted`)."""
        from fathom.agents.reader.trusted_sources import TrustedSources

        return TrustedSources(self.settings.sources.trusted)

    @cached_property
    def answer_signals(self) -> "AnswerSignals":
        """The function that computes the signals of an answer, which are numbers by name."""
        from fathom.agents.reader.signals import AnswerSignals

        return AnswerSignals(pairs=self.cross_reader, extract_terms=self.terms)

    @cached_property
    def web(self) -> "WebSearch | None":
        """The web search; `None` if the settings name no provider."""
        web = self.settings.web
        if not web.provider:
            return None
        from fathom.agents.web.search import LIST_PRICES, WebSearch

        return WebSearch(
            # The client of the web engine is built at the first search, because most questions need
            # none.
            open_engine=lambda: self.web_engine,
            identity={"provider": web.provider, "base_url": web.base_url},
            results=web.results,
            seconds=web.seconds,
            fee_usd=LIST_PRICES[web.provider] if web.fee_usd is None else web.fee_usd,
        )

    @cached_property
    def policy(self) -> "Policy":
        """The policy of `adaptive`.

        If the reader has a language model and no sequence is forced, the policy also falls back on
        that model.

        Raises:
            SettingsError: If `adaptive.policy` names no policy or `adaptive.forced` no executor.
        """
        from fathom.planner.policy import ModelFallbackPolicy, load_policy

        section = self.settings.get_section(AdaptiveSettings)
        enough = self.settings.ask.min_confidence
        policy = load_policy(section.policy, section.forced, min_confidence=enough)
        # A forced sequence is not changed, and without a model of the reader there is no fallback.
        if section.forced or self.models.language_models.get_model("reader") is None:
            return policy
        llm = self.settings.llm
        return ModelFallbackPolicy(
            policy=policy, min_certainty=llm.choose_skip_confidence(llm.model)
        )
