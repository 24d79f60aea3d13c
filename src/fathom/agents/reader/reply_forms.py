"""The reply forms of the LLM reader: three ways in which a model names its evidence.

`ShortForm`: sentence numbers and the bare answer, in some twenty tokens. `NumberForm`: sentences of
the model's own, each with the numbers of the sentences that support it. `QuoteForm`: the same with
copied quotes instead of numbers.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol, TypeVar

from pydantic import BaseModel, Field

from fathom.agents.prompt_delimiters import (
    build_chunk_request,
    fence_once,
    fence_texts,
    format_rule,
    make_fence,
)
from fathom.agents.reader.citations import (
    CitedSentence,
    locate_quote,
    make_cited_sentence,
    number_sentences,
)
from fathom.llm.prompt import ModelRequest, Prompt
from fathom.llm.schema import AtMost, OneOf, number_items
from fathom.question.question import Question
from fathom.retrieval.pruning import PrunedHit

_LANGUAGE = "- Write in the language of the question"
_SHORT_ANSWER = (
    "- short_answer is the bare answer: a name, a number, a date, yes or no, a few words."
)
_FERRY = """\
{}The ferry to Sandholm leaves at 9:15 from pier 4.
{}Dogs travel free of charge.
Question: When does the boat to Sandholm go?"""
_GOES = '"text": "The boat to Sandholm goes at 9:15."}], "short_answer": "9:15"}}'

SHORT_PROMPT = Prompt(
    name="reader_short",
    agent="reader",
    states_form=True,
    text="""\
You answer a question from numbered sentences of documents, and from nothing else. Reply with one \
JSON object: {"sentences": [numbers of the sentences that say it], "answer": "..."}
The answer is bare, in the language of the question: a name, a number, a date, yes or no, a few \
words. If the question asks how, why or what something is, it is one or two sentences.
If the sentences do not say it: {"sentences": [], "answer": ""}""",
)
QUOTES_PROMPT = Prompt.compose(
    "reader",
    task=f"""\
You answer a question from numbered chunks of documents, and from nothing else.
- Use as few sentences as it takes. For each give the number of every chunk that it rests on, with \
the part that says it, word for word, and then say it in your own sentence.
{_SHORT_ANSWER}""",
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
{_SHORT_ANSWER}""",
    language=f"{_LANGUAGE}.",
    unsure="- If the numbered sentences do not say it, the answer is null. Do not guess.",
    example=_FERRY.format("[1] ", "[2] "),
    reply='{"answer": {"sentences": [{"evidence": [1], ' + _GOES,
)

EvidenceForm = Literal["short", "numbers", "quotes"]
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


class ShortReply(BaseModel):
    """The short reply that a model is asked for; both are empty if the sentences hold no answer."""

    sentences: Annotated[list[Annotated[int, OneOf("sentence")]], AtMost(4)]
    answer: Annotated[str, Field(max_length=2_000), AtMost(400)]


class ReaderReply(BaseModel):
    """The reply by quote that a model is asked for; no answer if the chunks hold none."""

    answer: QuotingAnswer | None


class NumberedReply(BaseModel):
    """The reply by number that a model is asked for; no answer if the chunks hold none."""

    answer: NumberingAnswer | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedAnswer:
    """A model's answer with the evidence that it cites.

    Attributes:
        sentences: The sentences of the answer, at least one.
        short: The short answer; may be empty.
        is_bare: Whether the only sentence is the short answer itself; the cited sentences are then
            the better text to show.
    """

    sentences: tuple[CitedSentence, ...]
    short: str
    is_bare: bool = False


ReplyT = TypeVar("ReplyT", bound=BaseModel)
SentenceT = TypeVar("SentenceT", bound=BaseModel)


