"""Chat completions: an answer as the message of an assistant, whole or as a stream."""

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


@router.post("/chat/completions")
async def chat(
    body: ChatBody, request: Request, asking: Ask, space: Here, caller: MayRead, page: PageUrl
) -> Response:
    """Answer the last question of a conversation, with marks, a list of sources and links."""
    body.check()
    stopping = request.app.state.stopping
    turn = await asyncio.to_thread(turn_of, body.messages)
    asked = body.asked(turn, body.reasoning_effort, space.engine.settings)
    options = body.stream_options
    told = Completion(
        model=body.model, base_url=page, with_usage=bool(options and options.include_usage)
    )
    if turn.reply is not None:
        done = CitedText(text=turn.reply, sources=())
        if not body.stream:
            return json_reply(told.whole(done, Usage()))
        return streamed(_all(told.begun(), told.answered(done), told.ended(Usage())), stopping)
    if body.stream:
        events = asking.stream(caller, space, asked, Ear)
        # What can fail has failed when the first event is there, with its own status.
        first = await while_connected(request, anext(events))
        return streamed(_chunks(told, first, events), stopping, last_chunk)
    answer = await while_connected(request, asking.answer(caller, space, asked))
    check_came_through(answer)
    return json_reply(told.whole(cited_text(answer, page), answer.usage, answer))


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """One completion: its name and its parts.

    Attributes:
        base_url: Where links lead.
        with_usage: Whether a stream ends with what was spent.
        id: Of all its parts.
        created: Seconds since 1970.
    """

    model: str
    base_url: str
    with_usage: bool = False
    id: str = field(default_factory=lambda: f"chatcmpl-{uuid.uuid4().hex}")
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(self, text: CitedText, usage: Usage, answer: Answer | None = None) -> dict[str, Any]:
        """The completion as one object; `fathom` holds the answer as `/api/v1/ask` gives it."""
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
        """The first chunk."""
        yield self._chunk({"role": "assistant", "content": ""})

    def status(self, description: str, *, done: bool = False) -> dict[str, Any]:
        """What is going on, as Open WebUI shows it; nothing to other clients."""
        told = {"type": "status", "data": {"description": harmless(description), "done": done}}
        return {**self._chunk({}), "event": told}

    def answered(self, text: CitedText) -> Iterator[dict[str, Any]]:
        """The text, line by line, and its sources: the quotes for Open WebUI, links for others."""
        for line in text.text.splitlines(keepends=True):
            yield self._chunk({"content": line})
        for source in text.sources:
            told = self._chunk({"annotations": _annotations([source])})
            yield {**told, "event": _source_event(source)}

    def ended(self, usage: Usage, answer: Answer | None = None) -> Iterator[dict[str, Any]]:
        """The last chunks."""
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
    told: Completion, first: Told | FinalEvent, rest: AsyncGenerator[Told | FinalEvent, None]
) -> AsyncGenerator[Event, None]:
    """A question's events as chunks.

    Sentences that are not final yet are not told: what a chat has shown cannot be taken back, and
    must be what is stored.
    """
    try:
        for chunk in (*told.begun(), *_progress(told, first)):
            yield _event(chunk)
        async for event in rest:
            for chunk in _progress(told, event):
                yield _event(chunk)
        yield DONE
    finally:
        await rest.aclose()


def _progress(told: Completion, event: Told | FinalEvent) -> Iterator[dict[str, Any]]:
    if isinstance(event, Ended):
        step = event.step
        yield told.status(f"{step.name}: {step.reason or step.verdict or step.error or 'done'}")
    elif isinstance(event, FinalEvent):
        answer = event.answer
        check_came_through(answer)
        yield from told.answered(cited_text(answer, told.base_url))
        yield told.status(_summary(answer), done=True)
        yield from told.ended(answer.usage, answer)


def _summary(answer: Answer) -> str:
    sure = "" if answer.confidence is None else f", confidence {answer.confidence:.2f}"
    return f"{answer.strategy}: {answer.status}{sure}, {answer.usage.seconds:.1f} s"


def usage_json(usage: Usage) -> dict[str, Any]:
    """What language models have used; nothing where none was asked."""
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
                "url": each.url,
                "title": each.name,
                "start_index": each.start,
                "end_index": each.end,
            },
        }
        for each in sources
    ]


def _source_event(source: Source) -> dict[str, Any]:
    """A source with its whole quote, as Open WebUI keeps it."""
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


async def _all(*parts: Iterator[dict[str, Any]]) -> AsyncGenerator[Event, None]:
    for part in parts:
        for chunk in part:
            yield _event(chunk)
    yield DONE
