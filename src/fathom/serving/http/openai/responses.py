"""The Responses API: answers as responses, which are stored as traces.

The id of a response is that of its answer's trace. So it can be fetched again, byte for byte, and
the next question can continue it (`previous_response_id`), without another store. Therefore the
events of a stream begin when the answer is complete; until then comments keep it open.
"""

import asyncio
import time
import uuid
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from fathom.engine import Engine
from fathom.index.traces import MissingTraceError
from fathom.question.conversation import Dialogue, DialogueTurn, parse_dialogue
from fathom.runs.events import FinalEvent, StreamEvent
from fathom.runs.trace import Trace
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
from fathom.serving.http.openai.bodies import ResponsesBody, parse_turn
from fathom.serving.http.openai.cited_text import CitedText, Source, render_cited_text
from fathom.serving.http.openai.errors import (
    OpenAIRoute,
    ParameterProblem,
    build_error_json,
    require_finished_answer,
)
from fathom.serving.http.openai.models import NAME
from fathom.serving.http.openai.page_url import PageUrl
from fathom.serving.http.openai.vector_stores import (
    Member,
    build_filter,
    describe_source,
    find_members,
)
from fathom.serving.http.problems import Problem
from fathom.serving.http.reply_schemas import describe_content
from fathom.serving.http.workspaces import Workspace
from fathom.serving.shapes import replace_invisible
from fathom.types import Answer
from fathom.usage import Usage

router = APIRouter(route_class=OpenAIRoute)
PREFIX = "resp_"
Reply = dict[str, Any]
"""A response as JSON."""
ResponseId = Annotated[str, Path(max_length=200)]
RESULTS = "file_search_call.results"
"""The value of `include` with which clients request the results of searches."""


class ReplayOptions(BaseModel):
    """The parameters of a response that is fetched again.

    Attributes:
        include: The further parts of the response.
        stream: Whether the response comes as events.
        starting_after: The number of the last event that the client has; by default it has none.
    """

    include: list[str] = Field(default=[], alias="include[]", max_length=20)
    stream: bool = False
    starting_after: int = Field(default=-1, ge=-1)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSearch:
    """The search in vector stores that a response rests on.

    Attributes:
        members: The searched files by the ids of their documents.
        most: The largest number of results.
        has_results: Whether the response includes the results.
    """

    members: Mapping[str, Member]
    most: int
    has_results: bool

    def build_call(self, answer: Answer) -> Reply:
        """Build the call of the tool; its results are the quotes of the answer."""
        results = [
            {
                **describe_source(member),
                "score": citation.support,
                "text": citation.quote,
            }
            for citation in answer.citations
            if (member := self.members.get(citation.document))
        ]
        return {
            "type": "file_search_call",
            "id": f"fs_{answer.trace_id or uuid.uuid4().hex}",
            "status": "completed",
            "queries": [replace_invisible(answer.standalone_question or answer.question)],
            "results": replace_invisible(results[: self.most]) if self.has_results else None,
        }

    def build_annotation(self, source: Source) -> dict[str, Any]:
        """Build the annotation of a source: its file, or its address if it is not in a file."""
        member = self.members.get(source.citation.document)
        if member is None:
            return _build_annotation(source)
        return {
            "type": "file_citation",
            "file_id": member.file_id,
            "filename": replace_invisible(member.filename),
            "index": source.start,
        }


