"""The local reader: reads hits with the cross-reader and drafts an answer by rules.

`LocalReader` is the role; `QuestionReading` reads one question and chooses the way by its form: a
single answer, a list (`lists`), yes or no (`yes_no`), a comparison (`comparisons`), or several
questions in one. `rivals` and `twins` add contradicting documents.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

from fathom.agents.calculator.local import Calculator
from fathom.agents.judge import LocalJudge
from fathom.agents.reader.base import ReadHit, compute_logit, outline_draft
from fathom.agents.reader.borders import fit_borders
from fathom.agents.reader.candidates import (
    Candidate,
    drop_repeated_quotes,
    group_candidates,
    select_likely,
    select_supporting,
)
from fathom.agents.reader.comparisons import decide_comparison, parse_value
from fathom.agents.reader.entries import EntryReader
from fathom.agents.reader.lists import (
    ListAnswer,
    complete_evidence,
    find_counted_list,
    find_list_around,
    find_lists,
    find_steps_around,
    parse_stated_number,
)
from fathom.agents.reader.rivals import LEAST_ANSWERABLE, Rival, RivalFinder
from fathom.agents.reader.signals import READ_FOR_SIGNALS
from fathom.agents.reader.tables import TableCorrector
from fathom.agents.reader.trusted_sources import TrustedSources
from fathom.agents.reader.twins import find_twins
from fathom.agents.reader.voices import put_suspects_last
from fathom.agents.reader.yes_no import VERDICTS, VerdictLaw, YesNoJudge
from fathom.models.reading import CrossReader, Reading, ReadingSession
from fathom.question.answer_kind import is_plausible
from fathom.question.comparison import Comparison, drop_shared_words
from fathom.question.question import Question
from fathom.runs.context import RunContext
from fathom.text.content_words import Terms
from fathom.types import Alternative, Draft, Evidence, Hit, Span

if TYPE_CHECKING:
    from fathom.assembly import Assembly


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderLaw:
    """The law by which the cross-reader's numbers become a confidence, for one language.

    Attributes:
        fall: The exponent by which the trust in a hit falls with its rank (`compute_trust`).
        sureness: The law of the confidence's logit: the slope for the logit of the best answer's
            score, the slope for the logit of its chunk's `answerable`, and an offset.
        rival: The lowest probability that a chunk of another document answers the question at which
            it is shown as a rival.
    """

    fall: float
    sureness: tuple[float, float, float]
    rival: float = LEAST_ANSWERABLE


# `training/fit_span_reader.py` fits these laws; the figures are in docs/answers.md. No Indonesian
# question of the samples has a rival, and one chunk with 0.95 is none, hence the higher bound.
LAWS: Mapping[str, ReaderLaw] = {
    "en": ReaderLaw(fall=1.2, sureness=(0.27, 0.37, -0.46)),
    "id": ReaderLaw(fall=0.8, sureness=(0.41, 0.31, 0.27), rival=0.97),
}

_TRUSTED_SURE = 0.5
"""The lowest confidence at which an answer of a trusted document replaces another one."""
_LONGEST_LIST = 8
"""The largest number of single answers that are listed together."""
_MOST_PARTS = 3
"""The largest number of joined questions that are read; each needs a pass of its own."""
_MOST_SIDES = 2
"""The largest number of sides of a comparison that are read; each needs a pass of its own."""
MOST_SPANS = 8
"""The number of spans of a chunk that the reader considers."""
_ALWAYS_READ = 2
"""The number of first hits that are always read: the second may contradict the first."""


BestScore = Callable[[ReadHit], float]
"""A function that returns the highest score in a hit, which never exceeds the hit's trust."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalReader:
    """A reader that answers with the cross-reader's best span and quotes its sentence.

    Scores of equal answers in several hits are combined. Hits are read best first, only as far as
    the answer can still change (`read_in_order`). If other documents give another value, the draft
    shows it beside the answer (`rivals`). A question for a list is read in all hits, and all
    answers nearly as likely as the best are given. If the answer or its steps are a list of a
    document, the draft gives all items of the list (`lists`). The short answer is yes or no only if
    the cross-reader is sure; otherwise the draft is a quote without one. Deterministic.

    Attributes:
        sentences: The largest number of quotes, lists and rivals not counted.
        keep: The lowest share of the best quote's support at which a further sentence is quoted, if
            it also gives or supports the same answer.
        min_side_confidence: The lowest confidence at which the answer for one side of a comparison
            is used.
        laws: The laws of confidence by the language of the question.
        rivalry: The search for documents that give another value.
        tables: The corrector of answers in the cells of tables.
        verdicts: The laws of yes and no by the language of the question.
        calculator: The agent that computes over tables; `None` to read only.
        trusted: The sources whose documents win against all others.
    """

    pairs: CrossReader
    sentences: int = 2
    keep: float = 0.7
    min_side_confidence: float = 0.3
    laws: Mapping[str, ReaderLaw] = field(default_factory=lambda: LAWS)
    rivalry: RivalFinder = field(default_factory=RivalFinder)
    tables: TableCorrector = field(default_factory=TableCorrector)
    verdicts: Mapping[str, VerdictLaw] = field(default_factory=lambda: VERDICTS)
    calculator: Calculator | None = None
    trusted: TrustedSources = field(default_factory=TrustedSources)

    @classmethod
    def of(cls, assembly: "Assembly") -> Self:
        """Build the agent from the assembly."""
        return cls(
            pairs=assembly.cross_reader,
            sentences=assembly.settings.ask.sentences,
            calculator=Calculator.of(assembly),
            trusted=assembly.trusted_sources,
        )

    async def read(self, question: Question, hits: Sequence[Hit], context: RunContext) -> Draft:
        """Read the hits with the cross-reader and draft an answer."""
        inputs = {"chunks": [hit.chunk.id for hit in hits]}
        with context.step("read", agent="reader", inputs=inputs) as step:
            read_hits, draft = await step.compute("read", lambda: self.read_hits(question, hits))
            if self.calculator is not None:
                draft = await self.calculator.compute(question, hits, draft, step)
            reason = (
                f"confidence {draft.confidence:.2f}, {len(read_hits)} of {len(hits)} chunks read"
            )
            step.set_outcome(outputs=outline_draft(draft), reason=reason)
        return draft

    def draft(self, question: Question, hits: Sequence[Hit]) -> Draft:
        """Return the draft of the hits, without recording a step."""
        return self.read_hits(question, hits)[1]

    def read_hits(
        self, question: Question, hits: Sequence[Hit]
    ) -> tuple[tuple[ReadHit, ...], Draft]:
        """Return the hits that were read, with their readings, and the draft."""
        return self.open_question(question).read(hits)

    def open_question(self, question: Question) -> "QuestionReading":
        """Open a session of the cross-reader for a question, with the law of its language."""
        session = self.pairs.open_session(question.text, spans=MOST_SPANS)
        law = self.laws[question.language]
        return QuestionReading(reader=self, question=question, session=session, law=law)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionReading:
    """The reading of one question, which may be a side of a comparison or a part of another.

    Attributes:
        reader: The reader, with its bounds and settings.
        question: The question.
        session: The cross-reader's session for the question.
        law: The law of the question's language.
    """

    reader: LocalReader
    question: Question
    session: ReadingSession
    law: ReaderLaw

    @property
    def extract_terms(self) -> Terms:
        """The function that returns the content words of a text."""
        return self.reader.tables.extract_terms

    def read(self, hits: Sequence[Hit]) -> tuple[tuple[ReadHit, ...], Draft]:
        """Return the hits that were read, with their readings, and the draft."""
        hits = put_suspects_last(
            self.question, select_attributed(self.question, hits), self.reader.trusted
        )
        compared = self.question.comparison
        # One search rarely finds both lives of "who lived longer", and "one" and "each" have no
        # rule here.
        if compared and compared.want not in {"longest", "shortest", "one", "each"}:
            read_hits, draft = self._draft_comparison(compared.keep_first(_MOST_SIDES), hits)
            if draft.short_answer:
                return read_hits, draft
        # A comparison asks about its sides, so it is not split into parts.
        parts = () if compared else self.question.split_joined(_MOST_PARTS)
        if len(parts) > 1:
            read_hits, draft = self._draft_parts(parts, hits)
            if draft.evidence:
                return read_hits, draft
        return self.read_by_form(hits)

    def read_by_form(
        self, hits: Sequence[Hit], *, comparable: bool = False
    ) -> tuple[tuple[ReadHit, ...], Draft]:
        """Draft by the form of the question: yes or no, a list or steps, or a single answer.

        Args:
            hits: The hits, best first.
            comparable: Whether only dates and amounts may be answers.

        Returns:
            The hits that were read, and the draft.
        """
        form = self.question.form
        if form == "yes or no":
            read_hits = self._read_in_order(hits, _score_decision)
            return read_hits, self._draft_verdict(read_hits)
        if form == "several" or self.question.asks_steps:
            # A best score of 0 never ends the reading: a list may go on in any hit.
            read_hits = self._read_in_order(hits, lambda _: 0.0)
            draft = self._draft_list(read_hits, several=form == "several")
            return read_hits, self._prefer_entry(draft, hits)
        in_order = self._read_in_order(hits, _compute_best_score)
        corrected = [self.reader.tables(self.question, item, self.session) for item in in_order]
        read_hits = tuple(
            self._drop_misfits(read_hit, comparable=comparable)
            for read_hit in fit_borders(self.question, corrected)
        )
        return read_hits, self._prefer_entry(self._draft_single(read_hits, hits), hits)

    def _prefer_entry(self, draft: Draft, hits: Sequence[Hit]) -> Draft:
        """Return the draft of the manual entry that the question looks up, if that is better."""
        entries = EntryReader(extract_terms=self.extract_terms)
        return entries(self.question, draft, hits, self.session)

    def _read_in_order(self, hits: Sequence[Hit], best: BestScore) -> tuple[ReadHit, ...]:
        """Read the hits in order under the law of the question's language."""
        return read_in_order(self.session, hits, best, fall=self.law.fall)

    def _draft_single(self, read_hits: Sequence[ReadHit], hits: Sequence[Hit]) -> Draft:
        """Return the draft of a single answer, of a count, or of the list around the answer."""
        draft = self._draft_answer(group_candidates(read_hits))
        counted_list = find_counted_list(self.question, read_hits, self.extract_terms)
        if counted_list:
            return self._draft_count(draft, counted_list)
        if not draft.evidence:
            return draft
        best = draft.evidence[0]
        if self.question.asks_items and (
            surrounding := find_list_around(self.question, best, read_hits, self.extract_terms)
        ):
            return replace(
                draft, evidence=surrounding.evidence, short_answer=surrounding.short_answer
            )
        trusted_hits = self.reader.trusted.select_trusted(hits)
        if trusted_hits and best.hit not in trusted_hits:
            draft = self._ask_trusted(draft, trusted_hits)
        draft = self._add_rivals(draft, hits)
        if self.reader.trusted.settles(draft):
            refuted = [replace(reading, refuted=True) for reading in draft.alternatives]
            draft = replace(draft, alternatives=tuple(refuted))
        return draft

    def _ask_trusted(self, draft: Draft, trusted_hits: Sequence[Hit]) -> Draft:
        """Return the draft of the trusted hits if it is sure, with the given one as its rival."""
        read_hits = self._read_in_order(trusted_hits, _compute_best_score)
        trusted_draft = self._draft_answer(group_candidates(read_hits))
        if not trusted_draft.evidence or trusted_draft.confidence < _TRUSTED_SURE:
            return draft
        if self.question.answers_match(trusted_draft.short_answer, draft.short_answer):
            return trusted_draft
        rival = Rival(text=draft.short_answer, evidence=draft.evidence[0])
        return _cite_rivals(trusted_draft, [rival])

    def _add_rivals(self, draft: Draft, hits: Sequence[Hit]) -> Draft:
        """Return the draft with the contradicting answers of other documents added."""
        # The bound depends on the language of the question.
        rivalry = replace(self.reader.rivalry, likely=self.law.rival)
        rivals = rivalry.find_rivals(
            self.question, draft.short_answer, draft.evidence[0].hit, hits, self.session
        )
        rivals += find_twins(self.question, draft.short_answer, draft.evidence[0], hits)
        texts = [reading.text for reading in draft.alternatives]
        new_rivals: list[Rival] = []
        for rival in rivals:
            if not any(self.question.answers_match(rival.text, text) for text in texts):
                new_rivals.append(rival)
                texts.append(rival.text)
        return _cite_rivals(draft, new_rivals)

    def _drop_misfits(self, read_hit: ReadHit, *, comparable: bool) -> ReadHit:
        """Return a hit without the spans that cannot be the answer."""
        text, kind = read_hit.hit.chunk.text, self.question.expected_value
        # Words that all options have in common would let every span pass.
        options = drop_shared_words(
            [self.extract_terms(option) for option in self.question.options]
        )

        def may_be(span: Span) -> bool:
            text_of_span = span.cut(text)
            return (
                self.question.can_answer(text, span)
                and not self.question.is_repeated_by(text_of_span)
                and (kind is None or is_plausible(kind, text_of_span))
                and not (comparable and parse_value(text_of_span) is None)
                and (
                    not options
                    or any(self.extract_terms(text_of_span) & option for option in options)
                )
            )

        spans = tuple(span for span in read_hit.reading.spans if may_be(span.span))
        return replace(read_hit, reading=replace(read_hit.reading, spans=spans))

    def _draft_count(self, draft: Draft, counted_list: ListAnswer) -> Draft:
        """Return the draft of a count, as stated or as listed; no short answer if they differ."""
        count = len(counted_list.evidence)
        stated = parse_stated_number(draft.short_answer)
        if draft.confidence < self.reader.min_side_confidence or stated is None:
            return Draft(
                evidence=counted_list.evidence,
                short_answer=str(count),
                confidence=self._compute_confidence(counted_list.best),
            )
        if stated == count:
            return draft
        return replace(draft, evidence=(*draft.evidence, *counted_list.evidence), short_answer="")

    def _draft_comparison(
        self, compared: Comparison, hits: Sequence[Hit]
    ) -> tuple[tuple[ReadHit, ...], Draft]:
        """Return the draft of a comparison; it has no short answer if undecided.

        Each side is read in the hits that name it. An answer for a side is not used if its
        confidence is too low or if documents disagree on it.
        """
        read_hits: list[ReadHit] = []
        drafts: list[Draft] = []
        is_order = compared.want in {"least", "most", "less", "more"}
        for option, question in zip(compared.options, compared.questions, strict=True):
            # Only dates and amounts can be ordered.
            side_hits, draft = self.reader.open_question(Question(question)).read_by_form(
                select_naming(option, hits), comparable=is_order
            )
            read_hits += side_hits
            drafts.append(draft)
        answers = [
            side.short_answer
            if side.confidence >= self.reader.min_side_confidence and not side.alternatives
            else ""
            for side in drafts
        ]
        short = decide_comparison(self.question, compared, answers)
        sure_drafts = [draft for draft, answer in zip(drafts, answers, strict=True) if answer]
        evidence = dict.fromkeys(item for draft in sure_drafts for item in draft.evidence[:1])
        confidence = min((draft.confidence for draft in sure_drafts), default=0.0)
        draft = Draft(evidence=tuple(evidence), short_answer=short, confidence=confidence)
        # Both sides may have read the same hit.
        return tuple(dict.fromkeys(read_hits)), draft

    def _draft_parts(
        self, parts: Sequence[Question], hits: Sequence[Hit]
    ) -> tuple[tuple[ReadHit, ...], Draft]:
        """Return the draft of all parts of the question, with their lowest confidence.

        If a part has no answer, the draft has quotes but no short answer.
        """
        read_hits: list[ReadHit] = []
        drafts: list[Draft] = []
        for part in parts:
            part_hits, draft = self.reader.open_question(part).read_by_form(hits)
            read_hits += part_hits
            drafts.append(draft)
        answers = [draft.short_answer for draft in drafts]
        return tuple(dict.fromkeys(read_hits)), Draft(
            evidence=complete_evidence([item for draft in drafts for item in draft.evidence]),
            short_answer="; ".join(answers) if all(answers) else "",
            confidence=min(draft.confidence for draft in drafts),
        )

    def _draft_answer(self, candidates: Sequence[Candidate]) -> Draft:
        """Return the draft of the best answer with the sentences that support it."""
        if not candidates:
            return Draft()
        judge = LocalJudge(pairs=self.reader.pairs)
        places = select_supporting(self.question, candidates, self.reader.keep, judge.score_pairs)[
            : self.reader.sentences
        ]
        return Draft(
            evidence=complete_evidence([place.evidence for place in places]),
            short_answer=candidates[0].text,
            confidence=self._compute_confidence(candidates[0]),
        )

    def _draft_list(self, read_hits: Sequence[ReadHit], *, several: bool) -> Draft:
        """Return the draft for a question for several things, or for steps.

        A list of a document is preferred to single answers nearly as likely as the best.
        """
        candidates = group_candidates(read_hits)
        lists = find_lists(self.question, read_hits, self.extract_terms) if candidates else []
        keep = self.reader.keep
        if not several:
            lists = [item for item in lists if item.may_be_steps]
        answer = next((item for item in lists if item.outweighs(candidates[0], keep)), None)
        if answer:
            best = max(answer.best, candidates[0], key=lambda candidate: candidate.score)
            return Draft(
                evidence=answer.evidence,
                short_answer=answer.short_answer if several else "",
                confidence=self._compute_confidence(best),
            )
        likely_spans = select_likely([candidate.places[0] for candidate in candidates], keep)[
            :_LONGEST_LIST
        ]
        if not several:
            draft = self._draft_answer(candidates)
            hits = [read_hit.hit for read_hit in read_hits]
            steps = find_steps_around(draft.evidence[0], hits) if draft.evidence else ()
            return replace(draft, evidence=steps, short_answer="") if steps else draft
        if len(likely_spans) < 2:
            return self._draft_answer(candidates)
        return Draft(
            evidence=tuple(span.evidence for span in drop_repeated_quotes(likely_spans)),
            short_answer=", ".join(span.text for span in likely_spans),
            confidence=self._compute_confidence(candidates[0]),
        )

    def _compute_confidence(self, best: Candidate) -> float:
        """Return the probability that the best answer is right, in [0, 1]."""
        score, answerable, offset = self.law.sureness
        logit = score * compute_logit(best.score) + answerable * compute_logit(
            best.places[0].answerable
        )
        logit += offset
        return round(1 / (1 + math.exp(-logit)), 6)

    def _draft_verdict(self, read_hits: Sequence[ReadHit]) -> Draft:
        """Return the draft of yes or no with the sentence that decides, else of a quote alone.

        If undecided, the quote comes from the hit that most probably decides the question.
        """
        judge = YesNoJudge(pairs=self.reader.pairs, laws=self.reader.verdicts)
        verdict = judge(self.question, read_hits)
        if verdict is not None:
            return Draft(
                evidence=(verdict.evidence,),
                short_answer=self.question.choose_word(yes=verdict.yes),
                confidence=verdict.confidence,
            )
        best_hit = max(read_hits, key=_score_decision, default=None)
        draft = self._draft_answer(group_candidates([best_hit] if best_hit else []))
        # No short answer: the quote is shown, and the user decides.
        return Draft(evidence=draft.evidence[:1], confidence=draft.confidence)


