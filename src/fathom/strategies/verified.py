"""Answers that a person verified: given again to the same question while their quotes stand."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any, TypeAlias

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

Fits: TypeAlias = Callable[[str, Document, Span], bool]
"""Tells whether what stands at a place of a document answers a question."""
BY = "a person"
"""What the confidence of such an answer rests on."""
MOST_PLACES = 20
"""So many places are looked at for one where an answer that was told answers the question."""
_EDGE = "[0-9A-Za-z\u00c0-\u024f]"
_LETTER = re.compile(_EDGE)
"""What words are made of where they stand apart; others are not set apart by anything."""
_SHOWN = 80


def feedback_on(
    trace: Trace,
    right: bool | None,
    answer: str,
    sources: Sequence[Document],
    lookup: Callable[[str], Document | None],
    fits: Fits,
) -> tuple[Feedback, frozenset[Held]]:
    """What a person says of the answer of a run, and the texts of documents that it rests on.

    Args:
        trace: Of the run.
        right: Whether its answer was right.
        answer: What the right answer is, instead.
        sources: Documents that hold it; by default those that the run cited.
        lookup: Gives a document by its id.
        fits: Tells whether what stands at a place answers the question.

    Raises:
        UsageError: If neither or both are given, or there is no answer to call right or wrong, or
            the documents hold the one that was told, but not as an answer to this question.
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
        # What is never given again needs to fit nothing: a follow-up does not stand for itself.
        kept = told(trace, answer, near, _fit_any if has_history(trace.origin) else fits)
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
        again=None if has_history(trace.origin) else kept,
    )
    quoted = [*(given.get("citations") or ()), *(kept["citations"] if kept else ())]
    return made, frozenset(
        Held.of(each["document"], each["title"], Span(each["start"], each["end"]), each["quote"])
        for each in quoted
        if each["source"] == "corpus"
    )


def has_history(origin: Origin) -> bool:
    """Tell whether a run was asked in a conversation."""
    return bool(origin.arguments.get("history"))


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


def told(trace: Trace, short: str, documents: Iterable[Document], fits: Fits) -> Json:
    """The answer that a person told, with the first sentence of the documents in which it is one.

    Returns:
        `None` where none of them holds it.

    Raises:
        UsageError: If it is held, but nowhere answers the question.
    """
    places = list(islice(_find_places(short, documents), MOST_PLACES))
    for document, place in places:
        if fits(trace.origin.question, document, place):
            return _kept(asdict(_make_answer(trace.origin, document, place)))
    if places:
        raise UsageError(
            f"feedback: {short[:_SHOWN]!r} stands in {places[0][0].path}, but not as an answer to "
            f"{trace.origin.question[:_SHOWN]!r}; give the words that answer it, from a sentence "
            "that says so"
        )
    return None


def _find_places(short: str, documents: Iterable[Document]) -> Iterator[tuple[Document, Span]]:
    """Where the words stand, whole."""
    before = f"(?<!{_EDGE})" if _LETTER.match(short[0]) else ""
    after = f"(?!{_EDGE})" if _LETTER.match(short[-1]) else ""
    wanted = re.compile(f"{before}{re.escape(short)}{after}", re.IGNORECASE)
    for document in documents:
        for found in wanted.finditer(document.text):
            yield document, Span(*found.span())


def _make_answer(origin: Origin, document: Document, place: Span) -> Answer:
    quote = _around(document.text, place)
    return Answer(
        question=origin.question,
        status="answered",
        answer=f"{' '.join(quote.cut(document.text).split())} [1]",
        short_answer=place.cut(document.text),
        citations=(_citation(document, quote),),
        strategy=origin.strategy,
        phase=VERIFIED,
        stop_reason="answered",
        usage=Usage(),
        budget=Budget(),
    )


def _fit_any(question: str, document: Document, place: Span) -> bool:  # noqa: ARG001 - see `Fits`
    return True


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
