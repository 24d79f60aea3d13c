"""The finalizer: turns the last draft into an answer with verified quotes, or an abstention.

Every strategy ends with it. It looks up each quote in the index, applies the calibration and the
lowest confidence, and marks answers that another document denies as tentative.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from fathom.agents.disputes import state_dispute
from fathom.agents.reader.signals import AnswerSignals
from fathom.agents.reader.trusted_sources import TrustedSources
from fathom.agents.reader.voices import rests_on_stuffing
from fathom.question.question import Question
from fathom.question.requirements import count_items
from fathom.retrieval.quotes import DocumentQuote, QuoteLookup, QuotePlace
from fathom.runs.context import CHAINED, COMPUTED, CalibratedConfidence, DeadlineOver, RunContext
from fathom.types import (
    PARTIAL_LIST,
    AbstentionReason,
    Answer,
    Calculation,
    Citation,
    Conflict,
    Draft,
    Evidence,
    Hit,
    Span,
)
from fathom.usage import Budget, Usage

_Outcome = Literal["answered", "tentative", "abstained"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finalizer:
    """A role that verifies every quote and composes the answer from those that are verified.

    Attributes:
        strategy: The name of the strategy that made the draft.
        min_confidence: The lowest confidence of an answer that is given. If both the draft's and
            the calibrated one are below it, the answer is tentative or withheld.
        signals: The function that computes the signals that the calibration weighs.
        trusted: The sources whose documents win against all others.
    """

    quotes: QuoteLookup
    strategy: str
    min_confidence: float
    signals: AnswerSignals | None = None
    trusted: TrustedSources = field(default_factory=TrustedSources)

    async def __call__(
        self,
        question: Question,
        draft: Draft,
        *,
        phase: str,
        context: RunContext,
        hits: Sequence[Hit] = (),
        withheld: AbstentionReason | None = None,
    ) -> Answer:
        """Turn a draft into an answer, as one step of the run.

        Args:
            question: The question.
            draft: The last draft.
            phase: The step of the strategy that made the draft.
            context: The run that records the step.
            hits: The hits that the draft was made of, best first.
            withheld: The reason why a gate withholds the answer; with one, the finalizer abstains.

        Returns:
            An answer with verified quotes only; an abstention if there are none, or if the
            confidence is too low even for a tentative answer. Usage and budget are filled in when
            the run ends.
        """
        with context.step("finalize", agent="finalizer") as step:
            quotes = await self._look_up_quotes(draft.evidence, step)
            calibrated: CalibratedConfidence | None = None
            outputs: dict[str, object] = {"citations": 0, "confidence": draft.confidence}
            if step.weigh is not None:
                signals = await self._compute_signals(question, draft, hits, step)
                # The other signals say little about table cells, so these two choose a law of their
                # own.
                calibrated = step.weigh(signals | self._describe_origin(draft))
                outputs["signals"] = signals
            answer = self.compose_answer(
                question, draft, quotes, phase=phase, withheld=withheld, calibrated=calibrated
            )
            if answer.status == "answered" and self._is_doubtful(question, draft, answer, hits):
                answer = replace(answer, tentative=True)
                # Traces of earlier versions do not list disputed readings, and a replay must match
                # them.
                if step.states_disputes and not self.trusted.settles(draft):
                    answer = state_dispute(question, answer)
            if answer.status == "abstained" and answer.citations:
                # Evaluation counts how many withheld answers were right.
                text = _compose_text(draft, quotes, _cite_verified(draft.evidence, quotes))
                outputs["withheld"] = {"answer": text, "short_answer": draft.short_answer}
            step.set_outcome(
                outputs=outputs | {"citations": len(answer.citations)},
                verdict="tentative" if answer.tentative else answer.status,
                reason=answer.stop_reason,
            )
        return answer

    def _describe_origin(self, draft: Draft) -> dict[str, float]:
        """Return the signal of a computed or chained answer, which selects its calibration law."""
        if draft.calculation:
            return {COMPUTED: draft.confidence}
        is_chained = self.signals is not None and self.signals.about is not None
        return {CHAINED: 1.0} if is_chained else {}

    async def _compute_signals(
        self, question: Question, draft: Draft, hits: Sequence[Hit], context: RunContext
    ) -> dict[str, float]:
        """Compute the signals of the answer; empty without a function or without time."""
        if self.signals is None:
            return {}
        searches = context.scope.observe(
            "spent", "retrievals", lambda: context.ledger.usage.retrievals
        )
        # The signals may use the time reserved for the last step. If that is refused, it must not
        # show up as a refusal of the answer's own work.
        late = replace(context, deadline=context.end, refusals=[])
        job = partial(self.signals, question, draft, hits, searches=searches)
        try:
            return await late.compute("signals", job)
        except DeadlineOver:
            return {}

    async def _look_up_quotes(
        self, evidence: Sequence[Evidence], context: RunContext
    ) -> tuple[DocumentQuote | None, ...]:
        """Look up each quote in the index, or in the recorded text of a web page."""
        indexed = [item for item in evidence if item.hit.chunk.source == "corpus"]
        places = [
            QuotePlace(item.hit.chunk.document_id, _locate_quote(item), item.heading)
            for item in indexed
        ]
        # One lookup for all places, so that the index is read once.
        lookups = iter(await self.quotes(places, context))
        return tuple(
            next(lookups) if item.hit.chunk.source == "corpus" else _quote_web_text(item)
            for item in evidence
        )

    def compose_answer(
        self,
        question: Question,
        draft: Draft,
        quotes: Sequence[DocumentQuote | None],
        *,
        phase: str,
        withheld: AbstentionReason | None = None,
        calibrated: CalibratedConfidence | None = None,
    ) -> Answer:
        """Compose the answer.

        Args:
            question: The question.
            draft: The last draft.
            quotes: The text that the index has for each item of the draft's evidence; `None` if
                none.
            phase: The step of the strategy that made the draft.
            withheld: The reason why a gate withholds the answer.
            calibrated: The calibrated confidence; `None` without a calibration.
        """
        cited = _cite_verified(draft.evidence, quotes)
        citations = tuple(dict.fromkeys(cited.values()))
        conflicts = _collect_conflicts(draft, cited)
        text = _compose_text(draft, quotes, cited)
        reason, outcome = withheld, ""
        if not text:
            # This overrides the gate's reason: an answer without a verified quote is never shown.
            reason = "no_evidence"
        elif reason is None:
            outcome = self._choose_outcome(
                draft, conflicts, calibrated or CalibratedConfidence(None)
            )
            reason = "low_confidence" if outcome == "abstained" else None
        return Answer(
            question=question.text,
            status="abstained" if reason else "answered",
            tentative=outcome == "tentative",
            answer="" if reason else text,
            short_answer="" if reason else draft.short_answer,
            confidence=calibrated.confidence if calibrated else draft.confidence,
            calibration=calibrated.by or None if calibrated else None,
            citations=citations,
            conflicts=() if reason else conflicts,
            strategy=self.strategy,
            phase=phase,
            stop_reason=reason or _choose_stop_reason(question, draft),
            usage=Usage(),
            budget=Budget(),
            calculation=None if reason else _cite_cells(draft.calculation, cited),
        )

    def _is_doubtful(
        self, question: Question, draft: Draft, answer: Answer, hits: Sequence[Hit]
    ) -> bool:
        """Return whether another document denies the answer, or its own repeats the question.

        Anybody who can add documents can plant such text, so the confidence does not matter here. A
        draft that a calculator doubted is doubtful too; one from a trusted source is otherwise not.
        """
        if draft.is_doubted or self.trusted.settles(draft):
            return draft.is_doubted
        return bool(answer.conflicts) or rests_on_stuffing(question, draft, hits)

    def _choose_outcome(
        self, draft: Draft, conflicts: Sequence[Conflict], calibrated: CalibratedConfidence
    ) -> _Outcome:
        """Decide whether the answer is given, shown as tentative, or withheld.

        An answer is given if it is sure and probable. A sure draft with unrefuted other readings
        need not be probable, because the caller marks it as tentative afterwards.
        """
        draft_is_sure = draft.confidence >= self.min_confidence
        is_sure = draft_is_sure or calibrated.sure >= self.min_confidence
        shows_conflict = draft_is_sure and any(not conflict.refuted for conflict in conflicts)
        if calibrated.enough and is_sure and (calibrated.probable or shows_conflict):
            return "answered"
        is_shown = calibrated.tentative if is_sure else calibrated.likely
        return "tentative" if is_shown else "abstained"


def _choose_stop_reason(question: Question, draft: Draft) -> str:
    """Return the stop reason of an answer: "answered", or only part of the list asked for."""
    count = question.count
    return PARTIAL_LIST if count and count_items(draft) < count else "answered"


def _cite_verified(
    evidence: Sequence[Evidence], quotes: Sequence[DocumentQuote | None]
) -> Mapping[int, Citation]:
    """Return the verified citations by index of the evidence, numbered once for each place."""
    cited: dict[int, Citation] = {}
    numbers: dict[tuple[str, Span], Citation] = {}
    for place, (item, quoted) in enumerate(zip(evidence, quotes, strict=True)):
        # An unverified quote is left out; a sentence without any citation is dropped later.
        if quoted is None or not item.quote or quoted.text != item.quote:
            continue
        span = _locate_quote(item)
        # A heading has no span in its chunk; the index knows its position in the document.
        if quoted.start is not None:
            span = Span(quoted.start, quoted.start + len(quoted.text))
        document = item.hit.chunk.document_id
        citation = numbers.setdefault(
            (document, span),
            Citation(
                n=len(numbers) + 1,
                document=document,
                path=quoted.path,
                title=quoted.title,
                section=quoted.section,
                page=quoted.page,
                line=quoted.line,
                recognised=quoted.recognised,
                date=quoted.date,
                start=span.start,
                end=span.end,
                quote=item.quote,
                verified=True,
                support=item.support,
                source=item.hit.chunk.source,
            ),
        )
        cited[place] = citation
    return cited


def _compose_text(
    draft: Draft, quotes: Sequence[DocumentQuote | None], cited: Mapping[int, Citation]
) -> str:
    """Return the sentences with a verified citation, or else the quotes; empty without any."""
    if not draft.claims:
        return _lay_out({cited[at].n: quoted for at, quoted in enumerate(quotes) if at in cited})
    sentences = []
    for claim in draft.claims:
        marks = dict.fromkeys(f"[{cited[at].n}]" for at in claim.evidence if at in cited)
        if marks:
            sentences.append(f"{_join_lines(claim.text)} {''.join(marks)}")
    return " ".join(sentences)


def _lay_out(quotes: Mapping[int, DocumentQuote | None]) -> str:
    """Lay out quotes by their numbers as one text.

    Sentences share one line; list items, table rows and code have lines of their own. The first row
    has the column names above it; items of a list have their labels.
    """
    lines: list[str] = []
    previous: DocumentQuote | None = None
    # A single item does not make a list: its label would say nothing.
    is_list = sum(quote is not None and quote.kind == "list_item" for quote in quotes.values()) > 1
    for n, quoted in quotes.items():
        if quoted is None:
            continue
        line = f"{quoted.text if quoted.kind == 'code' else _join_lines(quoted.text)} [{n}]"
        if (
            quoted.kind == "table_row"
            and quoted.head
            and (previous is None or previous.head != quoted.head)
        ):
            lines.append(quoted.head)
        if quoted.kind == "list_item" and is_list:
            line = f"{quoted.label or '-'} {line}"
        if lines and previous is not None and previous.kind == quoted.kind == "paragraph":
            lines[-1] += f" {line}"
        else:
            lines.append(line)
        previous = quoted
    return "\n".join(lines)


def _collect_conflicts(draft: Draft, cited: Mapping[int, Citation]) -> tuple[Conflict, ...]:
    """Return the alternatives that have a verified citation."""
    conflicts = []
    for alternative in draft.alternatives:
        numbers = dict.fromkeys(cited[at].n for at in alternative.evidence if at in cited)
        if numbers:
            conflicts.append(
                Conflict(
                    answer=_join_lines(alternative.text),
                    citations=tuple(numbers),
                    refuted=alternative.refuted,
                )
            )
    return tuple(conflicts)


def _cite_cells(
    calculation: Calculation | None, cited: Mapping[int, Citation]
) -> Calculation | None:
    """Return a calculation whose cells refer to citation numbers instead of evidence indexes."""
    if calculation is None:
        return None
    cells = tuple(
        replace(cell, citation=cited[cell.citation].n)
        for cell in calculation.cells
        if cell.citation in cited
    )
    return replace(calculation, cells=cells)


def _quote_web_text(item: Evidence) -> DocumentQuote:
    """Return the quote of a web page as verified.

    The recorded text of the page is the only source, and the quote was cut from it.
    """
    return DocumentQuote(title=item.hit.chunk.title, text=item.quote)


def _locate_quote(item: Evidence) -> Span:
    """Return the span of a quote in its document."""
    return item.span.shift(item.hit.chunk.span.start)


def _join_lines(text: str) -> str:
    """Return a text with all whitespace collapsed to single blanks."""
    return " ".join(text.split())
