"""The finalizer: the last draft becomes an answer whose quotes are verified, or an abstention."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from fathom.agents.reader.signals import AnswerSignals
from fathom.question.form import asked_count
from fathom.question.requirements import items_of
from fathom.retrieval.quotes import Quoted, QuotePlace, Quotes
from fathom.runs.context import DeadlineOver, RunContext, Weighed
from fathom.types import (
    PARTIAL_LIST,
    AbstentionReason,
    Answer,
    Citation,
    Conflict,
    Draft,
    Evidence,
    Hit,
    Span,
)
from fathom.usage import Budget, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Finalizer:
    """Looks up every quote, and writes the answer of those that stand where they should.

    Attributes:
        strategy: Whose draft it is.
        min_confidence: Of the draft, or by who weighs it; where both are below it the answer is
            withheld, unless who weighs it decides alone.
        signals: Tells in numbers what is known of an answer, for who weighs it.
    """

    quotes: Quotes
    strategy: str
    min_confidence: float
    signals: AnswerSignals | None = None

    async def __call__(
        self,
        question: str,
        draft: Draft,
        *,
        phase: str,
        context: RunContext,
        hits: Sequence[Hit] = (),
        withheld: AbstentionReason | None = None,
    ) -> Answer:
        """Turn a draft into an answer, as one step of the run.

        Args:
            question: What was asked.
            draft: The last one.
            phase: The step of the strategy that it comes from.
            context: Where it is recorded.
            hits: What the draft was made of, best first.
            withheld: Why a gate decided against the answer; it abstains then.

        Returns:
            Answered with verified quotes only; abstained when there are none, or when the draft
            is not sure enough. Usage and budget are filled in when the run ends.
        """
        with context.step("finalize", agent="finalizer") as here:
            found = await self._found(draft.evidence, here)
            weighed: Weighed | None = None
            told: dict[str, object] = {"citations": 0, "confidence": draft.confidence}
            if here.weigh is not None:
                signals = await self._signals(question, draft, hits, here)
                weighed = here.weigh(signals)
                told["signals"] = signals
            answer = self.answer(
                question, draft, found, phase=phase, withheld=withheld, weighed=weighed
            )
            here.done(
                outputs=told | {"citations": len(answer.citations)},
                verdict=answer.status,
                reason=answer.stop_reason,
            )
        return answer

    async def _signals(
        self, question: str, draft: Draft, hits: Sequence[Hit], context: RunContext
    ) -> dict[str, float]:
        """The signals of the answer; empty where there was no time for them."""
        if self.signals is None:
            return {}
        searches = context.scope.observe(
            "spent", "retrievals", lambda: context.ledger.usage.retrievals
        )
        # It may take what is kept for the last step, and is no part of the answer's own work.
        late = replace(context, deadline=context.end, refusals=[])
        job = partial(self.signals, question, draft, hits, searches=searches)
        try:
            return await late.compute("signals", job)
        except DeadlineOver:
            return {}

    async def _found(
        self, evidence: Sequence[Evidence], context: RunContext
    ) -> tuple[Quoted | None, ...]:
        """What stands at the places of the evidence: in the index, or in what the web gave."""
        own = [item for item in evidence if item.hit.chunk.source == "corpus"]
        places = [
            QuotePlace(item.hit.chunk.document_id, _place(item), item.heading) for item in own
        ]
        looked_up = iter(await self.quotes(places, context))
        return tuple(
            next(looked_up) if item.hit.chunk.source == "corpus" else _recorded(item)
            for item in evidence
        )

    def answer(
        self,
        question: str,
        draft: Draft,
        found: Sequence[Quoted | None],
        *,
        phase: str,
        withheld: AbstentionReason | None = None,
        weighed: Weighed | None = None,
    ) -> Answer:
        """The answer, given what stands at the places of the draft's evidence."""
        cited = _verified(draft.evidence, found)
        citations = tuple(dict.fromkeys(cited.values()))
        conflicts = _conflicts(draft, cited)
        text = _text(draft, found, cited)
        reason = withheld
        if not text:
            reason = "no_evidence"
        elif reason is None and not self._enough(draft, conflicts, weighed or Weighed(None)):
            reason = "low_confidence"
        return Answer(
            question=question,
            status="abstained" if reason else "answered",
            answer="" if reason else text,
            short_answer="" if reason else draft.short_answer,
            confidence=weighed.confidence if weighed else draft.confidence,
            calibration=weighed.by or None if weighed else None,
            citations=citations,
            conflicts=() if reason else conflicts,
            strategy=self.strategy,
            phase=phase,
            stop_reason=reason or _said(question, draft),
            usage=Usage(),
            budget=Budget(),
        )

    def _enough(self, draft: Draft, conflicts: Sequence[Conflict], weighed: Weighed) -> bool:
        """Whether the answer is given.

        A draft that is sure of itself and shows who says otherwise, unrefuted, claims less than to
        be right: it need not be probable.
        """
        own = draft.confidence >= self.min_confidence
        sure = own or weighed.sure >= self.min_confidence
        open_sides = own and any(not each.refuted for each in conflicts)
        return weighed.enough and sure and (weighed.probable or open_sides)