class ReplyForm(Protocol[ReplyT, SentenceT]):
    """A form in which a model answers and names its evidence."""

    @property
    def kind(self) -> type[ReplyT]:
        """The type of the reply."""
        ...

    @property
    def sentence_kind(self) -> type[SentenceT]:
        """The type of one sentence with its evidence, as it stands in the reply."""
        ...

    @property
    def prompt(self) -> Prompt:
        """The instructions for the model."""
        ...

    def build_request(self, question: Question, shown: Sequence[PrunedHit]) -> ModelRequest:
        """Build the request with the question about the evidence."""
        ...

    def resolve_evidence(self, sentence: SentenceT, shown: Sequence[PrunedHit]) -> CitedSentence:
        """Return a sentence of a reply with the evidence that it names."""
        ...

    def read_reply(self, reply: ReplyT, shown: Sequence[PrunedHit]) -> CitedAnswer | None:
        """Return the answer of a reply; `None` if it says that there is none."""
        ...


AnyForm = ReplyForm[Any, Any]
"""Any of the forms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortForm:
    """The form of sentence numbers and a bare answer; the cheapest, best for small models."""

    prompt: Prompt = SHORT_PROMPT
    kind: type[ShortReply] = ShortReply
    sentence_kind: type[ShortReply] = ShortReply

    def build_request(self, question: Question, shown: Sequence[PrunedHit]) -> ModelRequest:
        """Build the request with numbered sentences."""
        return _build_numbered_request(self.prompt, question, shown, fence_once)

    def resolve_evidence(self, sentence: ShortReply, shown: Sequence[PrunedHit]) -> CitedSentence:
        """Return the answer with the sentences that its numbers name."""
        return _resolve_numbers(sentence.answer, sentence.sentences, shown)

    def read_reply(self, reply: ShortReply, shown: Sequence[PrunedHit]) -> CitedAnswer | None:
        """Return the answer of a reply; `None` if it is empty or says that there is none."""
        sentence = self.resolve_evidence(reply, shown)
        if not sentence.text or _NO_ANSWER.match(sentence.text):
            return None
        return CitedAnswer(sentences=(sentence,), short=sentence.text, is_bare=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuoteForm:
    """The form in which the model copies quotes; the default."""

    prompt: Prompt = QUOTES_PROMPT
    kind: type[ReaderReply] = ReaderReply
    sentence_kind: type[QuotingSentence] = QuotingSentence

    def build_request(self, question: Question, shown: Sequence[PrunedHit]) -> ModelRequest:
        """Build the request with the numbered evidence of each chunk."""
        return build_chunk_request(self.prompt, question, [item.context for item in shown])

    def resolve_evidence(
        self, sentence: QuotingSentence, shown: Sequence[PrunedHit]
    ) -> CitedSentence:
        """Return a sentence with the places of its quotes."""
        hits = [item.hit for item in shown]
        evidence = (locate_quote(quote.quote, hits, chunk=quote.chunk) for quote in sentence.quotes)
        return make_cited_sentence(sentence.text, len(sentence.quotes), evidence)

    def read_reply(self, reply: ReaderReply, shown: Sequence[PrunedHit]) -> CitedAnswer | None:
        """Return the answer of a reply; `None` if it says that there is none."""
        return _read_sentences(self, reply.answer, shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberForm:
    """The form in which the model names sentence numbers."""

    prompt: Prompt = NUMBERS_PROMPT
    kind: type[NumberedReply] = NumberedReply
    sentence_kind: type[NumberingSentence] = NumberingSentence

    def build_request(self, question: Question, shown: Sequence[PrunedHit]) -> ModelRequest:
        """Build the request with numbered sentences."""
        return _build_numbered_request(self.prompt, question, shown, fence_texts)

    def resolve_evidence(
        self, sentence: NumberingSentence, shown: Sequence[PrunedHit]
    ) -> CitedSentence:
        """Return a sentence with the sentences that its numbers name."""
        return _resolve_numbers(sentence.text, sentence.evidence, shown)

    def read_reply(self, reply: NumberedReply, shown: Sequence[PrunedHit]) -> CitedAnswer | None:
        """Return the answer of a reply; `None` if it says that there is none."""
        return _read_sentences(self, reply.answer, shown)


_MOST_SENTENCES = 12
"""The largest number of sentences of a reply that are verified; each costs a judgement."""
_NO_ANSWER = re.compile(
    r"(?:unanswerable|unknown|not (?:stated|given|specified|mentioned|available|answerable)|"
    r"tidak (?:diketahui|disebutkan|ada jawaban|terjawab))\W*$",
    re.IGNORECASE,
)
"""Short answers that mean that there is no answer."""


def _build_numbered_request(
    prompt: Prompt,
    question: Question,
    shown: Sequence[PrunedHit],
    fence_all: Callable[[str, Sequence[str]], str],
) -> ModelRequest:
    """Build the request with numbered sentences.

    Args:
        prompt: The instructions.
        question: The question; it comes after the sentences.
        shown: The evidence.
        fence_all: The function that puts the texts of the chunks between fences.
    """
    texts, places = number_sentences(shown)
    fence = make_fence(question.text, texts)
    return prompt.build_request(
        f"{fence_all(fence, texts)}\n\nQuestion: {question.text}",
        rule=format_rule(fence),
        choices={"sentence": number_items(len(places))},
    )


def _resolve_numbers(
    text: str, numbers: Sequence[int], shown: Sequence[PrunedHit]
) -> CitedSentence:
    """Return a text with the sentences that its numbers name."""
    # Numbered again rather than stored, because a form keeps no state of a run.
    _, places = number_sentences(shown)
    evidence = (places[number - 1] for number in numbers if 1 <= number <= len(places))
    return make_cited_sentence(text, len(numbers), evidence)


def _read_sentences(
    form: AnyForm, answer: QuotingAnswer | NumberingAnswer | None, shown: Sequence[PrunedHit]
) -> CitedAnswer | None:
    """Return an answer of several sentences with its evidence."""
    if answer is None:
        return None
    sentences = (
        form.resolve_evidence(sentence, shown) for sentence in answer.sentences[:_MOST_SENTENCES]
    )
    return CitedAnswer(sentences=tuple(sentences), short=answer.short_answer)


FORMS_BY_PREFIX: Mapping[str, EvidenceForm] = {"local:": "short"}
"""The best form for models whose names have a prefix; the figures are in docs/runs.md."""


def choose_form(model: str, chosen: Literal["auto"] | EvidenceForm) -> EvidenceForm:
    """Return the form that the settings choose, or by "auto" the best one for the model."""
    if chosen != "auto":
        return chosen
    forms = (form for prefix, form in FORMS_BY_PREFIX.items() if model.startswith(prefix))
    return next(forms, "quotes")


def make_form(
    model: str, chosen: Literal["auto"] | EvidenceForm, get_prompt: Callable[[Prompt], Prompt]
) -> AnyForm:
    """Build the form for a model, with the user's prompt if there is one.

    Args:
        model: The model, `provider:model`.
        chosen: The setting `llm.evidence`.
        get_prompt: The function that returns the user's prompt in place of a shipped one.
    """
    form = choose_form(model, chosen)
    if form == "short":
        return ShortForm(prompt=get_prompt(SHORT_PROMPT))
    if form == "numbers":
        return NumberForm(prompt=get_prompt(NUMBERS_PROMPT))
    return QuoteForm(prompt=get_prompt(QUOTES_PROMPT))


class SentenceStream:
    """A parser of a growing reply that passes on each complete sentence with evidence."""

    def __init__(
        self, form: AnyForm, shown: Sequence[PrunedHit], tell: Callable[[str], None]
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

    def _read_next(self) -> tuple[BaseModel, int] | None:
        """Return the next complete sentence and its end in the text; `None` if there is none."""
        at = self._text.find("{", self._at)
        while at >= 0:
            try:
                value, end = json.JSONDecoder().raw_decode(self._text, at)
                return self._form.sentence_kind.model_validate(value), end
            # A `ValidationError` is a `ValueError` too.
            except (ValueError, RecursionError):
                # The object is incomplete, or holds the sentences instead of being one.
                at = self._text.find("{", at + 1)
        return None
