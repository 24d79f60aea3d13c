"""The native API: ask, search, answers, traces, feedback."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response, StreamingResponse

from fathom.errors import IndexMissing
from fathom.extensions import list_names
from fathom.jsonable import Json
from fathom.registry import PAPERS
from fathom.retrieval.excerpts import choose_hit_count
from fathom.runs.events import FinalEvent, StreamEvent
from fathom.runs.outline import to_json
from fathom.serving.brief import (
    MOST_LINES,
    MOST_TEXT,
    find_lines,
    make_brief,
    serialize_located_brief,
)
from fathom.serving.budgets import (
    MOST_CALLS,
    MOST_SECONDS,
    MOST_TOKENS,
    MOST_USD,
    Effort,
    limit_budget,
)
from fathom.serving.http.access import Caller
from fathom.serving.http.dependencies import (
    CurrentWorkspace,
    IdempotencyKey,
    KeyFirstRoute,
    ReadCaller,
    Runner,
    build_scope_problem,
)
from fathom.serving.http.event_stream import (
    ServerEvent,
    build_event_stream,
    build_json_reply,
    encode_json,
    run_while_connected,
)
from fathom.serving.http.events import EventBuilder, encode_answer
from fathom.serving.http.idempotency import ReplyNote
from fathom.serving.http.problems import Problem
from fathom.serving.http.question_runner import MOST_CHARS, SubmittedQuestion
from fathom.serving.http.reply_schemas import (
    AskReply,
    FeedbackReply,
    ReplayReply,
    SearchReply,
    StrategyList,
    TraceList,
    TraceReply,
    WorkspaceStatus,
    describe_content,
)
from fathom.serving.http.workspaces import Workspace
from fathom.serving.mcp_shapes import LineList
from fathom.serving.shapes import (
    replace_invisible,
    serialize_excerpts,
    serialize_hits,
    serialize_replay,
    serialize_status,
)
from fathom.types import Answer
from fathom.usage import Budget

router = APIRouter(prefix="/api/v1", tags=["ask"], route_class=KeyFirstRoute)
T = TypeVar("T")
U = TypeVar("U")
EFFORTS: tuple[Effort, ...] = ("low", "medium", "high")
MOST_HITS = 1000
"""The largest number of hits of one search over HTTP."""
Filters = Annotated[list[str], Field(default_factory=list, max_length=50)]


class Body(BaseModel):
    """A request body without unknown fields."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class BudgetBody(Body):
    """The limits of a request, which lower the budget of the effort and never raise it.

    Attributes:
        max_tokens: The number of tokens that are sent to language models or written by them.
        deadline: The time of the run in seconds.
        max_calls: The number of calls of language models.
        max_cost: The cost in USD.
    """

    max_tokens: int | None = Field(default=None, ge=0, le=MOST_TOKENS)
    deadline: float | None = Field(default=None, ge=0, le=MOST_SECONDS)
    max_calls: int | None = Field(default=None, ge=0, le=MOST_CALLS)
    max_cost: float | None = Field(default=None, ge=0, le=MOST_USD)

    def to_budget(self) -> Budget:
        """Return the limits as a budget."""
        return Budget(
            tokens=self.max_tokens,
            calls=self.max_calls,
            seconds=self.deadline,
            cost_usd=self.max_cost,
        )


class TurnBody(Body):
    """An earlier turn of the conversation."""

    role: Literal["user", "assistant"]
    content: str = Field(max_length=MOST_CHARS)


class AskBody(Body):
    """A question.

    Attributes:
        question: The text of the question.
        strategy: The name of the strategy; by default that of the settings.
        paper: The paper whose settings apply.
        effort: The effort, which sets the budget.
        filters: Conditions on metadata, such as `year>=2020`, all of which a document must meet.
        budget: Limits that are lower than those of the effort.
        conversation: The id of the conversation that the question continues.
        history: The earlier turns of a conversation that the server does not store.
    """

    question: str = Field(max_length=MOST_CHARS)
    strategy: str | None = Field(default=None, max_length=64)
    paper: str | None = Field(default=None, max_length=64)
    effort: Effort | None = None
    filters: Filters
    budget: BudgetBody | None = None
    conversation: str | None = Field(default=None, max_length=64)
    history: list[TurnBody] = Field(default_factory=list, max_length=200)


