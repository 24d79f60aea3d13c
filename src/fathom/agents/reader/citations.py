"""A language model's answer, sentence by sentence, each with what it names as its evidence.

There are two forms. By number: the sentences of the chunks are numbered and a reply names numbers,
so its quotes are verbatim by construction and cost no tokens. By quote: a reply names chunks and
copies the part that counts, which is then located there. Whatever the model copied, the evidence is
the document's own text: the whole sentences, list items or rows that hold the quote, so that
nothing cut off can change what they say.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, Field, ValidationError

from fathom.agents.prompt_delimiters import (
    build_chunk_request,
    fence_texts,
    format_rule,
    make_fence,
)
from fathom.llm.prompt import ModelRequest, Prompt
from fathom.llm.schema import AtMost, OneOf, number_items
from fathom.question.question import Question
from fathom.retrieval.pruning import PrunedHit
from fathom.text.quotable import list_units
from fathom.text.quote_match import find_quote
from fathom.types import Evidence, Hit, Span

_LONGEST_CHUNK = 6_000
"""The characters of a chunk that the model is shown."""
_FEWEST_WORDS = 4
"""The words that a quote needs to be located in other chunks than the one named."""
_LANGUAGE = "- Write in the language of the question"
_SHORT = "- short_answer is the bare answer: a name, a number, a date, yes or no, a few words."
_FERRY = """\
{}The ferry to Sandholm leaves at 9:15 from pier 4.
{}Dogs travel free of charge.
Question: When does the boat to Sandholm go?"""
_GOES = '"text": "The boat to Sandholm goes at 9:15."}], "short_answer": "9:15"}}'

QUOTES_PROMPT = Prompt.compose(
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
NUMBERS_PROMPT = Prompt.compose(
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
SentenceText = Annotated[str, Field(max_length=2_000), AtMost(180, least=1)]
ShortAnswer = Annotated[str, Field(max_length=300), AtMost(120)]


class Quote(BaseModel):
    """A copied part of a chunk."""

    chunk: Annotated[int, OneOf("chunk")]
    quote: Annotated[str, Field(max_length=2_000), AtMost(160, least=1)]


class QuotingSentence(BaseModel):
    """A sentence of the answer with the quotes that it rests on."""

    quotes: Annotated[list[Quote], Field(min_length=1), AtMost(2)]
    text: SentenceText


class NumberingSentence(BaseModel):
    """A sentence of the answer with the numbers of the sentences that it rests on."""

    evidence: Annotated[
        list[Annotated[int, OneOf("sentence")]], Field(min_length=1), AtMost(3, least=1)
    ]
    text: SentenceText


class QuotingAnswer(BaseModel):
    """An answer by quote, at least one sentence long."""

    sentences: Annotated[list[QuotingSentence], Field(min_length=1), AtMost(3)]
    short_answer: ShortAnswer = ""


class NumberingAnswer(BaseModel):
    """An answer by number, at least one sentence long."""

    sentences: Annotated[list[NumberingSentence], Field(min_length=1), AtMost(3)]
    short_answer: ShortAnswer = ""


class ReaderReply(BaseModel):
    """The reply by quote that a model is asked for; no answer if the chunks hold none."""

    answer: QuotingAnswer | None


class NumberedReply(BaseModel):
    """The reply by number that a model is asked for; no answer if the chunks hold none."""

    answer: NumberingAnswer | None


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """A sentence of a model with the evidence that was located.

    Attributes:
        text: The text in the model's words, without marks of its own.
        named: The number of quotes or numbers that the model gave.
        evidence: The located evidence, each place once; its support is 0 until judged.
    """

    text: str
    named: int
    evidence: tuple[Evidence, ...]


class CitationForm(Protocol):
    """A form in which a model names its evidence.

    Attributes:
        kind: The type of the reply, with an answer of sentences and a short answer, or none.
        prompt: The instructions for the model.
    """

    @property
    def kind(self) -> type[ReaderReply] | type[NumberedReply]: ...  # noqa: D102

    @property
    def prompt(self) -> Prompt: ...  # noqa: D102

    def build_request(self, question: Question, shown: Sequence[PrunedHit]) -> ModelRequest:
        """Build the request with the question about the evidence."""
        ...

    def resolve_evidence(self, sentence: Any, shown: Sequence[PrunedHit]) -> CitedSentence:  # noqa: ANN401
        """Return a sentence of a reply with its evidence."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class QuoteForm:
    """The form in which the model copies the parts that count."""

    prompt: Prompt = QUOTES_PROMPT
    kind: type[ReaderReply] = ReaderReply

    def build_request(self, question: Question, shown: Sequence[PrunedHit]) -> ModelRequest:
        """Build the request with the numbered evidence of each chunk."""
        texts = ["\n".join(filter(None, (_get_head(item.hit), item.text))) for item in shown]
        return build_chunk_request(self.prompt, question, texts)

    def resolve_evidence(
        self, sentence: QuotingSentence, shown: Sequence[PrunedHit]
    ) -> CitedSentence:
        """Return a sentence with the places of its quotes."""
        hits = [item.hit for item in shown]
        evidence = (locate_quote(quote.quote, hits, chunk=quote.chunk) for quote in sentence.quotes)
        return _make_cited_sentence(sentence.text, len(sentence.quotes), evidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberForm:
    """The form in which the model names numbers of sentences."""

    prompt: Prompt = NUMBERS_PROMPT
    kind: type[NumberedReply] = NumberedReply

    def build_request(self, question: Question, shown: Sequence[PrunedHit]) -> ModelRequest:
        """Build the request with numbered sentences."""
        texts, places = number_sentences(shown)
        fence = make_fence(question.text, texts)
        return self.prompt.build_request(
            f"{fence_texts(fence, texts)}\n\nQuestion: {question.text}",
            rule=format_rule(fence),
            choices={"sentence": number_items(len(places))},
        )

    def resolve_evidence(
        self, sentence: NumberingSentence, shown: Sequence[PrunedHit]
    ) -> CitedSentence:
        """Return a sentence with the sentences that its numbers name."""
        # Numbered again instead of kept, because a form has no state of a run.
        _, places = number_sentences(shown)
        evidence = (
            places[number - 1] for number in sentence.evidence if 1 <= number <= len(places)
        )
        return _make_cited_sentence(sentence.text, len(sentence.evidence), evidence)


FORMS_BY_PREFIX: Mapping[str, EvidenceForm] = {"local:": "numbers"}
"""The form that did better with models whose names begin so; the figures are in docs/runs.md."""


def choose_form(model: str, chosen: Literal["auto", "numbers", "quotes"]) -> EvidenceForm:
    """Return the form for a model called `provider:model`, unless the settings choose one."""
    if chosen != "auto":
        return chosen
    forms = (form for prefix, form in FORMS_BY_PREFIX.items() if model.startswith(prefix))
    return next(forms, "quotes")


def number_sentences(shown: Sequence[PrunedHit]) -> tuple[list[str], list[Evidence]]:
    """Return the texts of hits, sentences numbered from 1 through all hits, and the sentences."""
    texts: list[str] = []
    places: list[Evidence] = []
    for item in shown:
        head = _get_head(item.hit)
        # The title of a web page is shown without a number: it can be read, but not cited.
        lines = [head] if head and item.hit.chunk.source == "web" else []
        for part in list_citable(item):
            places.append(part)
            text = head if part.heading else " ".join(part.quote.split())
            lines.append(f"[{len(places)}] {text}")
        texts.append("\n".join(lines))
    return texts, places


def _get_head(hit: Hit) -> str:
    """Return the title and the headings above a chunk in one line; empty if it has none."""
    return hit.chunk.context.removesuffix(hit.chunk.text).rstrip("\n")


def list_citable(item: PrunedHit) -> tuple[Evidence, ...]:
    """Return the parts of a hit that get a number, in order, not yet judged.

    The nearest heading above the chunk, or else its title, comes first; then what is kept of it.
    """
    hit, chunk = item.hit, item.hit.chunk
    heading = next(filter(None, [*reversed(chunk.headings), chunk.title]), "")
    first = [Evidence(hit=hit, span=Span(0, 0), support=0.0, heading=heading)] if heading else []
    kept = [
        Evidence(hit=hit, span=span, support=0.0)
        for span in item.spans
        if span.end <= _LONGEST_CHUNK and span.cut(chunk.text).strip()
    ]
    # A page's title is not part of the recorded text, so no quote of it could be verified.
    return tuple(kept if chunk.source == "web" else [*first, *kept])


_MARK = re.compile(r"\s*\[\d+\]")


def _make_cited_sentence(
    text: str, named: int, evidence: Iterator[Evidence | None]
) -> CitedSentence:
    """Return a sentence without marks of its own, with each place of its evidence once."""
    places = {
        (item.hit.chunk.id, item.span, item.heading): item for item in evidence if item is not None
    }
    return CitedSentence(_MARK.sub("", text).strip(), named, tuple(places.values()))


def locate_quote(quote: str, hits: Sequence[Hit], *, chunk: int) -> Evidence | None:
    """Return the part of the hits that holds a quote; `None` if no hit holds it.

    The support of the evidence is 0 until a judge has scored it.

    Args:
        quote: The quote as the model copied it.
        hits: The hits as they were numbered for the model, from 1.
        chunk: The number that the model named. A quote of at least four words that stands word for
            word in another chunk is located there, because models easily confuse numbers.
    """
    if 1 <= chunk <= len(hits):
        evidence = _locate_in_text(quote, hits[chunk - 1]) or locate_in_heading(
            quote, hits[chunk - 1]
        )
        if evidence is not None:
            return evidence
    # A few words stand in many chunks.
    if len(quote.split()) < _FEWEST_WORDS:
        return None
    others = (_locate_in_text(quote, hit, exact=True) for hit in hits)
    return next((other for other in others if other is not None), None)


def _locate_in_text(quote: str, hit: Hit, *, exact: bool = False) -> Evidence | None:
    """Return the units of a hit that hold a quote; `None` if the hit does not hold it."""
    match = find_quote(quote, hit.chunk.text)
    if match is None or (exact and not match.exact):
        return None
    return Evidence(hit=hit, span=widen_to_units(hit, match.span), support=0.0)


def locate_in_heading(quote: str, hit: Hit) -> Evidence | None:
    """Return the nearest heading above a hit, or its title, that holds a quote."""
    chunk = hit.chunk
    if chunk.source != "corpus":
        return None  # a quote from the web is verified against the recorded text alone
    titles = dict.fromkeys([*reversed(chunk.headings), chunk.title])
    holding = (title for title in titles if (match := find_quote(quote, title)) and match.exact)
    heading = next(holding, None)
    if heading is None:
        return None
    return Evidence(hit=hit, span=Span(0, 0), support=0.0, heading=heading)


def widen_to_units(hit: Hit, span: Span) -> Span:
    """Return a span widened to whole units: sentences, list items or rows.

    A heading is no unit; of a heading, as much as the span holds.
    """
    touched = [
        unit.span
        for unit in list_units(hit.chunk)
        if unit.span.start < span.end and span.start < unit.span.end
    ]
    starts, ends = [unit.start for unit in touched], [unit.end for unit in touched]
    return Span(min([span.start, *starts]), max([span.end, *ends]))


class SentenceStream:
    """A stream that finds the sentences of a growing reply and passes on those with evidence."""

    def __init__(
        self, form: CitationForm, shown: Sequence[PrunedHit], tell: Callable[[str], None]
    ) -> None:
        """Start the stream without any text.

        Args:
            form: The form of the reply.
            shown: The evidence that the model was shown.
            tell: The function that receives each sentence.
        """
        self._form = form
        self._shown = shown
        self._tell = tell
        self._text = ""
        self._at = 0

    def __call__(self, words: str) -> None:
        """Add a piece of the reply, and pass on the sentences that it completes."""
        self._text += words
        while (parsed := self._read_next()) is not None:
            sentence, self._at = parsed
            cited = self._form.resolve_evidence(sentence, self._shown)
            if cited.evidence and cited.text:
                self._tell(cited.text)

    def _read_next(self) -> tuple[QuotingSentence | NumberingSentence, int] | None:
        """Return the next complete sentence and its end in the text; `None` if there is none."""
        at = self._text.find("{", self._at)
        while at >= 0:
            try:
                value, end = json.JSONDecoder().raw_decode(self._text, at)
                return self._parse_sentence(value), end
            except (ValueError, RecursionError):
                # The object is incomplete, or holds the sentences instead of being one.
                at = self._text.find("{", at + 1)
        return None

    def _parse_sentence(self, value: object) -> QuotingSentence | NumberingSentence:
        """Return a JSON value as a sentence of the form's kind."""
        kind = QuotingSentence if self._form.kind is ReaderReply else NumberingSentence
        try:
            return kind.model_validate(value)
        except ValidationError as error:
            # `_read_next` goes on after a `ValueError`; a pydantic error would mean the same.
            raise ValueError(str(error)) from None
