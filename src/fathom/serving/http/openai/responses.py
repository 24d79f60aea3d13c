"""The Responses API: an answer as a response, which its trace stores.

A response is named after the trace of its answer. So it can be fetched again, byte for byte, and be
continued by the next question (`previous_response_id`), without a store of its own. A stream
therefore starts when the answer is complete; until then comments keep it open.
"""

import asyncio
import time
import uuid
from collections.abc import AsyncGenerator, Iterator
from contextlib import suppress
from datetime import datetime
from itertools import count
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from fathom.engine import Engine
from fathom.index.traces import TraceMissing
from fathom.question.conversation import Dialogue, DialogueTurn, parse_dialogue
from fathom.runs.concurrency import FinalEvent
from fathom.runs.trace import Trace
from fathom.serving.http.dependencies import Ask, Here, MayRead
from fathom.serving.http.openai.address import PageUrl
from fathom.serving.http.openai.bodies import ResponsesBody, turn_of
from fathom.serving.http.openai.choices import NAME
from fathom.serving.http.openai.cited_text import CitedText, cited_text
from fathom.serving.http.openai.errors import OpenAIRoute, check_came_through, error_json
from fathom.serving.http.problems import Problem
from fathom.serving.http.streams import Event, json_reply, json_text, streamed, while_connected
from fathom.serving.http.telling import Ear, Told, answer_json
from fathom.types import Answer
from fathom.usage import Usage

router = APIRouter(route_class=OpenAIRoute)
PREFIX = "resp_"
Reply = dict[str, Any]
"""A response as JSON."""
ResponseId = Annotated[str, Path(max_length=200)]


@router.post("/responses")
async def respond(
    body: ResponsesBody, request: Request, asking: Ask, space: Here, caller: MayRead, page: PageUrl
) -> Response:
    """Answer the input's last question, with citation marks, a list of sources and links."""
    body.check()
    stopping = request.app.state.stopping
    history = await asyncio.to_thread(_before, space.engine, body.previous_response_id)
    turn = await asyncio.to_thread(turn_of, body.messages, history)
    effort = body.reasoning.effort if body.reasoning else None
    question = body.asked(turn, effort, space.engine.settings)
    if turn.reply is not None:
        text = CitedText(text=turn.reply, sources=())
        reply = _response(text, body.model, int(time.time()), Usage())
        return streamed(_told(reply), stopping) if body.stream else json_reply(reply)
    if body.stream:
        events = asking.stream(caller, space, question, Ear)
        # What can fail early has failed when the first event is there: it gets its own status.
        await while_connected(request, anext(events))
        return streamed(_awaited(space.engine, events, page), stopping, _error)
    answer = await while_connected(request, asking.answer(caller, space, question))
    check_came_through(answer)
    return json_reply(await asyncio.to_thread(_response_of, space.engine, answer, page))


@router.get("/responses/{response_id}")
def response(response_id: ResponseId, space: Here, _: MayRead, page: PageUrl) -> Response:
    """Get a response as it was given, as long as its trace is stored."""
    answer = space.engine.traces.answer(_trace(space.engine, response_id).id)
    return json_reply(_response_of(space.engine, answer, page))


def _trace(engine: Engine, response_id: str) -> Trace:
    trace_id = response_id.removeprefix(PREFIX)
    with suppress(TraceMissing):
        if trace_id != response_id and (trace := engine.trace(trace_id)).id == trace_id:
            return trace  # a prefix of an id finds a trace, but names no response
    raise Problem(
        404,
        "response_not_found",
        f"there is no response {response_id[:80]!r}, or its trace was removed",
        next="send the turns of the conversation in input instead",
    )


def _before(engine: Engine, response_id: str | None) -> Dialogue:
    """Return the conversation up to a response."""
    if response_id is None:
        return ()
    trace = _trace(engine, response_id)
    turns = (
        *parse_dialogue(trace.origin.arguments.get("history", ())),
        DialogueTurn(role="user", content=trace.origin.question),
        DialogueTurn(role="assistant", content=trace.answer["answer"]),
    )
    return parse_dialogue(turns)