class SingleAskBody(AskBody):
    """A question that gets one reply.

    Attributes:
        brief: Whether the reply has only the fields that agents need.
    """

    brief: bool = False


class LinesBody(Body):
    """A search for lines that contain at least one of the texts, word for word.

    Attributes:
        texts: The texts.
        documents: The ids or paths of the documents to search; if empty, all documents.
        match_case: Whether upper and lower case differ.
        most: The number of lines, at most.
    """

    texts: list[Annotated[str, Field(min_length=1, max_length=MOST_TEXT)]] = Field(
        min_length=1, max_length=50
    )
    documents: list[Annotated[str, Field(max_length=1_000)]] = Field(
        default_factory=list, max_length=50
    )
    match_case: bool = False
    most: int = Field(default=20, ge=1, le=MOST_LINES)


class SearchBody(Body):
    """A search.

    Attributes:
        query: The query.
        chars: The characters of all excerpts together, at most. With this field the reply has short
            excerpts, else whole chunks.
        k: The number of hits, at most.
        retriever: The name of the retriever; by default that of the settings.
        filters: Conditions on metadata, such as `year>=2020`, all of which a document must meet.
    """

    query: str = Field(max_length=MOST_CHARS)
    chars: int | None = Field(default=None, ge=1, le=MOST_CHARS)
    k: int | None = Field(default=None, ge=1, le=MOST_HITS)
    retriever: str | None = Field(default=None, max_length=128)
    filters: Filters


class FeedbackBody(Body):
    """A person's judgement of an answer: that it is right or wrong, or what the right answer is.

    Attributes:
        trace_id: The id of the answer's trace.
        correct: Whether the answer is right; leave it out to give `answer`.
        answer: The right answer.
        note: A remark, which is stored.
    """

    trace_id: str = Field(min_length=1, max_length=64)
    correct: bool | None = None
    answer: str = Field(default="", max_length=2_000)
    note: str = Field(default="", max_length=2_000)


async def _build_question(body: AskBody, space: Workspace, caller: Caller) -> SubmittedQuestion:
    limits = (body.budget or BudgetBody()).to_budget()
    history: list[Json] = [turn.model_dump() for turn in body.history]
    documents: frozenset[str] | None = None
    if body.conversation is not None:
        load = space.conversations.load_dialogue
        earlier = await asyncio.to_thread(load, body.conversation, caller.owner)
        documents = None if history else earlier.documents
        history = [*earlier.messages, *history]
    return SubmittedQuestion(
        question=body.question,
        strategy=body.strategy,
        paper=body.paper,
        filters=body.filters,
        budget=limit_budget(space.engine.settings, body.effort, limits),
        history=history,
        earlier=documents,
    )


@router.post("/ask", response_model=AskReply)
async def ask(
    body: SingleAskBody,
    request: Request,
    asking: Runner,
    space: CurrentWorkspace,
    caller: ReadCaller,
    idempotency_key: IdempotencyKey,
) -> Response:
    """Answer a question with citations, or say that the documents hold no answer."""

    async def work() -> Response:
        question = await _build_question(body, space, caller)
        answer = await asking.answer(caller, space, question)
        await _add_turn(body, space, caller, answer)
        if not body.brief:
            return Response(encode_answer(answer), media_type="application/json")
        text = await asking.run_in_turn(space, lambda: _encode_brief(space, answer, body.filters))
        return Response(text, media_type="application/json")

    def rebuild_text(trace_id: str) -> str:
        answer = space.engine.traces.answer(trace_id, owner=space.owner)
        return _encode_brief(space, answer, body.filters) if body.brief else encode_answer(answer)

    note = ReplyNote(
        lambda reply: json.loads(bytes(reply.body)).get("trace_id") or "",
        rebuild_text,
        is_lasting=not space.engine.is_limited,
    )
    replying = space.replies.run_once(idempotency_key, json.dumps(body.model_dump()), work, note)
    return await run_while_connected(request, replying)


def _encode_brief(space: Workspace, answer: Answer, filters: Sequence[str]) -> str:
    """Encode an answer as JSON in the few fields that agents need."""
    brief = make_brief(space.engine, answer, filters)
    return encode_json(replace_invisible(serialize_located_brief(brief)))


