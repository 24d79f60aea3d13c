"""Chat completions: an answer as the message of an assistant, complete or as a stream."""

import asyncio
import time
import uuid
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from fathom.runs.concurrency import FinalEvent
from fathom.serving.http.dependencies import Ask, Here, MayRead
from fathom.serving.http.openai.address import PageUrl
from fathom.serving.http.openai.bodies import ChatBody, turn_of
from fathom.serving.http.openai.cited_text import CitedText, Source, cited_text
from fathom.serving.http.openai.errors import OpenAIRoute, check_came_through, last_chunk
from fathom.serving.http.streams import Event, json_reply, json_text, streamed, while_connected
from fathom.serving.http.telling import Ear, Ended, Told, answer_json
from fathom.serving.shapes import harmless
from fathom.types import Answer
from fathom.usage import Usage

router = APIRouter(route_class=OpenAIRoute)
DONE = Event("", "[DONE]")
"""The end of a stream, as OpenAI's clients expect it."""


@router.post("/chat/completions")
async def chat(
    body: ChatBody, request: Request, asking: Ask, space: Here, caller: MayRead, page: PageUrl
) -> Response:
    """Answer a conversation's last question, with citation marks, a list of sources and links."""
    body.check()
    stopping = request.app.state.stopping
    turn = await asyncio.to_thread(turn_of, body.messages)
    question = body.asked(turn, body.reasoning_effort, space.engine.settings)
    options = body.stream_options
    completion = Completion(
        model=body.model, base_url=page, with_usage=bool(options and options.include_usage)
    )
    if turn.reply is not None:
        text = CitedText(text=turn.reply, sources=())
        if not body.stream:
            return json_reply(completion.whole(text, Usage()))
        return streamed(
            _all(completion.begun(), completion.answered(text), completion.ended(Usage())), stopping
        )
    if body.stream:
        events = asking.stream(caller, space, question, Ear)
        # What can fail early has failed when the first event is there: it gets its own status.
        first = await while_connected(request, anext(events))
        return streamed(_chunks(completion, first, events), stopping, last_chunk)
    answer = await while_connected(request, asking.answer(caller, space, question))
    check_came_through(answer)
    return json_reply(completion.whole(cited_text(answer, page), answer.usage, answer))


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A completion, as one object or as the chunks of a stream.

    Attributes:
        base_url: The address to which links lead.
        with_usage: Whether a stream ends with the usage.
        id: The id of the object or of all chunks.
        created: The time in seconds since 1970.
    """

    model: str
    base_url: str
    with_usage: bool = False
    id: str = field(default_factory=lambda: f"chatcmpl-{uuid.uuid4().hex}")
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(self, text: CitedText, usage: Usage, answer: Answer | None = None) -> dict[str, Any]:
        """Build the completion as one object; `fathom` holds the answer as in `/api/v1/ask`."""
        message = {
            "role": "assistant",
            "content": text.text,
            "refusal": None,
            "annotations": _annotations(text.sources),
        }
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        return {
            **self._head("chat.completion"),
            "choices": [choice],
            "usage": usage_json(usage),
            **_own(answer),
        }

    def begun(self) -> Iterator[dict[str, Any]]:
        """Yield the first chunk."""
        yield self._chunk({"role": "assistant", "content": ""})

    def status(self, description: str, *, done: bool = False) -> dict[str, Any]:
        """Build the chunk of a status, which Open WebUI shows and other clients ignore."""
        event = {"type": "status", "data": {"description": harmless(description), "done": done}}
        return {**self._chunk({}), "event": event}

    def answered(self, text: CitedText) -> Iterator[dict[str, Any]]:
        """Yield the text by lines, then each source, with its quote for Open WebUI."""
        for line in text.text.splitlines(keepends=True):
            yield self._chunk({"content": line})
        for source in text.sources:
            chunk = self._chunk({"annotations": _annotations([source])})
            yield {**chunk, "event": _source_event(source)}

    def ended(self, usage: Usage, answer: Answer | None = None) -> Iterator[dict[str, Any]]:
        """Yield the last chunks."""
        yield {**self._chunk({}, finish_reason="stop"), **_own(answer)}
        if self.with_usage:
            head = self._head("chat.completion.chunk")
            yield {**head, "choices": [], "usage": usage_json(usage)}

    def _chunk(self, delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return {**self._head("chat.completion.chunk"), "choices": [choice]}

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


async def _chunks(
    completion: Completion, first: Told | FinalEvent, rest: AsyncGenerator[Told | FinalEvent, None]
) -> AsyncGenerator[Event, None]:
    """Yield the chunks of a question's events.

    Sentences that are not final yet are left out: a chat cannot take back what it has shown, and
    must show what is stored.
    """
    try:
        for chunk in (*completion.begun(), *_progress(completion, first)):
            yield _event(chunk)
        async for event in rest:
            for chunk in _progress(completion, event):
                yield _event(chunk)
        yield DONE
    finally:
        await rest.aclose()


def _progress(completion: Completion, event: Told | FinalEvent) -> Iterator[dict[str, Any]]:
    if isinstance(event, Ended):
        step = event.step
        yield completion.status(
            f"{step.name}: {step.reason or step.verdict or step.error or 'done'}"
        )
    elif isinstance(event, FinalEvent):
        answer = event.answer
        check_came_through(answer)
        yield from completion.answered(cited_text(answer, completion.base_url))
        yield completion.status(_summary(answer), done=True)
        yield from completion.ended(answer.usage, answer)


def _summary(answer: Answer) -> str:
    confidence = "" if answer.confidence is None else f", confidence {answer.confidence:.2f}"
    return f"{answer.strategy}: {answer.status}{confidence}, {answer.usage.seconds:.1f} s"


def usage_json(usage: Usage) -> dict[str, Any]:
    """Build the usage of language models; zeros if none was called."""
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.tokens,
    }


def _own(answer: Answer | None) -> dict[str, Any]:
    return {} if answer is None else {"fathom": answer_json(answer)}


def _annotations(sources: Sequence[Source]) -> list[dict[str, Any]]:
    return [
        {
            "type": "url_citation",
            "url_citation": {
                "url": source.url,
                "title": source.name,
                "start_index": source.start,
                "end_index": source.end,
            },
        }
        for source in sources
    ]


def _source_event(source: Source) -> dict[str, Any]:
    """Build the event of a source with its whole quote, as Open WebUI stores it."""
    return {
        "type": "source",
        "data": {
            "source": {"name": source.name, "url": source.url},
            "document": [harmless(source.citation.quote)],
            "metadata": [{"source": source.url, "name": source.name}],
        },
    }


def _event(chunk: dict[str, Any]) -> Event:
    return Event("", json_text(chunk))


async def _all(*groups: Iterator[dict[str, Any]]) -> AsyncGenerator[Event, None]:
    for group in groups:
        for chunk in group:
            yield _event(chunk)
    yield DONE
