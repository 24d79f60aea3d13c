"""The reader's other mind: a language model answers, and every quote of it is looked up."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, Field, ValidationError

from fathom.agents.judge import Judge
from fathom.agents.prompt_delimiters import chunk_messages
from fathom.agents.reader import Reader, outline
from fathom.context import Listener, RunContext
from fathom.ledger import BudgetRefused
from fathom.llm.call import RoleModel, ask_model
from fathom.llm.faults import CallFailed
from fathom.types import Claim, Draft, Evidence, Hit, Span

PROMPT = """\
You answer a question from numbered chunks of documents, and from nothing else.
- Write the answer in as few sentences as it takes, in the language of the question.
- Each sentence names the chunk that supports it and quotes the part that does, word for word.
- If the chunks do not hold the answer, say so with "answerable": false and no sentences.
- short_answer is the bare answer (a name, a number, a date, a few words), or empty.
{rule}"""

_MARK = re.compile(r"\s*\[\d+\]")
_OBJECT = re.compile(r"\{[^{}]*\}")
_LONGEST_CHUNK = 6_000
_MOST_SENTENCES = 12


class Sentence(BaseModel):
    """A sentence of the answer with its evidence."""

    text: str = Field(max_length=2_000)
    chunk: int = Field(description="Number of the chunk that supports the sentence.")
    quote: str = Field(max_length=2_000, description="The part that does, word for word.")


class ReaderReply(BaseModel):
    """What a language model is asked for."""

    answerable: bool
    sentences: list[Sentence] = Field(default_factory=list)
    short_answer: str = Field(default="", max_length=300)


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageReader:
    """Lets the local mind answer what it is certain of, and asks a language model for the rest.

    A sentence counts only if its quote stands in the chunk it names and the judge finds it
    supported; so whatever a document or a server says, nothing unverified is shown.

    Attributes:
        local: Reads first.
        skip_above_confidence: From this confidence of the local reader on the model is not
            asked; above 1 it always is.
        min_support: Sentences with less support are dropped.
        fallback: What happens when the model gives nothing that can be verified: the local
            draft counts, or there is no answer.
    """

    model: RoleModel
    local: Reader
    judge: Judge
    skip_above_confidence: float
    min_support: float
    fallback: Literal["local", "abstain"]

    async def read(self, question: str, hits: Sequence[Hit], context: RunContext) -> Draft:
        """See `Reader.read`.

        Raises:
            BudgetRefused: If there was no time even for the local mind.
            RunError: If the model fails and the local draft is not to count.
        """
        inputs = {"chunks": [hit.chunk.id for hit in hits]}
        with context.step("read", agent="reader", inputs=inputs) as here:
            first = await self.local.read(question, hits, here)
            if first.confidence >= self.skip_above_confidence or not hits:
                here.done(outputs=outline(first), verdict="local", reason="the local mind is sure")
                return first
            draft, verdict, reason = await self._or_local(first, question, hits, here)
            here.done(outputs=outline(draft), verdict=verdict, reason=reason)
        return draft

    async def _or_local(
        self, first: Draft, question: str, hits: Sequence[Hit], context: RunContext
    ) -> tuple[Draft, str, str]:
        try:
            reply = await self._ask(question, hits, context)
            if not reply.answerable:
                return Draft(), "model", "the model finds no answer in the chunks"
            draft = await self._checked(reply, hits, context)
        except BudgetRefused as refused:
            return first, "local", str(refused)
        except CallFailed as failed:
            if self.fallback == "abstain":
                raise
            return first, "local", str(failed)
        if draft.evidence:
            return draft, "model", f"{len(draft.claims)} sentences hold"
        if self.fallback == "abstain":
            return draft, "model", "no sentence of the model could be verified"
        return first, "local", "no sentence of the model could be verified"

    async def _ask(self, question: str, hits: Sequence[Hit], context: RunContext) -> ReaderReply:
        with context.step("ask", agent="reader", inputs={"model": self.model.chat.name}) as here:
            reply = await ask_model(
                self.model,
                ReaderReply,
                chunk_messages(PROMPT, question, hits, longest=_LONGEST_CHUNK),
                here,
                on_text=_Stream(hits, here.listener) if here.listener.wants_text else None,
            )
            if isinstance(reply.failure, CallFailed):
                here.done(usage=reply.usage)
            value = reply.required()
            here.done(outputs={"reply": value}, usage=reply.usage, reason=reply.reason)
        return value

    async def _checked(self, reply: ReaderReply, hits: Sequence[Hit], context: RunContext) -> Draft:
        """The sentences of a reply that hold; without evidence if none does."""
        found = [
            (text, evidence)
            for sentence in reply.sentences[:_MOST_SENTENCES]
            if (text := _MARK.sub("", sentence.text).strip())
            and (evidence := located(sentence, hits))
        ]
        pairs = [(text, evidence.quote) for text, evidence in found]
        scores = await self.judge.support(pairs, context)
        kept = [
            (text, Evidence(hit=evidence.hit, span=evidence.span, support=score))
            for (text, evidence), score in zip(found, scores, strict=True)
            if score >= self.min_support
        ]
        if not kept:
            return Draft()
        total = sum(evidence.support for _, evidence in kept)
        return Draft(
            evidence=tuple(evidence for _, evidence in kept),
            claims=tuple(Claim(text=text, evidence=(at,)) for at, (text, _) in enumerate(kept)),
            short_answer=_backed(reply.short_answer, kept),
            confidence=round(total / len(reply.sentences), 6),
        )


def located(sentence: Sentence, hits: Sequence[Hit]) -> Evidence | None:
    """Where the quote stands in the chunk that the sentence names, but for white space.

    Its support is 0 until a judge has seen it.
    """
    if not 1 <= sentence.chunk <= len(hits):
        return None
    hit = hits[sentence.chunk - 1]
    words = sentence.quote.split()
    if not any(char.isalnum() for char in sentence.quote):
        return None
    match = re.search(r"\s+".join(map(re.escape, words)), hit.chunk.text)
    return Evidence(hit=hit, span=Span(*match.span()), support=0.0) if match else None


class _Stream:
    """Finds the sentences in a reply that is still coming, and tells those with a true quote."""

    def __init__(self, hits: Sequence[Hit], listener: Listener) -> None:
        self._hits = hits
        self._listener = listener
        self._text = ""
        self._at = 0

    def __call__(self, words: str) -> None:
        self._text += words
        while match := _OBJECT.search(self._text, self._at):
            self._at = match.end()
            try:
                sentence = Sentence.model_validate_json(match.group())
            except ValidationError:
                continue  # what does not fit is told at the end, if at all
            if located(sentence, self._hits):
                self._listener.text(sentence.text)


def _backed(short: str, kept: Sequence[tuple[str, Evidence]]) -> str:
    """The short answer, if a quote holds it."""
    plain = " ".join(short.split()).casefold()
    quotes = (" ".join(evidence.quote.split()).casefold() for _, evidence in kept)
    return short.strip() if plain and any(plain in quote for quote in quotes) else ""
