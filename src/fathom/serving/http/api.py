"""The native API: ask, search, answers, traces, feedback."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from dataclasses import asdict
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Header, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response, StreamingResponse

from fathom.errors import IndexMissing
from fathom.extensions import names
from fathom.jsonable import Json
from fathom.runs.concurrency import FinalEvent
from fathom.runs.outline import to_json
from fathom.serving.budgets import Effort, budget_of
from fathom.serving.http.asking import MOST_CHARS, Asked
from fathom.serving.http.dependencies import Ask, Here, MayRead, lack_scope
from fathom.serving.http.idempotency import Noted
from fathom.serving.http.problems import Problem
from fathom.serving.http.streams import Event, json_reply, json_text, streamed, while_connected
from fathom.serving.http.telling import Ear, Teller, Told, answer_text
from fathom.serving.http.workspaces import Workspace
from fathom.serving.shapes import harmless, hits_json, replay_json, status_json
from fathom.types import Answer
from fathom.usage import Budget

router = APIRouter(prefix="/api/v1", tags=["ask"])
T = TypeVar("T")
U = TypeVar("U")
EFFORTS: tuple[Effort, ...] = ("low", "medium", "high")
MOST_HITS = 1000
"""Of one search over HTTP."""
Filters = Annotated[list[str], Field(default_factory=list, max_length=50)]


class Body(BaseModel):
    """What a request says; it may say nothing else."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class BudgetBody(Body):
    """What may be spent; it lowers what the effort allows and never raises it."""

    max_tokens: int | None = Field(default=None, ge=0, le=10**9)
    deadline: float | None = Field(default=None, ge=0, le=10**6, description="Seconds.")
    max_calls: int | None = Field(default=None, ge=0, le=10**6)
    max_cost: float | None = Field(default=None, ge=0, le=10**6, description="USD.")

    def limits(self) -> Budget:
        """What it names."""
        return Budget(
            tokens=self.max_tokens,
            calls=self.max_calls,
            seconds=self.deadline,
            cost_usd=self.max_cost,
        )


class TurnBody(Body):
    """A turn of the conversation before."""

    role: Literal["user", "assistant"]
    content: str = Field(max_length=MOST_CHARS)


class AskBody(Body):
    """A question."""

    question: str = Field(max_length=MOST_CHARS)
    strategy: str | None = Field(default=None, max_length=64)
    effort: Effort | None = None
    filters: Filters
    budget: BudgetBody | None = None
    conversation: str | None = Field(default=None, max_length=64)
    history: list[TurnBody] = Field(default_factory=list, max_length=200)


class SearchBody(Body):
    """A search."""

    query: str = Field(max_length=MOST_CHARS)
    k: int | None = Field(default=None, ge=1, le=MOST_HITS)
    retriever: str | None = Field(default=None, max_length=128)
    filters: Filters


class FeedbackBody(Body):
    """What a person says of an answer: right, wrong, or what the right answer is."""

    trace_id: str = Field(min_length=1, max_length=64)
    correct: bool | None = None
    answer: str = Field(default="", max_length=2_000)
    note: str = Field(default="", max_length=2_000)


async def _asked(body: AskBody, space: Workspace) -> Asked:
    asked = (body.budget or BudgetBody()).limits()
    before: list[Json] = [turn.model_dump() for turn in body.history]
    if body.conversation is not None:
        said = await asyncio.to_thread(space.conversations.dialogue, body.conversation)
        before = [*said, *before]
    return Asked(
        question=body.question,
        strategy=body.strategy,
        filters=body.filters,
        budget=budget_of(space.engine.settings, body.effort, asked),
        history=before,
    )


@router.post("/ask")
async def ask(
    body: AskBody,
    request: Request,
    asking: Ask,
    space: Here,
    caller: MayRead,
    idempotency_key: Annotated[str, Header(max_length=200)] = "",
) -> Response:
    """Answer a question with citations, or say that the documents hold no answer."""

    async def work() -> Response:
        asked = await _asked(body, space)
        answer = await asking.answer(caller, space, asked)
        await _keep(body, space, answer)
        return Response(answer_text(answer), media_type="application/json")

    def again(trace_id: str) -> str:
        return answer_text(space.engine.traces.answer(trace_id))

    noted = Noted(lambda reply: json.loads(bytes(reply.body)).get("trace_id") or "", again)
    done = space.once.do(idempotency_key, json.dumps(body.model_dump()), work, noted)
    return await while_connected(request, done)


@router.post("/ask/stream")
async def ask_stream(
    body: AskBody, request: Request, asking: Ask, space: Here, caller: MayRead
) -> StreamingResponse:
    """As `ask`, told as it happens.

    The events are `plan`, `step`, `hits`, `text`, `citation`, `usage`, and at last `final` (the
    whole answer) or `error` (a problem).
    """
    asked = await _asked(body, space)
    events = asking.stream(caller, space, asked, Ear)
    # What can fail has failed when the first event is there, with its own status.
    first = await while_connected(request, anext(events))
    told = _told(body, space, first, events)
    return streamed(told, request.app.state.stopping)


async def _told(
    body: AskBody,
    space: Workspace,
    first: Told | FinalEvent,
    rest: AsyncGenerator[Told | FinalEvent, None],
) -> AsyncGenerator[Event, None]:
    settings = space.engine.settings
    plan = {
        "strategy": body.strategy or settings.ask.strategy,
        "effort": body.effort or settings.budget.effort,
        "question": harmless(body.question),
    }
    teller = Teller(plan, space.engine)
    try:
        yield Event("plan", json_text(plan))
        for event in await asyncio.to_thread(teller.told, first):
            yield event
        async for each in rest:
            if isinstance(each, FinalEvent):
                await _keep(body, space, each.answer)
            for event in await asyncio.to_thread(teller.told, each):
                yield event
    finally:
        await rest.aclose()


