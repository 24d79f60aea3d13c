"""The LLM reader: asks a language model where the local reader is not certain.

The local draft comes first. If a model is asked, it sees pruned sentences (`retrieval.pruning`),
replies in one of the `reply_forms`, and its reply is verified by `citations`, `derivations`, the
judge and `confidence`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Self

from fathom.agents.calculator.llm import LLMCalculator
from fathom.agents.calculator.local import join_equal, match_values, quotes_row
from fathom.agents.judge import Judge
from fathom.agents.prompt_delimiters import drop_orders
from fathom.agents.reader.base import Reader, outline_draft
from fathom.agents.reader.citations import CitedSentence, find_places
from fathom.agents.reader.confidence import AnswerConfidence
from fathom.agents.reader.derivations import (
    derive_short_answer,
    find_misfit,
    list_key_parts,
    select_bearing,
)
from fathom.agents.reader.local import LocalReader
from fathom.agents.reader.reply_forms import (
    AnyForm,
    CitedAnswer,
    QuoteForm,
    SentenceStream,
    make_form,
)
from fathom.agents.reader.signals import AnswerSignals
from fathom.llm.call import RoleModel, ask_model
from fathom.llm.faults import CallFailure
from fathom.question.question import Question
from fathom.registry import JUDGE
from fathom.retrieval.pruning import EvidencePruner, PrunedHit
from fathom.runs.context import AskingDecision, DeadlineOver, RunContext
from fathom.runs.events import TextEvent
from fathom.runs.ledger import BudgetRefused
from fathom.types import Claim, Draft, Evidence, Hit, SentenceCount, Span

if TYPE_CHECKING:
    from fathom.assembly import Assembly

_FAULT_NOTE = "An earlier answer was rejected: {fault} Mend that, or say that nothing answers."
"""The note after the question that names the fault of an earlier answer to the model."""
# The answer itself is not repeated: a document may have planted it as an order.
_UNFOUND = "What you answered stands in none of the sentences."
_OPPOSITE = "The sentences speak against what you answered."
_DOUBTFUL_VERDICT = 0.3
"""The confidence in a yes or no below which its sentences are taken to contradict it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMReader:
    """A reader that keeps certain local answers and asks a language model for others.

    A sentence of the model is used only if its evidence is found in the hits (`citations`) and the
    judge finds it supported by that evidence, so nothing unverified is shown, whatever a document
    or a server says. If no sentence is supported but the short answer follows from the quotes
    (`derive_short_answer`), the quotes themselves are shown. The confidence comes from the quotes,
    not from the model.

    Attributes:
        model: The language model.
        local: The reader that reads first.
        judge: The judge of the model's sentences.
        pruner: The pruner that chooses the sentences that the model is shown.
        confidence: The law of the confidence in the model's answer.
        skip_above_confidence: The local confidence from which on the model is not asked; a value
            above 1 always asks it.
        signals: The function that computes the signals from which the run's rule decides whether to
            ask; `None` if the confidence alone decides.
        min_support: The lowest support of a sentence that is used, in [0, 1].
        min_confidence: The confidence below which a local draft with more confidence wins.
        fallback: What to do if nothing of the model's answer can be verified: use the local draft,
            or abstain.
        form: The form in which the model names its evidence.
        fault: The fault of an earlier draft, for the model to correct; empty if there was none.
        calculator: The agent that computes over tables by the model's SQL; `None` to read only.
    """

    model: RoleModel
    local: Reader
    judge: Judge
    pruner: EvidencePruner
    confidence: AnswerConfidence
    skip_above_confidence: float
    min_support: float
    fallback: Literal["local", "abstain"]
    min_confidence: float = 0.0
    form: AnyForm = field(default_factory=QuoteForm)
    fault: str = ""
    calculator: LLMCalculator | None = None
    signals: AnswerSignals | None = None

    @classmethod
    def of(cls, assembly: "Assembly", model: RoleModel) -> Self:
        """Build the agent with a language model."""
        settings = assembly.settings
        return cls(
            model=model,
            # The local reader answers first; the model is asked only if that answer is not sure.
            local=LocalReader.of(assembly),
            judge=assembly.agent(JUDGE),
            pruner=EvidencePruner(
                pairs=assembly.cross_reader,
                limit=settings.llm.evidence_tokens,
                share=settings.llm.evidence_share,
            ),
            confidence=AnswerConfidence.of(assembly, model.chat.name),
            skip_above_confidence=settings.llm.choose_skip_confidence(model.chat.name),
            min_support=settings.ask.min_support,
            min_confidence=settings.ask.min_confidence,
            fallback=settings.llm.fallback,
            form=make_form(model.chat.name, settings.llm.evidence, assembly.prompt),
            calculator=LLMCalculator.of(assembly, model),
            signals=assembly.answer_signals if settings.llm.skip_above_confidence is None else None,
        )

    async def read(self, question: Question, hits: Sequence[Hit], context: RunContext) -> Draft:
        """Read the hits locally, and ask the model if the local draft is not certain.

        Raises:
            BudgetRefused: If there was no time even for the local reader.
            RunError: If the model fails and the local draft must not count.
        """
        inputs = {"chunks": [hit.chunk.id for hit in hits]}
        with context.step("read", agent="reader", inputs=inputs) as step:
            local_draft = await self.local.read(question, hits, step)
            if local_draft.confidence >= self.skip_above_confidence or not hits:
                step.set_outcome(
                    outputs=outline_draft(local_draft),
                    verdict="local",
                    reason="the local implementation is sure",
                )
                return local_draft
            decision = await self._decide_asking(local_draft, question, hits, step)
            if decision is not None and not decision.asks:
                step.set_outcome(
                    outputs=outline_draft(local_draft),
                    verdict="local",
                    reason=f"P(right) is {decision.probability:.2f}: the model would gain nothing",
                )
                return local_draft
            draft, verdict, reason = await self._compute_or_ask(local_draft, question, hits, step)
            step.set_outcome(outputs=outline_draft(draft), verdict=verdict, reason=reason)
        return draft

    async def _decide_asking(
        self, local_draft: Draft, question: Question, hits: Sequence[Hit], context: RunContext
    ) -> AskingDecision | None:
        """Decide by the run's rule whether to ask the model; `None` if no rule applies.

        The rule was learned from running text, so it does not apply to answers from tables. Nor
        does it apply when the model is to correct a fault.
        """
        decide, signals = context.decide_asking, self.signals
        if decide is None or signals is None or self.fault:
            return None
        if local_draft.calculation is not None or quotes_row(local_draft):
            return None
        with context.step("estimate", agent="reader") as step:
            try:
                values = await step.compute("signals", lambda: signals(question, local_draft, hits))
            except DeadlineOver:
                return None
            decision = decide(values)
            step.set_outcome(
                outputs={"probability": decision.probability},
                verdict="ask" if decision.asks else "local",
            )
        return decision

    async def _compute_or_ask(
        self, local_draft: Draft, question: Question, hits: Sequence[Hit], context: RunContext
    ) -> tuple[Draft, str, str]:
        """Return the draft from tables or else from text, who made it, and the reason."""
        if self.calculator is not None:
            computed = await self.calculator.compute(question, hits, local_draft, context)
            if computed is not None:
                return computed, "model", "a statement over the tables gives a value"
        return await self._ask_or_fall_back(local_draft, question, hits, context)

    async def _ask_or_fall_back(
        self, local_draft: Draft, question: Question, hits: Sequence[Hit], context: RunContext
    ) -> tuple[Draft, str, str]:
        """Return the draft of the model or the local one, who made it, and the reason."""
        try:
            draft = await self.ask_for_draft(question, hits, context)
            if draft is None:
                return Draft(), "model", "the model finds no answer in the chunks"
            draft = await self._weigh(question, draft, local_draft, context)
        except BudgetRefused as error:
            # A spent budget is not the model's fault: the local draft is used whatever `fallback`
            # is.
            return local_draft, "local", str(error)
        except CallFailure as error:
            if self.fallback == "abstain":
                raise
            return local_draft, "local", str(error)
        local_choice = self._choose_local(draft, local_draft)
        if local_choice is not None:
            return local_choice[0], "local", local_choice[1]
        reason = f"{len(draft.claims)} sentences hold" if draft.evidence else _UNVERIFIED
        return draft, "model", reason

    def _choose_local(self, draft: Draft, local_draft: Draft) -> tuple[Draft, str] | None:
        """Return the local draft with the reason to prefer it; `None` to use the model's."""
        if local_draft.calculation is not None and draft.short_answer:
            if match_values(draft.short_answer, local_draft.short_answer):
                return join_equal(draft, local_draft), "the model reads the computed value"
            # If the rules compute another value, a text read in a table is seldom right.
            if draft.confidence <= local_draft.confidence:
                return local_draft, "the computed value is surer than the model's reading"
        if self.fallback != "local":
            return None
        if not draft.evidence:
            return local_draft, _UNVERIFIED
        if draft.confidence < min(self.min_confidence, local_draft.confidence):
            reason = f"the local answer is surer than the model's {draft.confidence:.2f}"
            return local_draft, reason
        return None

    async def ask_for_draft(
        self, question: Question, hits: Sequence[Hit], context: RunContext
    ) -> Draft | None:
        """Ask the model and return a draft of the verified part, with a confidence of 0.

        If the answer has a fault, the model is asked once more with the fault named. If the second
        answer has a fault too, the first one is used. `None` means that the model gives no answer.

        Raises:
            BudgetRefused: If the budget does not allow the first call.
            CallFailure: If the model gives no usable first reply.
        """
        shown = await self._prune(question, drop_orders(hits), context)
        if not shown:
            return None
        answer = await self._ask_model(question, shown, context, fault=self.fault)
        if answer is None:
            return None
        draft = await self._verify(question, answer, shown, context)
        fault = await self._find_fault(question, answer, draft, context)
        if not fault or self.fault:
            return draft
        return await self._ask_again(question, draft, fault, shown, context)

    async def _ask_again(
        self,
        question: Question,
        first: Draft,
        fault: str,
        shown: Sequence[PrunedHit],
        context: RunContext,
    ) -> Draft:
        """Ask the model again and return its draft; the first one if the second has a fault."""
        inputs = {"fault": fault, "chunks": [item.hit.chunk.id for item in shown]}
        with context.step("ask again", agent="reader", inputs=inputs) as step:
            try:
                answer = await self._ask_model(question, shown, step, fault=fault)
            except (BudgetRefused, CallFailure) as error:
                step.set_outcome(verdict="first", reason=str(error))
                return first
            if answer is None:
                step.set_outcome(verdict="first", reason="the model gives no other answer")
                return first
            draft = await self._verify(question, answer, shown, step)
            second_fault = await self._find_fault(question, answer, draft, step)
            if second_fault:
                step.set_outcome(verdict="first", reason=second_fault)
                return first
            step.set_outcome(outputs=outline_draft(draft), verdict="second")
        return draft

    async def _find_fault(
        self, question: Question, answer: CitedAnswer, draft: Draft, context: RunContext
    ) -> str:
        """Return the fault of an answer, as a note to the model; empty if there is none.

        Args:
            question: The question.
            answer: The answer of the model.
            draft: The verified part of the answer.
            context: The run.
        """
        if not draft.evidence:
            return find_misfit(question, answer.short) or _UNFOUND
        if question.form != "yes or no":
            return ""
        with context.step("check", agent="reader") as step:
            confidence = await step.compute(
                "check", lambda: self.confidence.judge_verdict(question, draft)
            )
            step.set_outcome(outputs={"confidence": confidence})
        if confidence is not None and confidence < _DOUBTFUL_VERDICT:
            return _OPPOSITE
        return ""

    async def _prune(
        self, question: Question, hits: Sequence[Hit], context: RunContext
    ) -> tuple[PrunedHit, ...]:
        """Choose the parts of the hits that the model is shown."""
        with context.step("prune", agent="reader") as step:
            shown = await step.compute("prune", lambda: self.pruner.prune(question, hits))
            kept = [
                [item.hit.chunk.id, [[span.start, span.end] for span in item.spans]]
                for item in shown
            ]
            step.set_outcome(outputs={"kept": kept})
        return shown

    async def _ask_model(
        self, question: Question, shown: Sequence[PrunedHit], context: RunContext, *, fault: str
    ) -> CitedAnswer | None:
        """Ask the model; stream its sentences to the listener if it wants text.

        Args:
            question: The question.
            shown: The evidence.
            context: The run.
            fault: The fault of an earlier answer; empty if there was none.
        """
        listener = context.listener

        def send_text(text: str) -> None:
            listener.on_event(TextEvent(text))

        stream = SentenceStream(self.form, shown, send_text) if listener.wants_text else None
        request = self.form.build_request(question, shown)
        if fault:
            request = request.add_note(_FAULT_NOTE.format(fault=fault))
        reply = await ask_model(self.model, self.form.kind, request, context, on_text=stream)
        return self.form.read_reply(reply.require_value(), shown)

    async def _verify(
        self,
        question: Question,
        answer: CitedAnswer,
        shown: Sequence[PrunedHit],
        context: RunContext,
    ) -> Draft:
        """Return a draft of the verified part of an answer; empty if nothing is verified."""
        if find_misfit(question, answer.short):
            return Draft()
        draft = await self._keep_verified(question, answer, shown, context)
        count = _count_sentences(answer, draft) if draft.evidence else None
        return replace(draft, sentences=count)

    async def _keep_verified(
        self,
        question: Question,
        answer: CitedAnswer,
        shown: Sequence[PrunedHit],
        context: RunContext,
    ) -> Draft:
        """Return a draft of the supported sentences, or else of quotes for the short answer."""
        with_evidence = [sentence for sentence in answer.sentences if sentence.evidence]
        quoting = _quote_answer(question, answer.short, with_evidence)
        if answer.is_bare and quoting.short_answer:
            return quoting
        supported = await self._judge(with_evidence, context)
        if supported:
            draft = _compose_draft(supported)
            quotes = [item.quote for item in draft.evidence]
            return replace(draft, short_answer=derive_short_answer(question, answer.short, quotes))
        # The model's own sentences failed, so only its quotes may be shown.
        if quoting.short_answer or not answer.is_bare:
            return quoting
        for short in (answer.short, *list_key_parts(question, answer.short)):
            draft = await self._relocate(question, short, shown, context)
            if draft.evidence:
                return draft
        return Draft()

    async def _judge(
        self, sentences: Sequence[CitedSentence], context: RunContext
    ) -> list[CitedSentence]:
        """Return the sentences that their evidence supports, with the support filled in."""
        pairs = [
            (sentence.text, " ".join(item.quote for item in sentence.evidence))
            for sentence in sentences
        ]
        scores = await self.judge.score_support(pairs, context)
        return [
            replace(
                sentence, evidence=tuple(replace(item, support=score) for item in sentence.evidence)
            )
            for sentence, score in zip(sentences, scores, strict=True)
            if sentence.text and score >= self.min_support
        ]

    async def _relocate(
        self, question: Question, short: str, shown: Sequence[PrunedHit], context: RunContext
    ) -> Draft:
        """Return a draft that quotes the best shown sentence with the short answer.

        Small models often give a right answer with a wrong sentence number. The draft is empty if
        no shown sentence contains the short answer.
        """
        places = find_places(short, shown) if short else ()
        if not places:
            return Draft()
        with context.step("relocate", agent="reader") as step:
            best = await step.compute(
                "relocate", lambda: self.confidence.choose_place(question, short, places)
            )
            step.set_outcome(outputs={"place": [best.hit.chunk.id, best.span.start, best.span.end]})
        return _quote_answer(question, short, [CitedSentence(short, 0, (best,))])

    async def _weigh(
        self, question: Question, draft: Draft, local_draft: Draft, context: RunContext
    ) -> Draft:
        """Return the draft with its confidence computed."""
        with context.step("weigh", agent="reader") as step:
            confidence = await step.compute(
                "weigh", lambda: self.confidence(question, draft, local_draft)
            )
            step.set_outcome(outputs={"confidence": confidence})
        return replace(draft, confidence=confidence)


