"""Verified answers: answers that a person called right, or gave in place of a wrong one.

A verified answer is given again to the same question as long as the documents hold its quotes
(docs/calibration.md, "Feedback").
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any, TypeAlias
from unicodedata import normalize

from fathom.errors import UsageError
from fathom.index.feedback import Feedback, compute_question_key
from fathom.index.trace_retention import QuotedText
from fathom.jsonable import Json
from fathom.question.question import Question
from fathom.retrieval.quotes import QuoteLookup, QuotePlace
from fathom.runs.context import RunContext
from fathom.runs.trace import LEFT_OUT, Origin, Trace
from fathom.text.answer_scores import is_right
from fathom.text.sentences import split
from fathom.types import VERIFIED, Answer, Citation, Conflict, Document, Filter, Span
from fathom.usage import Budget, Usage

Fits: TypeAlias = Callable[[Question, Document, Span], bool]
"""A function that returns whether the text at a place of a document answers a question."""
BY = "a person"
"""The calibration that a verified answer names."""
MOST_PLACES = 20
"""The largest number of places of a corrected answer that are checked."""
_EDGE = "[0-9A-Za-z\u00c0-\u024f]"
_LETTER = re.compile(_EDGE)
"""A digit or Latin letter: words of these have edges; scripts without spaces have none."""
_CHARS = 80
"""The most characters of an answer or question in an error message."""


def build_feedback(
    trace: Trace,
    right: bool | None,
    answer: str,
    sources: Sequence[Document],
    lookup: Callable[[str], Document | None],
    fits: Fits,
) -> tuple[Feedback, frozenset[QuotedText]]:
    """Return a person's feedback on a run's answer, and the texts of documents that it rests on.

    Exactly one of `right` and `answer` must be given.

    Args:
        trace: The trace of the run.
        right: Whether the run's answer was right; `None` if `answer` is given.
        answer: The right answer; empty if `right` is given.
        sources: The documents that hold the right answer; if empty, those that the run cited.
        lookup: A function that returns the document of an id; `None` if it is gone.
        fits: A function that returns whether the text at a place answers the question.

    Raises:
        UsageError: If neither or both of `right` and `answer` are given, if the run gave no answer
            to call right or wrong, if an answer of several readings is called right, or if the
            documents hold the right answer, but nowhere as an answer to this question.
    """
    recorded_answer = trace.answer if isinstance(trace.answer, dict) else {}
    answered = recorded_answer.get("status") == "answered"
    if (right is None) == (not answer):
        raise UsageError("feedback: say either right or wrong, or give the right answer")
    if right is not None and not answered:
        raise UsageError("feedback: the run gave no answer; give the right answer")
    disputed = bool(recorded_answer.get("disputed"))
    if right and disputed:
        raise UsageError("feedback: the answer names several readings; give the right one")
    cited_ids = [citation["document"] for citation in recorded_answer.get("citations") or ()]
    if answer:
        documents = sources or [
            document for name in dict.fromkeys(cited_ids) if (document := lookup(name))
        ]
        # The answer to a follow-up is never given again, and its question does not read alone, so
        # no place can be checked against it.
        verified = locate_answer(
            trace, answer, documents, _fit_any if has_history(trace.origin) else fits
        )
        right = (
            is_right(recorded_answer["short_answer"] or recorded_answer["answer"], [answer])
            if answered and not disputed
            else None
        )
    else:
        verified = extract_answer(trace) if right else None
    feedback = Feedback(
        trace_id=trace.id,
        key=compute_question_key(trace.origin.question, parse_filters(trace.origin)),
        question=trace.origin.question,
        strategy=trace.origin.strategy,
        said="answer" if answer else "right" if right else "wrong",
        answer=answer,
        right=right,
        signals=dict(trace.signals),
        again=None if has_history(trace.origin) else verified,
    )
    citations = [
        *(recorded_answer.get("citations") or ()),
        *(verified["citations"] if verified else ()),
    ]
    return feedback, frozenset(
        QuotedText.of(
            citation["document"],
            citation["title"],
            Span(citation["start"], citation["end"]),
            citation["quote"],
        )
        for citation in citations
        if citation["source"] == "corpus"
    )


def has_history(origin: Origin) -> bool:
    """Return whether a run was asked in a conversation."""
    return bool(origin.arguments.get("history"))


def parse_filters(origin: Origin) -> tuple[Filter, ...]:
    """Return the filters of a run from its record."""
    recorded_filters = origin.arguments.get("filters", ())
    values = (
        (condition["key"], condition["op"], condition["value"]) for condition in recorded_filters
    )
    return tuple(
        Filter(key, op, tuple(value) if isinstance(value, list) else value)
        for key, op, value in values
    )


def extract_answer(trace: Trace) -> Json:
    """Return the record by which a run's answer is given again.

    Returns:
        The record; `None` if the run gave no answer, or if not every citation is a verified one of
        the index.
    """
    answer = trace.answer if isinstance(trace.answer, dict) else {}
    citations = answer.get("citations") or ()
    is_supported = citations and all(
        citation["verified"] and citation["source"] == "corpus" for citation in citations
    )
    return _select_fields(answer) if answer.get("status") == "answered" and is_supported else None


def locate_answer(trace: Trace, short: str, documents: Iterable[Document], fits: Fits) -> Json:
    """Return the record by which a person's answer is given again.

    The answer shows the first sentence that holds its words and answers the question.

    Args:
        trace: The trace of the run.
        short: The person's answer; not empty.
        documents: The documents to look in.
        fits: A function that returns whether the text at a place answers the question.

    Returns:
        The record; `None` if no document holds the answer.

    Raises:
        UsageError: If documents hold the answer, but nowhere as an answer to the question.
    """
    # A number or a common word may stand in very many places, and checking each takes a reading.
    places = list(islice(_find_places(short, documents), MOST_PLACES))
    question = Question(trace.origin.question)
    for document, place in places:
        if fits(question, document, place):
            return _select_fields(asdict(_make_answer(trace.origin, document, place)))
    if places:
        raise UsageError(
            f"feedback: {places[0][0].path} holds {short[:_CHARS]!r}, but not as an answer to "
            f"{trace.origin.question[:_CHARS]!r}; give the words of a sentence that answers it"
        )
    return None


def _find_places(short: str, documents: Iterable[Document]) -> Iterator[tuple[Document, Span]]:
    """Yield the places that hold the words of an answer as whole words, in any capitals.

    Accents may be composed or decomposed in Unicode, in the answer and in the documents.
    """
    composed = normalize("NFC", short)
    # `\b` finds no edge between a Latin letter and one of a script without spaces.
    before = f"(?<!{_EDGE})" if _LETTER.match(composed[0]) else ""
    after = f"(?!{_EDGE})" if _LETTER.match(composed[-1]) else ""
    spellings = dict.fromkeys((short, composed, normalize("NFD", short)))
    words = "|".join(map(re.escape, spellings))
    pattern = re.compile(f"{before}(?:{words}){after}", re.IGNORECASE)
    for document in documents:
        for match in pattern.finditer(document.text):
            yield document, Span(*match.span())


def _make_answer(origin: Origin, document: Document, place: Span) -> Answer:
    """Return the answer that quotes the sentences around a place."""
    quote = _extend_to_sentences(document.text, place)
    return Answer(
        question=origin.question,
        status="answered",
        answer=f"{' '.join(quote.cut(document.text).split())} [1]",
        short_answer=place.cut(document.text),
        citations=(_make_citation(document, quote),),
        strategy=origin.strategy,
        phase=VERIFIED,
        stop_reason="answered",
        usage=Usage(),
        budget=Budget(),
    )


def _fit_any(question: Question, document: Document, place: Span) -> bool:  # noqa: ARG001 - the arguments of `Fits`
    """Return `True`: any place fits."""
    return True


async def restore_answer(
    question: Question, given: Json, quotes: QuoteLookup, context: RunContext
) -> Answer | None:
    """Restore a verified answer if all its quotes still stand, as one step of the run.

    Args:
        question: The question of this run.
        given: The record of the answer, from `extract_answer` or `locate_answer`.
        quotes: The lookup of quotes in the index.
        context: The run that records the step.

    Returns:
        The answer; `None` if a document no longer holds one of its quotes at its place.
    """
    answer = _parse_answer(question, given)
    with context.step(VERIFIED, agent=BY) as step:
        places = [
            QuotePlace(citation.document, Span(citation.start, citation.end))
            for citation in answer.citations
        ]
        quotes_now = await quotes(places, step)
        pairs = zip(answer.citations, quotes_now, strict=True)
        all_stand = all(
            quote is not None and quote.text == citation.quote for citation, quote in pairs
        )
        step.set_outcome(
            outputs={"citations": len(answer.citations)},
            verdict="answered" if all_stand else LEFT_OUT,
            reason="a person verified it"
            if all_stand
            else "a quote that it cites no longer stands",
        )
    return answer if all_stand else None


def _parse_answer(question: Question, record: Mapping[str, Any]) -> Answer:
    """Build the verified answer of a record; its confidence is 1."""
    return Answer(
        question=question.text,
        status="answered",
        answer=record["answer"],
        short_answer=record["short_answer"],
        confidence=1.0,
        calibration=BY,
        citations=tuple(Citation(**citation) for citation in record["citations"]),
        conflicts=tuple(
            Conflict(**{**conflict, "citations": tuple(conflict["citations"])})
            for conflict in record["conflicts"]
        ),
        strategy=record["strategy"],
        phase=VERIFIED,
        stop_reason=record["stop_reason"],
        usage=Usage(),
        budget=Budget(),
    )


def _select_fields(answer: Mapping[str, Any]) -> Json:
    """Return the record of an answer: the fields that are needed to give it again."""
    names = ("answer", "short_answer", "citations", "conflicts", "strategy", "stop_reason")
    return {name: answer[name] for name in names}


def _extend_to_sentences(text: str, span: Span) -> Span:
    """Return the span of the sentences that a span overlaps; the span itself without any."""
    touched = [
        sentence
        for sentence in split(text)
        if sentence.start < span.end and sentence.end > span.start
    ]
    return Span(touched[0].start, touched[-1].end) if touched else span


def _make_citation(document: Document, quote: Span) -> Citation:
    """Return the only citation of an answer: a quote with its place in the document."""
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