@router.post("/responses", responses=describe_content("text/event-stream", "The answer"))
async def create_response(
    body: ResponsesBody,
    request: Request,
    asking: Runner,
    space: CurrentWorkspace,
    caller: ReadCaller,
    page: PageUrl,
) -> Response:
    """Answer the last question of the input, with citation marks and a list of linked sources."""
    body.check()
    stopping: Shutdown = request.app.state.stopping
    history = await asyncio.to_thread(_load_history, space.engine, body.previous_response_id)
    turn = await asyncio.to_thread(parse_turn, body.messages, history, param="input")
    effort = body.reasoning.effort if body.reasoning else None
    question = body.build_question(turn, effort, space.engine.settings)
    search = await asyncio.to_thread(_prepare_search, space, body)
    if search is not None:
        question = replace(question, filters=[*question.filters, build_filter(search.members)])
    if turn.reply is not None:
        text = CitedText(text=turn.reply, sources=())
        reply = _build_response(text, body.model, int(time.time()), Usage())
        return (
            build_event_stream(_stream_response(reply), stopping)
            if body.stream
            else build_json_reply(reply)
        )
    if body.stream:
        events = asking.stream(caller, space, question)
        # An early failure comes before the first event, so the reply can still have its status.
        await run_while_connected(request, anext(events))
        return build_event_stream(
            _stream_answer(space, events, page, search), stopping, _build_error_event
        )
    answer = await run_while_connected(request, asking.answer(caller, space, question))
    require_finished_answer(answer)
    return build_json_reply(
        await asyncio.to_thread(_build_new_response, space, answer, page, search)
    )


@router.get(
    "/responses/{response_id}", responses=describe_content("text/event-stream", "The events")
)
async def get_response(
    response_id: ResponseId,
    request: Request,
    space: CurrentWorkspace,
    _: ReadCaller,
    page: PageUrl,
    replay: Annotated[ReplayOptions, Query()],
) -> Response:
    """Get a response as it was given, as long as its trace is stored; also as a stream again."""
    reply = await asyncio.to_thread(_load_response, space, response_id, page, replay)
    if not replay.stream:
        return build_json_reply(reply)
    events = _stream_response(reply, replay.starting_after)
    return build_event_stream(events, request.app.state.stopping)


def _load_response(space: Workspace, response_id: str, page: str, replay: ReplayOptions) -> Reply:
    trace_id = _find_trace(space.engine, response_id).id
    answer = space.engine.traces.answer(trace_id)
    note = space.objects.get("response", trace_id)
    search = note and FileSearch(
        members={document: Member(**fields) for document, fields in note["members"].items()},
        most=note["most"],
        has_results=RESULTS in replay.include,
    )
    return _build_answer_response(space.engine, answer, page, search or None)


def _prepare_search(space: Workspace, body: ResponsesBody) -> FileSearch | None:
    """Find the files in which the tools of a request search; `None` without such a tool."""
    members: dict[str, Member] = {}
    for tool in body.tools:
        for store_id in tool.vector_store_ids:
            members = {**find_members(space, store_id, tool.filters), **members}
    return (
        FileSearch(
            members=members,
            most=max(tool.max_num_results for tool in body.tools),
            has_results=RESULTS in (body.include or ()),
        )
        if body.tools
        else None
    )


def _find_trace(engine: Engine, response_id: str) -> Trace:
    trace_id = response_id.removeprefix(PREFIX)
    with suppress(MissingTraceError):
        if trace_id != response_id and (trace := engine.trace(trace_id)).id == trace_id:
            return trace  # a prefix of its id would find the trace too, but names no response
    raise Problem(
        404,
        "response_not_found",
        f"there is no response {response_id[:80]!r}, or its trace was removed",
        next="send the turns of the conversation in input instead",
    )


def _load_history(engine: Engine, response_id: str | None) -> Dialogue:
    """Return the conversation up to a response."""
    if response_id is None:
        return ()
    try:
        trace = _find_trace(engine, response_id)
    except Problem as problem:
        raise ParameterProblem(
            "previous_response_id",
            problem.status,
            problem.kind,
            problem.detail,
            next=problem.next,
        ) from None
    turns = (
        *parse_dialogue(trace.origin.arguments.get("history", ())),
        DialogueTurn(role="user", content=trace.origin.question),
        DialogueTurn(role="assistant", content=trace.answer["answer"]),
    )
    return parse_dialogue(turns)


