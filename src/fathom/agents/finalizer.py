"""The finalizer: the last draft becomes an answer whose quotes are verified, or an abstention."""

from collections.abc import Callable, Sequence

from fathom.types import AbstentionReason, Answer, Citation, Document, Draft, Evidence
from fathom.usage import Budget, Usage

Lookup = Callable[[str], Document | None]


def finalize(
    question: str,
    draft: Draft,
    *,
    lookup: Lookup,
    min_confidence: float,
    usage: Usage,
    phase: str,
) -> Answer:
    """Turn a draft into an answer.

    Args:
        question: As the user asked it.
        draft: What the reader made of the evidence.
        lookup: The index's document for an id; quotes are checked against its text.
        min_confidence: Below it the answer is withheld.
        usage: What was spent.
        phase: The step that gave the draft.

    Returns:
        Answered with verified quotes only; abstained when there are none, or when the draft is
        not sure enough.
    """
    citations = _verified(draft.evidence, lookup)
    reason: AbstentionReason | None = None
    if not citations:
        reason = "no_evidence"
    elif draft.confidence < min_confidence:
        reason = "low_confidence"
    if reason is not None:
        return Answer(
            question=question,
            status="abstained",
            confidence=draft.confidence,
            citations=citations,
            strategy="extractive",
            phase=phase,
            stop_reason=reason,
            usage=usage,
            budget=Budget(),
        )
    return Answer(
        question=question,
        status="answered",
        answer=" ".join(f"{_line(citation.quote)} [{citation.n}]" for citation in citations),
        short_answer=draft.short_answer,
        confidence=draft.confidence,
        citations=citations,
        strategy="extractive",
        phase=phase,
        stop_reason="answered",
        usage=usage,
        budget=Budget(),
    )


def _verified(evidence: Sequence[Evidence], lookup: Lookup) -> tuple[Citation, ...]:
    citations: list[Citation] = []
    for item in evidence:
        chunk = item.hit.chunk
        document = lookup(chunk.document_id)
        span = item.span.shifted(chunk.span.start)
        if document is None or not item.quote or span.cut(document.text) != item.quote:
            continue
        citations.append(
            Citation(
                n=len(citations) + 1,
                document=document.id,
                title=document.title,
                page=document.page_at(span.start),
                start=span.start,
                end=span.end,
                quote=item.quote,
                verified=True,
                support=item.support,
            )
        )
    return tuple(citations)


def _line(text: str) -> str:
    return " ".join(text.split())
