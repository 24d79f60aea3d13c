"""The reader: what the hits say to a question."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from fathom.agents.judge import Judge, LocalJudge
from fathom.agents.reader.attribution import attributed, naming
from fathom.agents.reader.candidates import Candidate, candidates_of, nearly, quotes, supporting
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
from fathom.agents.reader.comparisons import decided, value_of
from fathom.agents.reader.confidence import AnswerConfidence
from fathom.agents.reader.counts import listed, stated
from fathom.agents.reader.derived import backed
from fathom.agents.reader.early_stop import ReadHit, look
from fathom.agents.reader.lists import Steps, completed, list_around, steps_of
from fathom.agents.reader.rivals import LIKELY, Rival, Rivalry
from fathom.agents.reader.tables import Rows
from fathom.agents.reader.yes_no import VERDICTS, VerdictLaw, Verdicts
from fathom.llm.call import RoleModel, ask_model
from fathom.llm.faults import CallFailed
from fathom.models.reading import CrossReader
from fathom.question.answer_kind import asked_kind, tells
from fathom.question.comparison import Comparison, apart, comparison, offered
from fathom.question.form import asks_items, asks_steps, form_of, word_for
from fathom.runs.context import RunContext
from fathom.runs.ledger import BudgetRefused
from fathom.text.answer_type import fits
from fathom.text.language import question_language
from fathom.types import Alternative, Claim, Draft, Evidence, Hit, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """How far the cross-reader's numbers are trusted.

    Attributes:
        fall: How fast the trust in hits falls with their place; see `early_stop.trust`.
        sureness: The law of the confidence's logit: slopes in the logits of the best answer's
            score and of its chunk's being answerable, and an offset.
        rival: A chunk of another document must answer with this probability to be told beside.
    """

    fall: float
    sureness: tuple[float, float, float]
    rival: float = LIKELY


# Fitted by `training/fit_span_reader.py`; the figures are in
# docs/answers.md. No Indonesian question of the samples has a rival, and 0.95 is none.
LAWS: Mapping[str, Law] = {
    "en": Law(fall=1.2, sureness=(0.12, 0.51, -0.80)),
    "id": Law(fall=1.2, sureness=(0.52, 0.25, 0.70), rival=0.97),
}

_LONGEST_LIST = 8
_SIDES = 2
_LOGIT = 10.0
SPANS = 8
"""Possible answers of a chunk that are looked at."""


class Reader(Protocol):
    """Finds what supports an answer; every one passes `testing.ReaderConformance`."""

    async def read(self, question: str, hits: Sequence[Hit], context: RunContext) -> Draft:
        """Read the hits, in rank order, as one step of the run.

        Returns:
            Evidence best first, empty when nothing was given to read.

        Raises:
            BudgetRefused: If there was no time for it.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalReader:
    """Answers with the span that the pair reader finds best, and quotes the sentence around it.

    Equal answers of several hits count together. Hits are read best first, no further than the
    answer can still change (`early_stop.look`). Where other documents give another value it is told
    beside the answer (`rivals`). A question for a list reads all hits and gives every answer that
    is nearly as likely as the best; where a list of a document holds the answer, or the steps of
    how something is done, all its items are given (`steps`). Yes or no is said only when the pair
    reader is sure; otherwise the sentence speaks for itself. Deterministic, no language model.

    Attributes:
        sentences: At most so many quotes, but for a list and for rivals.
        keep: A further sentence may be quoted when it is at least so likely as this share of the
            best, wherever its hit stands; it is if it gives the same answer or supports it.
        known: From this confidence on what is read of one side counts in a comparison.
        laws: By the language of the question.
        rivalry: Looks for documents that give another value.
        rows: Finds the cells of tables that are asked for.
        verdicts: How sure yes or no is, by the language of the question.
    """

    pairs: CrossReader
    sentences: int = 2
    keep: float = 0.7
    known: float = 0.3
    laws: Mapping[str, Law] = field(default_factory=lambda: LAWS)
    rivalry: Rivalry = field(default_factory=Rivalry)
    rows: Rows = field(default_factory=Rows)
    verdicts: Mapping[str, VerdictLaw] = field(default_factory=lambda: VERDICTS)

    async def read(self, question: str, hits: Sequence[Hit], context: RunContext) -> Draft:
        """See `Reader.read`."""
        inputs = {"chunks": [hit.chunk.id for hit in hits]}
        with context.step("read", agent="reader", inputs=inputs) as here:
            seen, draft = await here.compute("read", lambda: self.looked(question, hits))
            reason = f"confidence {draft.confidence:.2f}, {len(seen)} of {len(hits)} chunks read"
            here.done(outputs=outline(draft), reason=reason)
        return draft

    def draft(self, question: str, hits: Sequence[Hit]) -> Draft:
        """What `read` gives, at once."""
        return self.looked(question, hits)[1]

    def looked(self, question: str, hits: Sequence[Hit]) -> tuple[tuple[ReadHit, ...], Draft]:
        """The hits that were read, and what came of it."""
        hits = attributed(question, hits)
        compared = comparison(question, _SIDES)
        if compared and compared.want not in {"one", "each"}:
            seen, draft = self._sides(question, compared, hits)
            if draft.short_answer:
                return seen, draft
        return self._looked(question, hits)

    def _looked(
        self, question: str, hits: Sequence[Hit], *, comparable: bool = False
    ) -> tuple[tuple[ReadHit, ...], Draft]:
        """The hits that were read, and what they answer; on demand only dates and amounts."""
        session = self.pairs.session(question, spans=SPANS)
        form = form_of(question)
        fall = self._law(question).fall
        if form == "yes or no":
            seen = look(session, hits, _decides, fall=fall)
            return seen, self._decided(question, seen)
        if form == "several" or asks_steps(question):
            seen = look(session, hits, lambda _: 0.0, fall=fall)
            return seen, self._listed(question, seen, several=form == "several")
        seen = tuple(
            self._fitting(question, self.rows(question, each, session), comparable=comparable)
            for each in look(session, hits, _best, fall=fall)
        )
        draft = self._answered(question, candidates_of(seen))
        steps = listed(question, seen, self.rows.terms)
        if steps:
            return seen, self._counted(question, draft, steps)
        if not draft.evidence:
            return seen, draft
        if asks_items(question) and (
            whole := list_around(question, draft.evidence[0], seen, self.rows.terms)
        ):
            return seen, replace(draft, evidence=whole.evidence, short_answer=whole.short)
        own = draft.evidence[0].hit
        rivalry = replace(self.rivalry, likely=self._law(question).rival)
        rivals = rivalry.of(question, draft.short_answer, own, hits, session)
        return seen, _beside(draft, rivals)

    def _fitting(self, question: str, seen: ReadHit, *, comparable: bool) -> ReadHit:
        """A hit that was read, without spans that cannot be what is asked for."""
        text, kind = seen.hit.chunk.text, asked_kind(question)
        options = apart([self.rows.terms(each) for each in offered(question)])

        def may_be(span: Span) -> bool:
            said = span.cut(text)
            return (
                fits(question, text, span)
                and (kind is None or tells(kind, said))
                and not (comparable and value_of(said) is None)
                and (not options or any(self.rows.terms(said) & each for each in options))
            )

        kept = tuple(each for each in seen.reading.spans if may_be(each.span))
        return replace(seen, reading=replace(seen.reading, spans=kept))

    def _counted(self, question: str, draft: Draft, steps: Steps) -> Draft:
        """How many there are, as stated or as listed; no short answer where the two differ."""
        count = len(steps.evidence)
        if draft.confidence < self.known or stated(draft.short_answer) is None:
            confidence = self._confidence(question, steps.best)
            return Draft(evidence=steps.evidence, short_answer=str(count), confidence=confidence)
        if stated(draft.short_answer) == count:
            return draft
        return replace(draft, evidence=(*draft.evidence, *steps.evidence), short_answer="")

    def _sides(
        self, question: str, compared: Comparison, hits: Sequence[Hit]
    ) -> tuple[tuple[ReadHit, ...], Draft]:
        """A comparison decided by what is read of each side; no short answer where it is not.

        A side is read in the hits that name it. What is not sure, or what documents do not agree
        on, is not known of it.
        """
        seen: list[ReadHit] = []
        drafts: list[Draft] = []
        ordered = compared.want in {"least", "most", "less", "more"}
        for option, asked in zip(compared.options, compared.questions, strict=True):
            looks, draft = self._looked(asked, naming(option, hits), comparable=ordered)
            seen += looks
            drafts.append(draft)
        known = [
            each.short_answer if each.confidence >= self.known and not each.alternatives else ""
            for each in drafts
        ]
        short = decided(question, compared, known)
        told = [draft for draft, answer in zip(drafts, known, strict=True) if answer]
        evidence = dict.fromkeys(item for draft in told for item in draft.evidence[:1])
        confidence = min((draft.confidence for draft in told), default=0.0)
        draft = Draft(evidence=tuple(evidence), short_answer=short, confidence=confidence)
        return tuple(dict.fromkeys(seen)), draft

    def _answered(self, question: str, candidates: Sequence[Candidate]) -> Draft:
        if not candidates:
            return Draft()
        judge = LocalJudge(pairs=self.pairs)
        kept = supporting(question, candidates, self.keep, judge.scores)[: self.sentences]
        return Draft(
            evidence=completed([each.evidence for each in kept]),
            short_answer=candidates[0].text,
            confidence=self._confidence(question, candidates[0]),
        )

    def _listed(self, question: str, seen: Sequence[ReadHit], *, several: bool) -> Draft:
        candidates = candidates_of(seen)
        lists = steps_of(question, seen, self.rows.terms) if candidates else []
        steps = next((each for each in lists if each.answers(candidates[0], self.keep)), None)
        if steps:
            best = max(steps.best, candidates[0], key=lambda each: each.score)
            return Draft(
                evidence=steps.evidence,
                short_answer=steps.short if several else "",
                confidence=self._confidence(question, best),
            )
        likely = nearly([each.places[0] for each in candidates], self.keep)[:_LONGEST_LIST]
        if not several or len(likely) < 2:
            return self._answered(question, candidates)
        return Draft(
            evidence=tuple(each.evidence for each in quotes(likely)),
            short_answer=", ".join(each.text for each in likely),
            confidence=self._confidence(question, candidates[0]),
        )

    def _law(self, question: str) -> Law:
        return self.laws[question_language(question)]

    def _confidence(self, question: str, best: Candidate) -> float:
        score, answerable, offset = self._law(question).sureness
        logit = score * logit_of(best.score) + answerable * logit_of(best.places[0].answerable)
        logit += offset
        return round(1 / (1 + math.exp(-logit)), 6)

    def _decided(self, question: str, seen: Sequence[ReadHit]) -> Draft:
        """Yes or no with the sentence that decides; else what stands where it would answer."""
        verdict = Verdicts(pairs=self.pairs, laws=self.verdicts)(question, seen)
        if verdict is not None:
            return Draft(
                evidence=(verdict.evidence,),
                short_answer=word_for(question, yes=verdict.yes),
                confidence=verdict.confidence,
            )
        place = max(seen, key=_decides, default=None)
        draft = self._answered(question, candidates_of([place] if place else []))
        return Draft(evidence=draft.evidence[:1], confidence=draft.confidence)