def _response_of(engine: Engine, answer: Answer, page: str) -> Reply:
    """Build the response of an answer; without a trace it cannot be fetched again."""
    created = time.time()
    if answer.trace_id is not None:
        created = datetime.fromisoformat(engine.trace(answer.trace_id).started_at).timestamp()
    model = f"{NAME}-{answer.strategy}"
    reply = _response(cited_text(answer, page), model, int(created), answer.usage, answer.trace_id)
    return {**reply, "fathom": answer_json(answer)}


def _response(
    text: CitedText, model: str, created: int, usage: Usage, key: str | None = None
) -> Reply:
    key = key or uuid.uuid4().hex
    annotations = [
        {
            "type": "url_citation",
            "url": source.url,
            "title": source.name,
            "start_index": source.start,
            "end_index": source.end,
        }
        for source in text.sources
    ]
    content = {"type": "output_text", "text": text.text, "annotations": annotations, "logprobs": []}
    message = {
        "type": "message",
        "id": f"msg_{key}",
        "status": "completed",
        "role": "assistant",
        "content": [content],
    }
    return {
        "id": f"{PREFIX}{key}",
        "object": "response",
        "created_at": created,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": model,
        "output": [message],
        "parallel_tool_calls": False,
        "temperature": None,
        "tool_choice": "none",
        "tools": [],
        "top_p": None,
        "usage": {
            "input_tokens": usage.prompt_tokens,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": usage.completion_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage.tokens,
        },
    }


async def _awaited(
    engine: Engine, events: AsyncGenerator[Told | FinalEvent, None], page: str
) -> AsyncGenerator[Event, None]:
    """Yield the events of a response when its answer is complete."""
    try:
        async for event in events:
            if isinstance(event, FinalEvent):
                check_came_through(event.answer)
                reply = await asyncio.to_thread(_response_of, engine, event.answer, page)
                async for response_event in _told(reply):
                    yield response_event
    finally:
        await events.aclose()


async def _told(reply: Reply) -> AsyncGenerator[Event, None]:
    """Yield the events of a response."""
    numbers = count()
    for event in _steps(reply):
        yield _event({**event, "sequence_number": next(numbers)})


def _steps(reply: Reply) -> Iterator[dict[str, Any]]:
    message = reply["output"][0]
    content = message["content"][0]
    started = {**reply, "status": "in_progress", "output": [], "usage": None}
    started.pop("fathom", None)
    item = {"item_id": message["id"], "output_index": 0, "content_index": 0}
    yield {"type": "response.created", "response": started}
    yield {"type": "response.in_progress", "response": started}
    yield {
        "type": "response.output_item.added",
        "output_index": 0,
        "item": {**message, "status": "in_progress", "content": []},
    }
    empty = {**content, "text": "", "annotations": []}
    yield {"type": "response.content_part.added", **item, "part": empty}
    for line in content["text"].splitlines(keepends=True):
        yield {"type": "response.output_text.delta", **item, "delta": line, "logprobs": []}
    for index, annotation in enumerate(content["annotations"]):
        yield {
            "type": "response.output_text.annotation.added",
            **item,
            "annotation_index": index,
            "annotation": annotation,
        }
    yield {"type": "response.output_text.done", **item, "text": content["text"], "logprobs": []}
    yield {"type": "response.content_part.done", **item, "part": content}
    yield {"type": "response.output_item.done", "output_index": 0, "item": message}
    yield {"type": "response.completed", "response": reply}


def _event(data: dict[str, Any]) -> Event:
    return Event(data["type"], json_text(data))


def _error(problem: Problem) -> Event:
    """Build the event that ends a failed stream."""
    return _event({**error_json(problem)["error"], "type": "error", "sequence_number": 0})