def _said(question: str, draft: Draft) -> str:
    """Why an answer is the last word: it is one, or as much of a list as could be found."""
    asked = asked_count(question)
    return PARTIAL_LIST if asked and items_of(draft) < asked else "answered"


def _verified(
    evidence: Sequence[Evidence], found: Sequence[Quoted | None]
) -> Mapping[int, Citation]:
    """Citations by place in the evidence; one place of a document has one number."""
    cited: dict[int, Citation] = {}
    numbers: dict[tuple[str, Span], Citation] = {}
    for place, (item, quoted) in enumerate(zip(evidence, found, strict=True)):
        if quoted is None or not item.quote or quoted.text != item.quote:
            continue
        span = _place(item)
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


def _text(draft: Draft, found: Sequence[Quoted | None], cited: Mapping[int, Citation]) -> str:
    """The sentences that kept a citation, or else the quotes themselves; empty without any."""
    if not draft.claims:
        return _laid_out({cited[at].n: quoted for at, quoted in enumerate(found) if at in cited})
    parts = []
    for claim in draft.claims:
        marks = dict.fromkeys(f"[{cited[at].n}]" for at in claim.evidence if at in cited)
        if marks:
            parts.append(f"{_line(claim.text)} {''.join(marks)}")
    return " ".join(parts)


def _laid_out(quotes: Mapping[int, Quoted | None]) -> str:
    """Quotes by their numbers as one text: sentences in one line; items, rows, code in their own.

    A row stands below the names of its columns, items of a list have their labels.
    """
    lines: list[str] = []
    before: Quoted | None = None
    listed = sum(each is not None and each.kind == "list_item" for each in quotes.values()) > 1
    for n, quoted in quotes.items():
        if quoted is None:
            continue
        line = f"{quoted.text if quoted.kind == 'code' else _line(quoted.text)} [{n}]"
        if (
            quoted.kind == "table_row"
            and quoted.head
            and (before is None or before.head != quoted.head)
        ):
            lines.append(quoted.head)
        if quoted.kind == "list_item" and listed:
            line = f"{quoted.label or '-'} {line}"
        if lines and before is not None and before.kind == quoted.kind == "paragraph":
            lines[-1] += f" {line}"
        else:
            lines.append(line)
        before = quoted
    return "\n".join(lines)


def _conflicts(draft: Draft, cited: Mapping[int, Citation]) -> tuple[Conflict, ...]:
    """The other readings that kept a citation."""
    found = []
    for other in draft.alternatives:
        numbers = dict.fromkeys(cited[at].n for at in other.evidence if at in cited)
        if numbers:
            found.append(
                Conflict(answer=_line(other.text), citations=tuple(numbers), refuted=other.refuted)
            )
    return tuple(found)


def _recorded(item: Evidence) -> Quoted:
    """The quote in the text that the web gave, which the trace keeps; there is nothing else."""
    return Quoted(title=item.hit.chunk.title, text=item.quote)


def _place(item: Evidence) -> Span:
    return item.span.shifted(item.hit.chunk.span.start)


def _line(text: str) -> str:
    return " ".join(text.split())