_UNVERIFIED = "no sentence of the model could be verified"


def _compose_draft(sentences: Sequence[CitedSentence]) -> Draft:
    """Return a draft of sentences with their evidence, each place once."""
    places: dict[tuple[str, Span, str], Evidence] = {}
    for sentence in sentences:
        for item in sentence.evidence:
            key = _identify(item)
            # A place that several sentences cite keeps its highest support.
            support = max(item.support, places[key].support if key in places else 0.0)
            places[key] = replace(item, support=support)
    numbers = {key: place for place, key in enumerate(places)}
    claims = [
        Claim(
            text=sentence.text,
            evidence=tuple(numbers[_identify(item)] for item in sentence.evidence),
        )
        for sentence in sentences
    ]
    return Draft(evidence=tuple(places.values()), claims=tuple(claims))


def _count_sentences(answer: CitedAnswer, draft: Draft) -> SentenceCount | None:
    """Count the sentences of an answer, written and supported; `None` without any text.

    Args:
        answer: The answer of the model.
        draft: Its verified part, with evidence.
    """
    written = sum(bool(sentence.text) for sentence in answer.sentences)
    # Quotes without claims support a bare answer, but not the sentences that they replace.
    supported = len(draft.claims) or int(answer.is_bare)
    return SentenceCount(written=written, supported=supported) if written else None


def _quote_answer(question: Question, short: str, sentences: Sequence[CitedSentence]) -> Draft:
    """Return a draft of the quotes that a short answer follows from; empty without any.

    Models name more sentences than they need. If any quote contains the answer, the others are left
    out.
    """
    evidence = _compose_draft(sentences).evidence
    quotes = [item.quote for item in evidence]
    short = derive_short_answer(question, short, quotes)
    if not short:
        return Draft()
    bearing = select_bearing(short, quotes)
    return Draft(evidence=tuple(evidence[place] for place in bearing), short_answer=short)


def _identify(item: Evidence) -> tuple[str, Span, str]:
    """Return the key of an item of evidence: chunk id, span and heading."""
    return item.hit.chunk.id, item.span, item.heading