async def _keep(body: AskBody, space: Workspace, answer: Answer) -> None:
    """The turn is kept where the question belongs to a conversation."""
    if body.conversation is not None:
        add = space.conversations.add_turn
        await asyncio.to_thread(add, body.conversation, body.question, answer.trace_id)


@router.get("/answers/{trace_id}")
def answer_of(trace_id: str, space: Here, _: MayRead) -> Response:
    """An answer as it was given, byte for byte."""
    text = answer_text(space.engine.traces.answer(trace_id))
    return Response(text, media_type="application/json")


@router.get("/traces")
def traces(space: Here, _: MayRead, limit: Annotated[int, Query(ge=1, le=1000)] = 50) -> Response:
    """The newest traces, newest first."""
    found = or_empty(lambda: space.engine.traces.list(limit), ())
    return json_reply({"traces": harmless([asdict(each) for each in found])})


@router.get("/traces/{trace_id}")
def trace_of(trace_id: str, space: Here, _: MayRead) -> Response:
    """How an answer came about: every step, every outside event."""
    return Response(to_json(space.engine.trace(trace_id)), media_type="application/json")


@router.post("/traces/{trace_id}/replay")
def replay(trace_id: str, space: Here, _: MayRead) -> Response:
    """Answer again from the record alone, and say what differs if something does."""
    done = replay_json(space.engine.replay(trace_id))
    return json_reply(harmless(json.loads(json.dumps(done, default=asdict))))


@router.post("/search")
async def search(
    body: SearchBody, request: Request, asking: Ask, space: Here, _: MayRead
) -> Response:
    """The best hits for a query."""

    def found() -> Any:  # noqa: ANN401 - JSON
        engine = space.engine
        hits = engine.search(body.query, k=body.k, retriever=body.retriever, filters=body.filters)
        return harmless(hits_json(body.query, hits, engine.documents.locate(hits)))

    async def work() -> Response:
        async with asking.admission.turn():
            loop = asyncio.get_running_loop()
            return json_reply(await loop.run_in_executor(space.engine.executor, found))

    return await while_connected(request, work())


@router.post("/feedback", status_code=201)
async def feedback(body: FeedbackBody, asking: Ask, space: Here, caller: MayRead) -> Response:
    """Say whether an answer was right, or what the right answer is.

    What is said with one of the scopes `curate`, `ingest` and `admin` changes what everybody in the
    workspace is answered. What is said with `read` alone is an opinion: it is kept and changes
    nothing.
    """
    answer = body.answer.strip()
    if answer and body.correct:
        raise Problem(400, "bad_request", "an answer that is right needs no other one")
    if answer and not caller.may_curate:
        raise lack_scope("curate", "say what the right answer is")

    def keep() -> Response:
        kept = space.engine.calibration.add_feedback(
            body.trace_id,
            right=None if answer else body.correct,
            answer=answer,
            note=body.note.strip(),
            counts=caller.may_curate,
        )
        told = {"trace_id": kept.trace_id, "said": kept.said, "again": kept.again is not None}
        return json_reply(told, 201)

    if not answer:
        return await asyncio.to_thread(keep)
    async with asking.admission.turn():  # an answer is read, as a question is
        return await asyncio.get_running_loop().run_in_executor(space.engine.executor, keep)


@router.get("/strategies")
def strategies(space: Here, _: MayRead) -> Response:
    """The ways of answering, and how much each effort may spend."""
    settings = space.engine.settings
    return json_reply(
        {
            "default": settings.ask.strategy,
            "effort": settings.budget.effort,
            "strategies": [
                {"name": name, "description": DESCRIPTIONS.get(name, "")}
                for name in names("strategy")
            ],
            "efforts": {name: getattr(settings.effort, name).model_dump() for name in EFFORTS},
        }
    )


@router.get("/status")
def status(space: Here, caller: MayRead) -> Response:
    """The state of the workspace: its documents, its models, who is writing to it."""
    engine = space.engine
    known = or_empty(lambda: status_json(engine.status(), engine.calibration.list()), None)
    told = {
        "workspace": space.name,
        "scopes": sorted(caller.scopes),
        "llm": engine.settings.llm.model,
        "offline": engine.settings.offline,
        "writer": engine.index.writer() if known else "",
        "index": known,
    }
    return json_reply(harmless(json.loads(json.dumps(told, default=asdict))))


def or_empty(look: Callable[[], T], empty: U) -> T | U:
    """What is found in a workspace, `empty` where nothing has been ingested into it."""
    try:
        return look()
    except IndexMissing:
        return empty


DESCRIPTIONS = {
    "naive": "Searches once, reads the best hits, answers or abstains.",
    "maf": "A ladder of confidence: search, an enhanced search, a debate of agents, the web.",
    "anchor": "Finds what the question is anchored to; looks further only while that helps.",
    "rrf": "Several searches at once, fused by rank; the best hit is read.",
    "hybrid": "Branches of agents side by side, compared and reordered.",
    "mao": "A planner composes executors into a workflow for each question and sub-question.",
    "adaptive": "The default: after a first look a planner chooses what else is worth doing.",
}
"""A line for each of Fathom's own strategies; those of other packages have none."""
