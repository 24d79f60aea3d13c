"""The native API: ask, search, answers, traces, feedback."""

import json
from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response, StreamingResponse

from fathom.concurrency import FinalEvent, StepEvent, StreamEvent, TextEvent
from fathom.extensions import STRATEGIES
from fathom.serving.http.dependencies import Here, MayRead
from fathom.serving.http.problems import Problem, problem_of
from fathom.serving.http.streams import Event, json_text, streamed, while_connected
from fathom.serving.http.workspaces import Workspace
from fathom.serving.shapes import hits_json, replay_json
from fathom.settings import MOST_HITS
from fathom.settings.tree import Limits
from fathom.tracing.outline import to_json
from fathom.types import Answer
from fathom.usage import Budget

router = APIRouter(prefix="/api/v1", tags=["ask"])
Effort = Literal["low", "medium", "high"]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class BudgetBody(_Body):
    """What may be spent; what is not given is as the effort has it."""

    max_tokens: int | None = Field(default=None, ge=0)
    deadline: float | None = Field(default=None, ge=0, description="Seconds.")
    max_calls: int | None = Field(default=None, ge=0)
    max_cost: float | None = Field(default=None, ge=0, description="USD.")


class TurnBody(_Body):
    """A turn of the conversation before."""

    role: Literal["user", "assistant"]
    content: str = Field(max_length=100_000)


class AskBody(_Body):
    """A question."""

    question: str
    strategy: str | None = None
    effort: Effort | None = None
    filters: list[str] = Field(default_factory=list, max_length=50)
    budget: BudgetBody | None = None
    conversation: str | None = None
    history: list[TurnBody] = Field(default_factory=list, max_length=200)


class SearchBody(_Body):
    """A search."""

    query: str
    k: int | None = Field(default=None, ge=1, le=MOST_HITS)
    retriever: str | None = None
    filters: list[str] = Field(default_factory=list, max_length=50)


def answer_json(answer: Answer) -> str:
    """An answer as every interface gives it."""
    return json_text(asdict(answer))


def budget_of(space: Workspace, effort: Effort | None, given: BudgetBody | None) -> Budget:
    """What one question may spend: as the effort says, or the settings, then as is given."""
    settings = space.engine.settings
    limits: Limits = settings.budget if effort is None else getattr(settings.effort, effort)
    own = given or BudgetBody()
    return Budget(
        tokens=limits.tokens if own.max_tokens is None else own.max_tokens,
        calls=limits.calls if own.max_calls is None else own.max_calls,
        seconds=limits.seconds if own.deadline is None else own.deadline,
        cost_usd=limits.cost_usd if own.max_cost is None else own.max_cost,
        retrievals=limits.retrievals,
    )


def _arguments(body: AskBody, space: Workspace) -> dict[str, Any]:
    return {
        "strategy": body.strategy,
        "filters": body.filters,
        "budget": budget_of(space, body.effort, body.budget),
        "history": [turn.model_dump() for turn in body.history],
    }


@router.post("/ask")
async def ask(body: AskBody, request: Request, space: Here, _: MayRead) -> Response:
    """Answer a question with citations, or say that the documents hold no answer."""
    work = space.engine.aask(body.question, **_arguments(body, space))
    answer = await while_connected(request, work)
    return Response(answer_json(answer), media_type="application/json")


@router.post("/ask/stream")
async def ask_stream(body: AskBody, space: Here, _: MayRead) -> StreamingResponse:
    """As `ask`, told as it happens; the last event is the whole answer."""
    events = space.engine.aask_stream(body.question, **_arguments(body, space))
    first = await anext(events)  # what can fail has failed by now, with its own status
    return streamed(_told(body, space, first, events))


async def _told(
    body: AskBody, space: Workspace, first: StreamEvent, rest: AsyncIterator[StreamEvent]
) -> AsyncIterator[Event]:
    settings = space.engine.settings
    yield Event(
        "plan",
        json_text(
            {
                "strategy": body.strategy or settings.ask.strategy,
                "effort": body.effort or settings.budget.effort,
                "question": body.question,
            }
        ),
    )
    teller = _Teller()
    try:
        for event in teller.told(first):
            yield event
        async for each in rest:
            for event in teller.told(each):
                yield event
    except Exception as error:  # noqa: BLE001 - the stream has begun: it ends with what broke
        yield Event("error", json_text(problem_of(error).to_json()))