def outline(draft: Draft) -> dict[str, object]:
    """What a trace keeps of a draft: places and numbers rather than texts."""
    return {
        "evidence": [
            [item.hit.chunk.id, item.span.start, item.span.end, item.support]
            for item in draft.evidence
        ],
        "confidence": draft.confidence,
    }


def logit_of(share: float) -> float:
    """The logit of a probability, bounded."""
    if not 0 < share < 1:
        return _LOGIT if share >= 1 else -_LOGIT
    return max(-_LOGIT, min(_LOGIT, math.log(share / (1 - share))))


def _best(seen: ReadHit) -> float:
    return seen.trust * max((span.score for span in seen.reading.spans), default=0.0)


def _decides(seen: ReadHit) -> float:
    """Probability that the hit decides the question as it says, times the trust in it."""
    read = seen.reading
    sure = read.relevance * read.decided * max(read.yes, 1 - read.yes)
    return round(seen.trust * sure, 6)


def _beside(draft: Draft, rivals: Sequence[Rival]) -> Draft:
    """The draft with what other documents say instead, each with its quote."""
    evidence = list(draft.evidence)
    others = []
    for rival in rivals:
        place = next((at for at, own in enumerate(evidence) if _quoted_alike(own, rival)), None)
        if place is None:
            place = len(evidence)
            evidence.append(rival.evidence)
        others.append(Alternative(text=rival.text, evidence=(place,)))
    return replace(draft, evidence=tuple(evidence), alternatives=tuple(others))


def _quoted_alike(own: Evidence, rival: Rival) -> bool:
    return (own.hit.chunk.id, own.span) == (rival.evidence.hit.chunk.id, rival.evidence.span)


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


@dataclass(frozen=True, slots=True)
class NullReader:
    """A `Reader` that reads nothing: it records the hits, and its draft is always empty."""

    async def read(self, question: str, hits: Sequence[Hit], context: RunContext) -> Draft:
        """See `Reader.read`."""
        inputs = {"question": question, "chunks": [hit.chunk.id for hit in hits]}
        with context.step("list", agent="reader", inputs=inputs) as here:
            here.done(reason=f"{len(hits)} chunks, none read")
        return Draft()
