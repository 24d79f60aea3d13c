"""A language model's answer, sentence by sentence, each with what it names as its evidence.

In one of two forms. By number: the sentences of the chunks are numbered, and a reply names numbers,
so its quotes are verbatim by construction and cost no tokens. By quote: a reply names chunks and
copies the part that counts, which is looked for there.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, Field, ValidationError

from fathom.agents.prompt_delimiters import about_chunks, fence_for, fenced, rule_of
from fathom.llm.prompt import Asked, Prompt
from fathom.llm.schema import AtMost, OneOf, numbers
from fathom.text.quotable import blocks_of, units
from fathom.text.quote_match import find
from fathom.types import HEADS, Evidence, Hit, Span

_LONGEST_CHUNK = 6_000
_FEWEST = 4
"""Words of a quote that is looked for in other chunks than the one named."""
_LANGUAGE = "- Write in the language of the question"
_SHORT = "- short_answer is the bare answer: a name, a number, a date, yes or no, a few words."
_FERRY = """\
{}The ferry to Sandholm leaves at 9:15 from pier 4.
{}Dogs travel free of charge.
Question: When does the boat to Sandholm go?"""
_GOES = '"text": "The boat to Sandholm goes at 9:15."}], "short_answer": "9:15"}}'

QUOTES_PROMPT = Prompt.of(
    "reader",
    task=f"""\
You answer a question from numbered chunks of documents, and from nothing else.
- Use as few sentences as it takes. For each give the number of every chunk that it rests on, with \
the part that says it, word for word, and then say it in your own sentence.
{_SHORT}""",
    language=f"{_LANGUAGE}; quote in that of the chunk.",
    unsure="- If the chunks do not say it, the answer is null. Do not guess.",
    example=_FERRY.format("chunk 1: ", "chunk 2: "),
    reply='{"answer": {"sentences": [{"quotes": [{"chunk": 1, "quote": "The ferry to Sandholm '
    'leaves at 9:15"}], ' + _GOES,
)
NUMBERS_PROMPT = Prompt.of(
    "reader_numbers",
    agent="reader",
    task=f"""\
You answer a question from the numbered sentences of documents, and from nothing else.
- Use as few sentences of your own as it takes. For each give the numbers of the sentences that it \
rests on, and then say it.
{_SHORT}""",
    language=f"{_LANGUAGE}.",
    unsure="- If the numbered sentences do not say it, the answer is null. Do not guess.",
    example=_FERRY.format("[1] ", "[2] "),
    reply='{"answer": {"sentences": [{"evidence": [1], ' + _GOES,
)

EvidenceForm = Literal["numbers", "quotes"]
Text = Annotated[str, Field(max_length=2_000), AtMost(180, least=1)]
ShortAnswer = Annotated[str, Field(max_length=300), AtMost(120)]


class Quote(BaseModel):
    """A part of a chunk, copied."""

    chunk: Annotated[int, OneOf("chunk")]
    quote: Annotated[str, Field(max_length=2_000), AtMost(160, least=1)]


class QuotingSentence(BaseModel):
    """A sentence of the answer with the quotes that it rests on."""

    quotes: Annotated[list[Quote], Field(min_length=1), AtMost(2)]
    text: Text


class NumberingSentence(BaseModel):
    """A sentence of the answer with the numbers of the sentences that it rests on."""

    evidence: Annotated[
        list[Annotated[int, OneOf("sentence")]], Field(min_length=1), AtMost(3, least=1)
    ]
    text: Text


class QuotingAnswer(BaseModel):
    """An answer, at least one sentence long."""

    sentences: Annotated[list[QuotingSentence], Field(min_length=1), AtMost(3)]
    short_answer: ShortAnswer = ""


class NumberingAnswer(BaseModel):
    """An answer, at least one sentence long."""

    sentences: Annotated[list[NumberingSentence], Field(min_length=1), AtMost(3)]
    short_answer: ShortAnswer = ""


class ReaderReply(BaseModel):
    """What a language model is asked for by quote; no answer where the chunks hold none."""

    answer: QuotingAnswer | None


class NumberedReply(BaseModel):
    """What a language model is asked for by number; no answer where the chunks hold none."""

    answer: NumberingAnswer | None


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """A sentence of a model, and what it names that was found.

    Attributes:
        text: In the model's words, without marks of its own.
        named: How many quotes or numbers it gave.
        evidence: Those that were found, each place once; support is 0 until judged.
    """

    text: str
    named: int
    evidence: tuple[Evidence, ...]


class CitedForm(Protocol):
    """How a model is asked to name its evidence, and what of its reply is found.

    Attributes:
        kind: The reply, with an answer of sentences and a short answer, or none.
        prompt: What the model is told.
    """

    @property
    def kind(self) -> type[ReaderReply] | type[NumberedReply]: ...  # noqa: D102

    @property
    def prompt(self) -> Prompt: ...  # noqa: D102

    def asked(self, question: str, hits: Sequence[Hit]) -> Asked:
        """The question about the hits."""
        ...

    def cited(self, sentence: Any, hits: Sequence[Hit]) -> CitedSentence:  # noqa: ANN401
        """A sentence of a reply with its evidence."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ByQuote:
    """The model copies what counts."""

    prompt: Prompt = QUOTES_PROMPT
    kind: type[ReaderReply] = ReaderReply

    def asked(self, question: str, hits: Sequence[Hit]) -> Asked:
        """See `CitedForm.asked`."""
        return about_chunks(self.prompt, question, hits, longest=_LONGEST_CHUNK)

    def cited(self, sentence: QuotingSentence, hits: Sequence[Hit]) -> CitedSentence:
        """See `CitedForm.cited`."""
        found = (located(each.quote, hits, chunk=each.chunk) for each in sentence.quotes)
        return _cited(sentence.text, len(sentence.quotes), found)