class _Teller:
    def __init__(self) -> None:
        self._open: dict[str, int] = {}
        self._steps = 0
        self._streamed = False

    def told(self, event: StreamEvent) -> list[Event]:
        if isinstance(event, StepEvent):
            return [self._step(event)]
        if isinstance(event, TextEvent):
            self._streamed = True
            return [Event("text", json_text({"text": event.text}))]
        return self._final(event)

    def _step(self, event: StepEvent) -> Event:
        if not event.news:
            self._steps += 1
            self._open[event.name] = self._steps
        told = {
            "id": self._open.get(event.name, self._steps),
            "name": event.name,
            "state": "ended" if event.news else "began",
            "news": event.news,
        }
        return Event("step", json_text(told))

    def _final(self, event: FinalEvent) -> list[Event]:
        answer = event.answer
        told = [Event("text", json_text({"text": answer.answer}))] if answer.answer else []
        if self._streamed:
            told = []
        told += [Event("citation", json_text(asdict(each))) for each in answer.citations]
        told.append(Event("usage", json_text(asdict(answer.usage))))
        return [*told, Event("final", answer_json(answer))]


@router.get("/answers/{trace_id}")
def answer_of(trace_id: str, space: Here, _: MayRead) -> Response:
    """An answer as it was given."""
    trace = space.engine.trace(trace_id)
    return Response(
        json_text({**trace.answer, "trace_id": trace.id}), media_type="application/json"
    )


@router.get("/traces")
def traces(space: Here, _: MayRead, limit: Annotated[int, Field(ge=1, le=1000)] = 50) -> Any:  # noqa: ANN401
    """The newest traces, newest first."""
    return {"traces": [asdict(each) for each in space.engine.traces.list(limit)]}


@router.get("/traces/{trace_id}")
def trace_of(trace_id: str, space: Here, _: MayRead) -> Response:
    """How an answer came about: every step, every outside event."""
    return Response(to_json(space.engine.trace(trace_id)), media_type="application/json")


@router.post("/traces/{trace_id}/replay")
def replay(trace_id: str, space: Here, _: MayRead) -> Response:
    """Answer again from the record alone."""
    done = replay_json(space.engine.replay(trace_id))
    return Response(json_text(_plain(done)), media_type="application/json")


def _plain(value: Any) -> Any:  # noqa: ANN401
    return json.loads(json.dumps(value, default=asdict))


@router.post("/search")
def search(body: SearchBody, space: Here, _: MayRead) -> Response:
    """The best hits for a query."""
    engine = space.engine
    hits = engine.search(body.query, k=body.k, retriever=body.retriever, filters=body.filters)
    found = hits_json(body.query, hits, engine.places(hits))
    return Response(json_text(found), media_type="application/json")


@router.get("/strategies")
def strategies(space: Here, _: MayRead) -> Any:  # noqa: ANN401
    """The ways of answering, and how much each effort may spend."""
    settings = space.engine.settings
    efforts = {
        name: getattr(settings.effort, name).model_dump() for name in ("low", "medium", "high")
    }
    return {
        "default": settings.ask.strategy,
        "effort": settings.budget.effort,
        "strategies": [{"name": name, "description": _DESCRIPTIONS[name]} for name in STRATEGIES],
        "efforts": efforts,
    }


_DESCRIPTIONS = {
    "naive": "Search once, read the best hits, answer or abstain.",
    "maf": "A ladder of confidence: search, an enhanced search, a debate of agents, the web.",
    "anchor": "Finds what the question is anchored to, and looks further only while that helps.",
    "rrf": "Several searches at once, fused by rank; the best hit is read.",
    "hybrid": "Branches of agents side by side, compared and reordered.",
    "mao": "A planner composes executors into a workflow for each question and sub-question.",
    "adaptive": "A learned planner chooses, after a first look, what else is worth doing.",
}


def missing(what: str, name: str) -> Problem:
    """There is none of this name."""
    return Problem(404, f"{what}_missing", f"there is no {what} {name[:80]!r}")