def _build_new_response(
    space: Workspace, answer: Answer, page: str, search: FileSearch | None
) -> Reply:
    """Build the response of a new answer, and store the files that it cites."""
    if search is not None and answer.trace_id is not None:
        cited = {citation.document for citation in answer.citations}
        members = {
            document: asdict(member)
            for document, member in search.members.items()
            if document in cited
        }
        note = {"members": members, "most": search.most}
        space.objects.put_response(answer.trace_id, note)
    return _build_answer_response(space.engine, answer, page, search)


def _build_answer_response(
    engine: Engine, answer: Answer, page: str, search: FileSearch | None
) -> Reply:
    """Build the response of an answer, with a random id if the answer has no trace."""
    created = time.time()
    if answer.trace_id is not None:
        created = datetime.fromisoformat(engine.trace(answer.trace_id).started_at).timestamp()
    model = f"{NAME}-{answer.strategy}"
    text = render_cited_text(answer, page)
    reply = _build_response(text, model, int(created), answer.usage, answer.trace_id)
    if search is not None:
        [message] = reply["output"]
        message["content"][0]["annotations"] = [
            search.build_annotation(source) for source in text.sources
        ]
        reply["output"] = [search.build_call(answer), message]
    return {**reply, "fathom": build_answer_json(answer)}


def _build_response(
    text: CitedText, model: str, created: int, usage: Usage, key: str | None = None
) -> Reply:
    key = key or uuid.uuid4().hex
    annotations = [_build_annotation(source) for source in text.sources]
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


def _build_annotation(source: Source) -> dict[str, Any]:
    return {
        "type": "url_citation",
        "url": source.url,
        "title": source.name,
        "start_index": source.start,
        "end_index": source.end,
    }


async def _stream_answer(
    space: Workspace,
    events: AsyncGenerator[StreamEvent, None],
    page: str,
    search: FileSearch | None,
) -> AsyncGenerator[ServerEvent, None]:
    """Yield the events of a response once its answer is complete."""
    try:
        async for event in events:
            if isinstance(event, FinalEvent):
                require_finished_answer(event.answer)
                reply = await asyncio.to_thread(
                    _build_new_response, space, event.answer, page, search
                )
                async for response_event in _stream_response(reply):
                    yield response_event
    finally:
        await events.aclose()


async def _stream_response(reply: Reply, after: int = -1) -> AsyncGenerator[ServerEvent, None]:
    """Yield the numbered events of a response after the one of a number, counted from 0."""
    for number, event in islice(enumerate(_iterate_events(reply)), after + 1, None):
        yield _build_event({**event, "sequence_number": number})


def _iterate_events(reply: Reply) -> Iterator[dict[str, Any]]:
    *calls, message = reply["output"]
    content = message["content"][0]
    started = {**reply, "status": "in_progress", "output": [], "usage": None}
    started.pop("fathom", None)
    place = {"output_index": len(calls)}
    item = {"item_id": message["id"], **place, "content_index": 0}
    yield {"type": "response.created", "response": started}
    yield {"type": "response.in_progress", "response": started}
    for index, call in enumerate(calls):
        yield from _iterate_call_events(call, {"output_index": index})
    yield {
        "type": "response.output_item.added",
        **place,
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
    yield {"type": "response.output_item.done", **place, "item": message}
    yield {"type": "response.completed", "response": reply}


def _iterate_call_events(call: Reply, place: dict[str, int]) -> Iterator[dict[str, Any]]:
    started = {**call, "status": "in_progress", "results": None}
    yield {"type": "response.output_item.added", **place, "item": started}
    for state in ("in_progress", "searching", "completed"):
        yield {"type": f"response.file_search_call.{state}", **place, "item_id": call["id"]}
    yield {"type": "response.output_item.done", **place, "item": call}


def _build_event(data: dict[str, Any]) -> ServerEvent:
    return ServerEvent(data["type"], encode_json(data))


def _build_error_event(problem: Problem) -> ServerEvent:
    """Build the event that ends a failed stream."""
    return _build_event(
        {**build_error_json(problem)["error"], "type": "error", "sequence_number": 0}
    )