@dataclass(frozen=True, slots=True, kw_only=True)
class ByNumber:
    """The model names numbers of sentences."""

    prompt: Prompt = NUMBERS_PROMPT
    kind: type[NumberedReply] = NumberedReply

    def asked(self, question: str, hits: Sequence[Hit]) -> Asked:
        """See `CitedForm.asked`."""
        texts, places = numbered(hits)
        fence = fence_for(question, texts)
        return self.prompt.asking(
            f"{fenced(fence, texts)}\n\nQuestion: {question}",
            rule=rule_of(fence),
            choices={"sentence": numbers(len(places))},
        )

    def cited(self, sentence: NumberingSentence, hits: Sequence[Hit]) -> CitedSentence:
        """See `CitedForm.cited`."""
        _, places = numbered(hits)
        found = (places[number - 1] for number in sentence.evidence if 1 <= number <= len(places))
        return _cited(sentence.text, len(sentence.evidence), found)


MEASURED: Mapping[str, EvidenceForm] = {"local:": "numbers"}
"""What did better with models whose names begin so; the figures are in docs/runs.md."""


def form_for(model: str, chosen: Literal["auto", "numbers", "quotes"]) -> EvidenceForm:
    """The form for a model called `provider:model`, where nothing else is chosen."""
    if chosen != "auto":
        return chosen
    found = (form for begin, form in MEASURED.items() if model.startswith(begin))
    return next(found, "quotes")


def numbered(hits: Sequence[Hit]) -> tuple[list[str], list[Evidence]]:
    """The texts of hits with their sentences numbered from 1 through all of them, and those."""
    texts: list[str] = []
    places: list[Evidence] = []
    for hit in hits:
        head = hit.chunk.context.removesuffix(hit.chunk.text).rstrip("\n")
        lines = [head] if head and hit.chunk.source == "web" else []
        for item in shown(hit):
            places.append(item)
            said = head if item.heading else " ".join(item.quote.split())
            lines.append(f"[{len(places)}] {said}")
        texts.append("\n".join(lines))
    return texts, places