@router.post(
    "/ask/stream",
    response_class=StreamingResponse,
    responses=describe_content("text/event-stream", "The events"),
)
async def ask_stream(
    body: AskBody, request: Request, asking: Runner, space: CurrentWorkspace, caller: ReadCaller
) -> StreamingResponse:
    """Answer a question, and report the progress as server-sent events.

    The events are `plan`, `step`, `hits`, `text`, `citation`, `usage`, and at last `final` (the
    whole answer) or `error` (a problem).
    """
    question = await _build_question(body, space, caller)
    events = asking.stream(caller, space, question)
    # An early failure comes before the first event, so the reply can still have its status.
    first = await run_while_connected(request, anext(events))
    stream = _stream_events(body, space, caller, first, events)
    return build_event_stream(stream, request.app.state.stopping)


async def _stream_events(
    body: AskBody,
    space: Workspace,
    caller: Caller,
    first: StreamEvent,
    rest: AsyncGenerator[StreamEvent, None],
) -> AsyncGenerator[ServerEvent, None]:
    settings = space.engine.settings
    plan = {
        "strategy": body.strategy or body.paper or settings.ask.strategy,
        "effort": body.effort or settings.budget.effort,
        "question": replace_invisible(body.question),
    }
    builder = EventBuilder(plan, space.engine)
    try:
        yield ServerEvent("plan", encode_json(plan))
        for event in await asyncio.to_thread(builder.build_events, first):
            yield event
        async for progress in rest:
            if isinstance(progress, FinalEvent):
                await _add_turn(body, space, caller, progress.answer)
            for event in await asyncio.to_thread(builder.build_events, progress):
                yield event
    finally:
        await rest.aclose()


async def _add_turn(body: AskBody, space: Workspace, caller: Caller, answer: Answer) -> None:
    """Add the turn to the conversation that the question names, if any."""
    if body.conversation is not None:
        add = space.conversations.add_turn
        turn = body.conversation, body.question, answer.trace_id
        await asyncio.to_thread(add, *turn, caller.owner)


@router.get("/answers/{trace_id}", response_model=Answer)
def get_answer(trace_id: str, space: CurrentWorkspace, _: ReadCaller) -> Response:
    """Get an answer exactly as it was given."""
    text = encode_answer(space.engine.traces.answer(trace_id, owner=space.owner))
    return Response(text, media_type="application/json")


@router.get("/traces", response_model=TraceList)
def list_traces(
    space: CurrentWorkspace, _: ReadCaller, limit: Annotated[int, Query(ge=1, le=1000)] = 50
) -> Response:
    """List the latest traces, newest first."""
    summaries = load_or_default(lambda: space.engine.traces.list(limit, owner=space.owner), ())
    return build_json_reply(
        {"traces": replace_invisible([asdict(summary) for summary in summaries])}
    )


@router.get("/traces/{trace_id}", response_model=TraceReply)
def get_trace(trace_id: str, space: CurrentWorkspace, _: ReadCaller) -> Response:
    """Get the record of a run: its steps, and what models, the index and the web replied."""
    return Response(
        to_json(space.engine.trace(trace_id, owner=space.owner)), media_type="application/json"
    )


@router.post("/traces/{trace_id}/replay", response_model=ReplayReply)
async def replay_trace(
    trace_id: str, request: Request, asking: Runner, space: CurrentWorkspace, _: ReadCaller
) -> Response:
    """Answer the question again from the trace alone, and return the first difference."""

    def replay() -> dict[str, Any]:
        return serialize_replay(space.engine.replay(trace_id, owner=space.owner))

    comparison = await run_while_connected(request, asking.run_in_turn(space, replay))
    return build_json_reply(replace_invisible(json.loads(json.dumps(comparison, default=asdict))))


@router.post("/search", response_model=SearchReply)
async def search(
    body: SearchBody, request: Request, asking: Runner, space: CurrentWorkspace, _: ReadCaller
) -> Response:
    """Find the chunks that match a query best."""

    def find_hits() -> Any:  # noqa: ANN401 - JSON
        engine = space.engine
        count = body.k
        if count is None and body.chars is not None:
            count = choose_hit_count(body.chars)
        hits = engine.search(body.query, k=count, retriever=body.retriever, filters=body.filters)
        if body.chars is not None:
            excerpts = engine.excerpt(body.query, hits, chars=body.chars)
            return replace_invisible(serialize_excerpts(excerpts))
        return replace_invisible(serialize_hits(body.query, hits, engine.documents.locate(hits)))

    hits = await run_while_connected(request, asking.run_in_turn(space, find_hits))
    return build_json_reply(hits)