def _compute_best_score(read_hit: ReadHit) -> float:
    """Return the score of the best span of a hit, times the trust in the hit."""
    return read_hit.trust * max((span.score for span in read_hit.reading.spans), default=0.0)


def _score_decision(read_hit: ReadHit) -> float:
    """Return the probability that a hit decides a yes-or-no question, times the trust in it."""
    reading = read_hit.reading
    probability = reading.relevance * reading.decided * max(reading.yes, 1 - reading.yes)
    return round(read_hit.trust * probability, 6)


def _cite_rivals(draft: Draft, rivals: Sequence[Rival]) -> Draft:
    """Return the draft with the answers of other documents, each with its quote."""
    evidence = list(draft.evidence)
    alternatives = list(draft.alternatives)
    for rival in rivals:
        # A quote that is already evidence is not added again, so that it has one number.
        place = next((at for at, item in enumerate(evidence) if _quotes_match(item, rival)), None)
        if place is None:
            place = len(evidence)
            evidence.append(rival.evidence)
        alternatives.append(Alternative(text=rival.text, evidence=(place,)))
    return replace(draft, evidence=tuple(evidence), alternatives=tuple(alternatives))


def _quotes_match(item: Evidence, rival: Rival) -> bool:
    """Return whether an item of evidence and a rival quote the same place."""
    return (item.hit.chunk.id, item.span) == (rival.evidence.hit.chunk.id, rival.evidence.span)