def shown(hit: Hit) -> tuple[Evidence, ...]:
    """What of a hit has a number, in order, not yet judged.

    The nearest heading above its chunk, or else its title, comes first; then the chunk's units, its
    headings and heads of tables.
    """
    chunk = hit.chunk
    heading = next(filter(None, [*reversed(chunk.headings), chunk.title]), "")
    first = [Evidence(hit=hit, span=Span(0, 0), support=0.0, heading=heading)] if heading else []
    heads = [Span(each.start, each.end) for each in blocks_of(chunk) if each.kind in HEADS]
    spans = sorted([*(each.span for each in units(chunk)), *heads], key=lambda span: span.start)
    own = [
        Evidence(hit=hit, span=span, support=0.0)
        for span in spans
        if span.end <= _LONGEST_CHUNK and span.cut(chunk.text).strip()
    ]
    return tuple(own if chunk.source == "web" else [*first, *own])


_MARK = re.compile(r"\s*\[\d+\]")


def _cited(text: str, named: int, found: Iterator[Evidence | None]) -> CitedSentence:
    places = {(e.hit.chunk.id, e.span, e.heading): e for e in found if e is not None}
    return CitedSentence(_MARK.sub("", text).strip(), named, tuple(places.values()))


def located(quote: str, hits: Sequence[Hit], *, chunk: int) -> Evidence | None:
    """What of the hits holds a quote; `None` where it stands nowhere.

    Its support is 0 until a judge has seen it.

    Args:
        quote: As the model copied it.
        hits: As they were numbered for it, from 1.
        chunk: The one it named. A quote of at least four words that stands word for word in
            another one is found there: numbers are easily confused.
    """
    if 1 <= chunk <= len(hits):
        named = _within(quote, hits[chunk - 1]) or above(quote, hits[chunk - 1])
        if named is not None:
            return named
    if len(quote.split()) < _FEWEST:
        return None
    found = (_within(quote, hit, exact=True) for hit in hits)
    return next((each for each in found if each is not None), None)


def _within(quote: str, hit: Hit, *, exact: bool = False) -> Evidence | None:
    found = find(quote, hit.chunk.text)
    if found is None or (exact and not found.exact):
        return None
    return Evidence(hit=hit, span=whole(hit, found.span), support=0.0)


def above(quote: str, hit: Hit) -> Evidence | None:
    """The nearest heading above a hit, or its title, that holds a quote."""
    chunk = hit.chunk
    if chunk.source != "corpus":
        return None  # of the web nothing is known but its text
    titles = dict.fromkeys([*reversed(chunk.headings), chunk.title])
    held = (each for each in titles if (found := find(quote, each)) and found.exact)
    heading = next(held, None)
    if heading is None:
        return None
    return Evidence(hit=hit, span=Span(0, 0), support=0.0, heading=heading)


def whole(hit: Hit, span: Span) -> Span:
    """From the beginning of the first unit that the span touches to the end of the last one.

    Of a heading, which is none, as much as the span holds.
    """
    held = [
        each.span
        for each in units(hit.chunk)
        if each.span.start < span.end and span.start < each.span.end
    ]
    starts, ends = [each.start for each in held], [each.end for each in held]
    return Span(min([span.start, *starts]), max([span.end, *ends]))


class SentenceStream:
    """Finds the sentences in a reply that is still coming, and tells those with evidence."""

    def __init__(self, form: CitedForm, hits: Sequence[Hit], tell: Callable[[str], None]) -> None:
        """Nothing has come yet."""
        self._form = form
        self._hits = hits
        self._tell = tell
        self._text = ""
        self._at = 0

    def __call__(self, words: str) -> None:
        """Add what has come."""
        self._text += words
        while (found := self._next()) is not None:
            sentence, self._at = found
            cited = self._form.cited(sentence, self._hits)
            if cited.evidence and cited.text:
                self._tell(cited.text)

    def _next(self) -> tuple[QuotingSentence | NumberingSentence, int] | None:
        """The next whole sentence, and where it ends."""
        at = self._text.find("{", self._at)
        while at >= 0:
            try:
                value, end = json.JSONDecoder().raw_decode(self._text, at)
                return self._sentence(value), end
            except (ValueError, RecursionError):
                at = self._text.find("{", at + 1)  # not whole yet, or no sentence
        return None

    def _sentence(self, value: object) -> QuotingSentence | NumberingSentence:
        kind = QuotingSentence if self._form.kind is ReaderReply else NumberingSentence
        try:
            return kind.model_validate(value)
        except ValidationError as wrong:
            raise ValueError(str(wrong)) from None
