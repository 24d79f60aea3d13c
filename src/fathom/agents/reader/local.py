"""The local reader: which hits it reads, how far, and what it makes of them."""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fathom.agents.judge import LocalJudge
from fathom.agents.reader.base import ReadHit, logit_of, outline
from fathom.agents.reader.candidates import Candidate, candidates_of, nearly, quotes, supporting
from fathom.agents.reader.comparisons import decided, value_of
from fathom.agents.reader.lists import Steps, completed, list_around, listed, stated, steps_of
from fathom.agents.reader.rivals import LIKELY, Rival, Rivalry
from fathom.agents.reader.tables import Rows
from fathom.agents.reader.yes_no import VERDICTS, VerdictLaw, Verdicts
from fathom.models.reading import CrossReader, Reading, ReadingSession
from fathom.question.answer_kind import asked_kind, tells
from fathom.question.comparison import Comparison, apart, comparison, offered
from fathom.question.form import asks_items, asks_steps, form_of, word_for
from fathom.runs.context import RunContext
from fathom.text.answer_type import fits
from fathom.text.entities import names
from fathom.text.language import question_language
from fathom.types import Alternative, Draft, Evidence, Hit, Span


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
SPANS = 8
"""Possible answers of a chunk that are looked at."""
_AT_LEAST = 2
_ACCORDING = re.compile(
    r"\b(?:according to|as stated by|as reported by|menurut)\s+(?:the\s+)?", re.IGNORECASE
)


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


Best = Callable[[ReadHit], float]
"""The highest score that anything in a hit has, at most its trust."""


def trust(place: int, fall: float) -> float:
    """How far the hit at `place`, from 1, is trusted: 1 / place ** `fall`."""
    return float(place**-fall)


def look(
    session: ReadingSession, hits: Sequence[Hit], best: Best, *, fall: float
) -> tuple[ReadHit, ...]:
    """Read the hits in order until the rest cannot change what is best; two at least.

    The rule: no score of a hit exceeds its trust, and trust falls with the place. So when the
    best score so far is at least the trust of the next hit, none of the others can hold anything
    better. The second hit is read in any case: it may say otherwise.
    """
    readings = _in_turn(session, hits)
    seen: list[ReadHit] = []
    highest = 0.0
    for place, hit in enumerate(hits, start=1):
        trusted = trust(place, fall)
        if place > _AT_LEAST and highest >= trusted:
            break
        seen.append(ReadHit(hit=hit, reading=next(readings), trust=trusted))
        highest = max(highest, best(seen[-1]))
    return tuple(seen)


def _in_turn(session: ReadingSession, hits: Sequence[Hit]) -> Iterator[Reading]:
    """What each hit says; those that are read in any case are read at once, which is faster."""
    yield from session.read([hit.chunk for hit in hits[:_AT_LEAST]])
    for hit in hits[_AT_LEAST:]:
        yield from session.read([hit.chunk])


def source_of(question: str) -> str:
    """Who is to say it, as the question calls them: "according to the Treasury"; else empty."""
    found = _ACCORDING.search(question)
    if found is None:
        return ""
    named = next((each for each in names(question) if each.end > found.end()), None)
    told = named is not None and named.start <= found.end()
    return question[found.end() : named.end] if named is not None and told else ""


def attributed(question: str, hits: Sequence[Hit]) -> Sequence[Hit]:
    """The hits that name who is to say it, in text, title or headings; all where none does."""
    source = source_of(question)
    if not source:
        return hits
    return naming(source, hits) or hits


def naming(name: str, hits: Sequence[Hit]) -> Sequence[Hit]:
    """The hits that hold a name in text, title or headings."""
    bare = re.sub(r"^(?:the|a|an)\s+", "", name, flags=re.IGNORECASE)
    word = re.compile(rf"(?<!\w){re.escape(bare)}(?!\w)", re.IGNORECASE)
    return [hit for hit in hits if word.search(hit.chunk.context)]
