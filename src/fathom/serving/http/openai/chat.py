"""Chat completions: answers as messages of an assistant, in one reply or as a stream."""

import asyncio
import time
import uuid
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from fathom.runs.events import FinalEvent, StepEnd, StreamEvent
from fathom.serving.http.dependencies import CurrentWorkspace, ReadCaller, Runner
from fathom.serving.http.event_stream import (
    ServerEvent,
    Shutdown,
    build_event_stream,
    build_json_reply,
    encode_json,
    run_while_connected,
)
from fathom.serving.http.events import build_answer_json
from fathom.serving.http.openai.bodies import ChatBody, parse_turn
from fathom.serving.http.openai.cited_text import CitedText, Source, render_cited_text
from fathom.serving.http.openai.errors import (
    OpenAIRoute,
    build_error_chunk,
    require_finished_answer,
)
from fathom.serving.http.openai.page_url import PageUrl
from fathom.serving.http.reply_schemas import describe_content
from fathom.serving.shapes import replace_invisible
from fathom.types import Answer
from fathom.usage import Usage

router = APIRouter(route_class=OpenAIRoute)
DONE = ServerEvent("", "[DONE]")
"""The end of a stream, as OpenAI's clients expect it."""


@router.post("/chat/completions", responses=describe_content("text/event-stream", "The answer"))
async def create_chat_completion(
    body: ChatBody,
    request: Request,
    asking: Runner,
    space: CurrentWorkspace,
    caller: ReadCaller,
    page: PageUrl,
) -> Response:
    """Answer the last question of a chat, with citation marks and a list of linked sources."""
    body.check()
    stopping: Shutdown = request.app.state.stopping
    turn = await asyncio.to_thread(parse_turn, body.messages)
    question = body.build_question(turn, body.reasoning_effort, space.engine.settings)
    options = body.stream_options
    completion = ChatCompletion(
        model=body.model, base_url=page, with_usage=bool(options and options.include_usage)
    )
    if turn.reply is not None:
        text = CitedText(text=turn.reply, sources=())
        if not body.stream:
            return build_json_reply(completion.build_object(text, Usage()))
        return build_event_stream(
            _stream_all(
                [completion.build_first_chunk()],
                completion.iterate_answer_chunks(text),
                completion.iterate_last_chunks(Usage()),
            ),
            stopping,
        )
    if body.stream:
        events = asking.stream(caller, space, question)
        # An early failure comes before the first event, so the reply can still have its status.
        first = await run_while_connected(request, anext(events))
        return build_event_stream(
            _stream_chunks(completion, first, events), stopping, build_error_chunk
        )
    answer = await run_while_connected(request, asking.answer(caller, space, question))
    require_finished_answer(answer)
    return build_json_reply(
        completion.build_object(render_cited_text(answer, page), answer.usage, answer)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatCompletion:
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

    def build_object(
        self, text: CitedText, usage: Usage, answer: Answer | None = None
    ) -> dict[str, Any]:
        """Build the completion as one object; `fathom` holds the answer as in `/api/v1/ask`."""
        message = {
            "role": "assistant",
            "content": text.text,
            "refusal": None,
            "annotations": _build_annotations(text.sources),
        }
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        return {
            **self._build_head("chat.completion"),
            "choices": [choice],
            "usage": build_usage_json(usage),
            **_build_fathom_field(answer),
        }

    def build_first_chunk(self) -> dict[str, Any]:
        """Build the first chunk, which has no text."""
        return self._build_chunk({"role": "assistant", "content": ""})

    def build_status_chunk(self, description: str, *, done: bool = False) -> dict[str, Any]:
        """Build the chunk of a status, which Open WebUI shows and other clients ignore."""
        event = {
            "type": "status",
            "data": {"description": replace_invisible(description), "done": done},
        }
        return {**self._build_chunk({}), "event": event}

    def iterate_answer_chunks(self, text: CitedText) -> Iterator[dict[str, Any]]:
        """Yield a chunk for each line of the text, then one for each source with its quote."""
        for line in text.text.splitlines(keepends=True):
            yield self._build_chunk({"content": line})
        for source in text.sources:
            chunk = self._build_chunk({"annotations": _build_annotations([source])})
            yield {**chunk, "event": _build_source_event(source)}

    def iterate_last_chunks(
        self, usage: Usage, answer: Answer | None = None
    ) -> Iterator[dict[str, Any]]:
        """Yield the chunk that ends the text, and the chunk of the usage if it was requested."""
        yield {**self._build_chunk({}, finish_reason="stop"), **_build_fathom_field(answer)}
        if self.with_usage:
            head = self._build_head("chat.completion.chunk")
            yield {**head, "choices": [], "usage": build_usage_json(usage)}

    def _build_chunk(
        self, delta: dict[str, Any], finish_reason: str | None = None
    ) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return {**self._build_head("chat.completion.chunk"), "choices": [choice]}

    def _build_head(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


async def _stream_chunks(
    completion: ChatCompletion,
    first: StreamEvent,
    rest: AsyncGenerator[StreamEvent, None],
) -> AsyncGenerator[ServerEvent, None]:
    """Yield the chunks of a question's events.

    Sentences that are not final yet are left out, because a chat cannot take back a sentence that
    it has shown.
    """
    try:
        for chunk in (completion.build_first_chunk(), *_iterate_chunks(completion, first)):
            yield _build_event(chunk)
        async for event in rest:
            for chunk in _iterate_chunks(completion, event):
                yield _build_event(chunk)
        yield DONE
    finally:
        await rest.aclose()


def _iterate_chunks(completion: ChatCompletion, event: StreamEvent) -> Iterator[dict[str, Any]]:
    if isinstance(event, StepEnd):
        yield completion.build_status_chunk(f"{event.name}: {event.news}")
    elif isinstance(event, FinalEvent):
        answer = event.answer
        require_finished_answer(answer)
        yield from completion.iterate_answer_chunks(render_cited_text(answer, completion.base_url))
        yield completion.build_status_chunk(_summarize_answer(answer), done=True)
        yield from completion.iterate_last_chunks(answer.usage, answer)


def _summarize_answer(answer: Answer) -> str:
    confidence = "" if answer.confidence is None else f", confidence {answer.confidence:.2f}"
    status = "tentative" if answer.tentative else answer.status
    return f"{answer.strategy}: {status}{confidence}, {answer.usage.seconds:.1f} s"


def build_usage_json(usage: Usage) -> dict[str, Any]:
    """Build the tokens of language models; they are 0 if no model was called."""
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.tokens,
    }


def _build_fathom_field(answer: Answer | None) -> dict[str, Any]:
    return {} if answer is None else {"fathom": build_answer_json(answer)}


def _build_annotations(sources: Sequence[Source]) -> list[dict[str, Any]]:
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


def _build_source_event(source: Source) -> dict[str, Any]:
    """Build the event of a source with its whole quote, as Open WebUI stores it."""
    return {
        "type": "source",
        "data": {
            "source": {"name": source.name, "url": source.url},
            "document": [replace_invisible(source.citation.quote)],
            "metadata": [{"source": source.url, "name": source.name}],
        },
    }


def _build_event(chunk: dict[str, Any]) -> ServerEvent:
    return ServerEvent("", encode_json(chunk))


async def _stream_all(*groups: Iterable[dict[str, Any]]) -> AsyncGenerator[ServerEvent, None]:
    for chunk in chain(*groups):
        yield _build_event(chunk)
    yield DONE