@router.post("/lines", response_model=LineList)
async def list_lines(
    body: LinesBody, request: Request, asking: Runner, space: CurrentWorkspace, _: ReadCaller
) -> Response:
    """Find the lines of the documents that contain at least one of the texts, word for word."""
    find = partial(
        find_lines,
        space.engine,
        body.texts,
        body.documents,
        match_case=body.match_case,
        most=body.most,
    )
    lines = await run_while_connected(request, asking.run_in_turn(space, find))
    return build_json_reply(replace_invisible(lines))


@router.post("/feedback", status_code=201, response_model=FeedbackReply)
async def add_feedback(
    body: FeedbackBody, asking: Runner, space: CurrentWorkspace, caller: ReadCaller
) -> Response:
    """Judge an answer as right or wrong, or give the right answer.

    Feedback with one of the scopes `curate`, `ingest` and `admin` changes the answers that
    everybody in the workspace gets. Feedback with `read` alone is an opinion: it is stored and
    changes nothing.
    """
    answer = body.answer.strip()
    if answer and body.correct:
        raise Problem(400, "bad_request", "send either `correct` or the right `answer`, not both")
    if answer and not caller.may_curate:
        raise build_scope_problem("curate", "say what the right answer is")

    def store_feedback() -> Response:
        stored = space.engine.calibration.add_feedback(
            body.trace_id,
            right=None if answer else body.correct,
            answer=answer,
            note=body.note.strip(),
            counts=caller.may_curate,
            owner=space.owner,
        )
        reply = {
            "trace_id": stored.trace_id,
            "said": stored.said,
            "again": stored.again is not None,
        }
        return build_json_reply(reply, 201)

    if not answer:
        return await asyncio.to_thread(store_feedback)
    return await asking.run_in_turn(space, store_feedback)  # it parses the answer


@router.get("/strategies", response_model=StrategyList)
def list_strategies(space: CurrentWorkspace, _: ReadCaller) -> Response:
    """List the strategies, and the budget of each effort."""
    settings = space.engine.settings
    return build_json_reply(
        {
            "default": settings.ask.strategy,
            "effort": settings.budget.effort,
            "strategies": [
                {"name": name, "description": DESCRIPTIONS.get(name, "")}
                for name in list_names("strategy")
            ],
            "papers": list(PAPERS),
            "efforts": {name: getattr(settings.effort, name).model_dump() for name in EFFORTS},
        }
    )


@router.get("/status", response_model=WorkspaceStatus)
def get_status(space: CurrentWorkspace, caller: ReadCaller) -> Response:
    """Get the state of the workspace: its index, its language model, and who writes to it."""
    engine = space.engine
    index_status = load_or_default(
        lambda: serialize_status(engine.status(), engine.calibration.list()), None
    )
    reply = {
        "workspace": space.name,
        "scopes": sorted(caller.scopes),
        "llm": engine.settings.llm.model,
        "offline": engine.settings.offline,
        "writer": engine.index.describe_writer() if index_status else "",
        "index": index_status,
    }
    return build_json_reply(replace_invisible(json.loads(json.dumps(reply, default=asdict))))


def load_or_default(load: Callable[[], T], default: U) -> T | U:
    """Return the result of `load`, or `default` if nothing has been ingested into the workspace."""
    try:
        return load()
    except IndexMissing:
        return default


DESCRIPTIONS = {
    "naive": "Searches once, reads the best hits, answers or abstains.",
    "maf": "A ladder of confidence: search, an enhanced search, a debate of agents, the web.",
    "anchor": "Finds what the question is anchored to; searches further only while that helps.",
    "rrf": "Several searches at once, fused by rank; the best hit is read.",
    "hybrid": "Branches of agents side by side, compared and reordered.",
    "mao": "A planner composes executors into a workflow for each question and sub-question.",
    "adaptive": "The default: after a first search a planner chooses the further steps.",
}
"""A line for each of Fathom's own strategies; strategies of other packages have none."""