def compute_trust(place: int, fall: float) -> float:
    """Return the trust in the hit at rank `place` (from 1): `place` ** -`fall`, in (0, 1]."""
    return float(place**-fall)


def read_in_order(
    session: ReadingSession, hits: Sequence[Hit], best: BestScore, *, fall: float
) -> tuple[ReadHit, ...]:
    """Read the hits in order until the rest cannot change the best answer.

    No score of a hit exceeds its trust, and trust falls with the rank. When the best score so far
    is at least the trust of the next hit, no further hit can score higher. The first two hits are
    always read, because the second may contradict the first.

    Args:
        session: The cross-reader's session for the question.
        hits: The hits, best first.
        best: The function that returns the highest score in a hit.
        fall: The exponent by which trust falls with the rank.
    """
    readings = _iterate_readings(session, hits)
    read_hits: list[ReadHit] = []
    highest = 0.0
    for place, hit in enumerate(hits, start=1):
        hit_trust = compute_trust(place, fall)
        if place > _ALWAYS_READ and highest >= hit_trust:
            break
        read_hits.append(ReadHit(hit=hit, reading=next(readings), trust=hit_trust))
        highest = max(highest, best(read_hits[-1]))
    return tuple(read_hits)


def _iterate_readings(session: ReadingSession, hits: Sequence[Hit]) -> Iterator[Reading]:
    """Yield the reading of each hit; the first `READ_FOR_SIGNALS` are read in one batch."""
    # One batch is faster than one hit at a time. Nothing is wasted, because the signals of the
    # answer need the same first hits and their readings are cached.
    yield from session.read([hit.chunk for hit in hits[:READ_FOR_SIGNALS]])
    for hit in hits[READ_FOR_SIGNALS:]:
        yield from session.read([hit.chunk])


def select_attributed(question: Question, hits: Sequence[Hit]) -> Sequence[Hit]:
    """Return the hits that name the source that the question names; all hits if none does."""
    naming_hits = select_naming(question.source, hits) if question.source else ()
    return naming_hits or hits


def select_naming(name: str, hits: Sequence[Hit]) -> Sequence[Hit]:
    """Return the hits that contain a name in text, title or headings, without its article."""
    bare_name = re.sub(r"^(?:the|a|an)\s+", "", name, flags=re.IGNORECASE)
    pattern = re.compile(rf"(?<!\w){re.escape(bare_name)}(?!\w)", re.IGNORECASE)
    return [hit for hit in hits if pattern.search(hit.chunk.context)]
