"""Answers that a person verified: given again to the same question while their quotes stand."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from fathom.errors import UsageError
from fathom.index.feedback import Feedback, key_of
from fathom.index.trace_retention import Held
from fathom.jsonable import Json
from fathom.retrieval.quotes import QuotePlace, Quotes
from fathom.runs.context import RunContext
from fathom.runs.trace import Origin, Trace
from fathom.text.answer_scores import is_right
from fathom.text.sentences import split
from fathom.types import VERIFIED, Answer, Citation, Conflict, Document, Filter, Span
from fathom.usage import Budget, Usage

BY = "a person"
"""What the confidence of such an answer rests on."""


def feedback_on(
    trace: Trace,
    right: bool | None,
    answer: str,
    sources: Sequence[Document],
    lookup: Callable[[str], Document | None],
) -> tuple[Feedback, frozenset[Held]]:
    """What a person says of the answer of a run, and the texts of documents that it rests on.

    Args:
        trace: Of the run.
        right: Whether its answer was right.
        answer: What the right answer is, instead.
        sources: Documents that hold it; by default those that the run cited.
        lookup: Gives a document by its id.

    Raises:
        UsageError: If neither or both are given, or there is no answer to call right or wrong.
    """
    given = trace.answer if isinstance(trace.answer, dict) else {}
    answered = given.get("status") == "answered"
    if (right is None) == (not answer):
        raise UsageError("feedback: say one of right, wrong, or what the right answer is")
    if right is not None and not answered:
        raise UsageError("feedback: the run gave no answer; say what the right answer is")
    cited = [each["document"] for each in given.get("citations") or ()]
    if answer:
        near = sources or [found for each in dict.fromkeys(cited) if (found := lookup(each))]
        kept = told(trace, answer, near)
        right = is_right(given["short_answer"] or given["answer"], [answer]) if answered else None
    else:
        kept = recorded(trace) if right else None
    made = Feedback(
        trace_id=trace.id,
        key=key_of(trace.origin.question, filters_of(trace.origin)),
        question=trace.origin.question,
        strategy=trace.origin.strategy,
        said="answer" if answer else "right" if right else "wrong",
        answer=answer,
        right=right,
        signals=dict(trace.signals),
        again=None if trace.origin.arguments.get("history") else kept,
    )
    quoted = [*(given.get("citations") or ()), *(kept["citations"] if kept else ())]
    return made, frozenset(
        Held.of(each["document"], each["title"], Span(each["start"], each["end"]), each["quote"])
        for each in quoted
        if each["source"] == "corpus"
    )


def filters_of(origin: Origin) -> tuple[Filter, ...]:
    """The conditions that a run was held to."""
    given = origin.arguments.get("filters", ())
    values = ((each["key"], each["op"], each["value"]) for each in given)
    return tuple(
        Filter(key, op, tuple(value) if isinstance(value, list) else value)
        for key, op, value in values
    )


def recorded(trace: Trace) -> Json:
    """The answer of a run as it can be given again; `None` where it does not rest on documents."""
    answer = trace.answer if isinstance(trace.answer, dict) else {}
    cited = answer.get("citations") or ()
    stands = cited and all(each["verified"] and each["source"] == "corpus" for each in cited)
    return _kept(answer) if answer.get("status") == "answered" and stands else None


def told(trace: Trace, short: str, documents: Iterable[Document]) -> Json:
    """The answer that a person told, with the first sentence of the documents that holds it.

    Returns:
        `None` where none of them does.
    """
    for document in documents:
        at = document.text.casefold().find(short.casefold())
        if at >= 0 and short.casefold() == document.text[at : at + len(short)].casefold():
            quote = _around(document.text, Span(at, at + len(short)))
            answer = Answer(
                question=trace.origin.question,
                status="answered",
                answer=f"{' '.join(quote.cut(document.text).split())} [1]",
                short_answer=document.text[at : at + len(short)],
                citations=(_citation(document, quote),),
                strategy=trace.origin.strategy,
                phase=VERIFIED,
                stop_reason="answered",
                usage=Usage(),
                budget=Budget(),
            )
            return _kept(asdict(answer))
    return None


async def again(question: str, given: Json, quotes: Quotes, context: RunContext) -> Answer | None:
    """The verified answer, as one step of the run; `None` where a quote does not stand any more."""
    answer = _answer(question, given)
    with context.step(VERIFIED, agent=BY) as here:
        places = [
            QuotePlace(each.document, Span(each.start, each.end)) for each in answer.citations
        ]
        found = await quotes(places, here)
        pairs = zip(answer.citations, found, strict=True)
        stands = all(now is not None and now.text == each.quote for each, now in pairs)
        here.done(
            outputs={"citations": len(answer.citations)},
            verdict="answered" if stands else "left out",
            reason="a person verified it" if stands else "what it cites does not stand any more",
        )
    return answer if stands else None


def _answer(question: str, given: Mapping[str, Any]) -> Answer:
    return Answer(
        question=question,
        status="answered",
        answer=given["answer"],
        short_answer=given["short_answer"],
        confidence=1.0,
        calibration=BY,
        citations=tuple(Citation(**each) for each in given["citations"]),
        conflicts=tuple(
            Conflict(**{**each, "citations": tuple(each["citations"])})
            for each in given["conflicts"]
        ),
        strategy=given["strategy"],
        phase=VERIFIED,
        stop_reason=given["stop_reason"],
        usage=Usage(),
        budget=Budget(),
    )


def _kept(answer: Mapping[str, Any]) -> Json:
    names = ("answer", "short_answer", "citations", "conflicts", "strategy", "stop_reason")
    return {name: answer[name] for name in names}


def _around(text: str, span: Span) -> Span:
    """The sentences that a span touches."""
    touched = [each for each in split(text) if each.start < span.end and each.end > span.start]
    return Span(touched[0].start, touched[-1].end) if touched else span


def _citation(document: Document, quote: Span) -> Citation:
    place = document.place_at(quote.start)
    return Citation(
        n=1,
        document=document.id,
        path=place.path,
        title=place.title,
        section=place.section,
        page=place.page,
        line=place.line,
        recognised=place.recognised,
        start=quote.start,
        end=quote.end,
        quote=quote.cut(document.text),
        verified=True,
        support=1.0,
    )
