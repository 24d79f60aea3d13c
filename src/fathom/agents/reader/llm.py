"""The reader that asks a language model where the local reader is not certain."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from fathom.agents.judge import Judge
from fathom.agents.reader.base import Reader, outline
from fathom.agents.reader.citations import (
    ByQuote,
    CitedForm,
    CitedSentence,
    NumberedReply,
    NumberingAnswer,
    QuotingAnswer,
    ReaderReply,
    SentenceStream,
)
from fathom.agents.reader.confidence import AnswerConfidence
from fathom.agents.reader.derived import backed
from fathom.llm.call import RoleModel, ask_model
from fathom.llm.faults import CallFailed
from fathom.runs.context import RunContext
from fathom.runs.ledger import BudgetRefused
from fathom.types import Claim, Draft, Evidence, Hit, Span

_REJECTED = "An earlier answer was rejected: {fault} Mend that, or say that nothing answers."
_MOST_SENTENCES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class LLMReader:
    """Lets the local reader answer what it is certain of; asks a language model for the rest.

    A sentence counts only if what it names stands in the hits (`cited_answer`) and the judge finds
    it supported by what stands there, all of it together; so whatever a document or a server says,
    nothing unverified is shown. Where no sentence holds and the short answer follows from the
    quotes (`derived`), the quotes speak for themselves. How sure the answer is, they must earn.

    Attributes:
        local: Reads first.
        confidence: Says how sure the model's answer is.
        skip_above_confidence: From this confidence of the local reader on the model is not
            asked; above 1 it always is.
        min_support: Sentences with less support are dropped.
        min_confidence: A model's answer that is less sure gives way to a local one that is surer.
        fallback: What happens when the model gives nothing that can be verified: the local
            draft counts, or there is no answer.
        form: How the model names its evidence.
        fault: What was wrong with an earlier draft, for the model to mend; empty where there was
            none.
    """

    model: RoleModel
    local: Reader
    judge: Judge
    confidence: AnswerConfidence
    skip_above_confidence: float
    min_support: float
    fallback: Literal["local", "abstain"]
    min_confidence: float = 0.0
    form: CitedForm = field(default_factory=ByQuote)
    fault: str = ""

    async def read(self, question: str, hits: Sequence[Hit], context: RunContext) -> Draft:
        """See `Reader.read`.

        Raises:
            BudgetRefused: If there was no time even for the local implementation.
            RunError: If the model fails and the local draft is not to count.
        """
        inputs = {"chunks": [hit.chunk.id for hit in hits]}
        with context.step("read", agent="reader", inputs=inputs) as here:
            first = await self.local.read(question, hits, here)
            if first.confidence >= self.skip_above_confidence or not hits:
                here.done(
                    outputs=outline(first),
                    verdict="local",
                    reason="the local implementation is sure",
                )
                return first
            draft, verdict, reason = await self._or_local(first, question, hits, here)
            here.done(outputs=outline(draft), verdict=verdict, reason=reason)
        return draft

    async def _or_local(
        self, first: Draft, question: str, hits: Sequence[Hit], context: RunContext
    ) -> tuple[Draft, str, str]:
        try:
            reply = await self._ask(question, hits, context)
            if reply.answer is None:
                return Draft(), "model", "the model finds no answer in the chunks"
            draft = await self._checked(question, reply.answer, hits, context)
            draft = await self._weighed(question, draft, first, context)
        except BudgetRefused as refused:
            return first, "local", str(refused)
        except CallFailed as failed:
            if self.fallback == "abstain":
                raise
            return first, "local", str(failed)
        if self.fallback == "local":
            if not draft.evidence:
                return first, "local", _UNVERIFIED
            if draft.confidence < min(self.min_confidence, first.confidence):
                reason = f"the local answer is surer than the model's {draft.confidence:.2f}"
                return first, "local", reason
        reason = f"{len(draft.claims)} sentences hold" if draft.evidence else _UNVERIFIED
        return draft, "model", reason

    def _asked(self, question: str) -> str:
        """The question, with what was wrong with an earlier answer."""
        return f"{question}\n\n{_REJECTED.format(fault=self.fault)}" if self.fault else question

    async def _ask(
        self, question: str, hits: Sequence[Hit], context: RunContext
    ) -> ReaderReply | NumberedReply:
        listener = context.listener
        stream = SentenceStream(self.form, hits, listener.text) if listener.wants_text else None
        asked = self.form.asked(self._asked(question), hits)
        kind: type[ReaderReply | NumberedReply] = self.form.kind
        return (await ask_model(self.model, kind, asked, context, on_text=stream)).required()

    async def _checked(
        self,
        question: str,
        reply: QuotingAnswer | NumberingAnswer,
        hits: Sequence[Hit],
        context: RunContext,
    ) -> Draft:
        """The sentences of an answer that hold; without evidence if nothing does."""
        named = (self.form.cited(each, hits) for each in reply.sentences[:_MOST_SENTENCES])
        found = [each for each in named if each.evidence]
        pairs = [(each.text, " ".join(item.quote for item in each.evidence)) for each in found]
        scores = await self.judge.support(pairs, context)
        kept = [
            replace(each, evidence=tuple(replace(item, support=score) for item in each.evidence))
            for each, score in zip(found, scores, strict=True)
            if each.text and score >= self.min_support
        ]
        draft = _claiming(kept)
        short = backed(question, reply.short_answer, [item.quote for item in draft.evidence])
        if kept:
            return replace(draft, short_answer=short)
        quoting = replace(_claiming(found), claims=())
        short = backed(question, reply.short_answer, [item.quote for item in quoting.evidence])
        return replace(quoting, short_answer=short) if short else Draft()

    async def _weighed(
        self, question: str, draft: Draft, first: Draft, context: RunContext
    ) -> Draft:
        """The draft with the confidence that it earns."""
        with context.step("weigh", agent="reader") as here:
            sure = await here.compute("weigh", lambda: self.confidence(question, draft, first))
            here.done(outputs={"confidence": sure})
        return replace(draft, confidence=sure)


_UNVERIFIED = "no sentence of the model could be verified"


def _claiming(sentences: Sequence[CitedSentence]) -> Draft:
    """Sentences with their evidence, each place once."""
    places: dict[tuple[str, Span, str], Evidence] = {}
    for each in sentences:
        for item in each.evidence:
            key = _key(item)
            best = max(item.support, places[key].support if key in places else 0.0)
            places[key] = replace(item, support=best)
    at = {key: place for place, key in enumerate(places)}
    claims = [
        Claim(
            text=each.text,
            evidence=tuple(at[_key(item)] for item in each.evidence),
        )
        for each in sentences
    ]
    return Draft(evidence=tuple(places.values()), claims=tuple(claims))


def _key(item: Evidence) -> tuple[str, Span, str]:
    return item.hit.chunk.id, item.span, item.heading
