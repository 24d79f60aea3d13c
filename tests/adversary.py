"""Whole runs against a hostile server over a real socket; a number determines each scenario.

The same number gives the same question, strategy, budget and script. What a run must hold is
checked by `play`, whatever the server does: nothing is spent beyond the budget, nothing is left
behind, every quote is verified, and the run replays.
"""

import asyncio
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from json import dumps
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from tests.factories import QUESTION
from tests.scripted_acts import Act, ReceivedRequest, Wire
from tests.scripted_server import (
    ScriptedServer,
    drips,
    floods,
    never_ends,
    raw,
    resets,
    says,
    stalls,
    status,
    waits,
)

from fathom.agents.finalizer import Finalizer
from fathom.assembly import Assembly
from fathom.engine import Engine
from fathom.llm.base import Call, Message
from fathom.llm.call import RoleModel
from fathom.llm.role_models import ROLES
from fathom.question.question import Question
from fathom.registry import STRATEGIES, RegistryEntry
from fathom.retrieval.search import Search
from fathom.runs.concurrency import HOSTS
from fathom.runs.context import RunContext
from fathom.settings import Settings
from fathom.strategies.naive import NaiveState
from fathom.testing.doubles import OVERLAP, HashingEmbedder
from fathom.types import Answer, Draft, Filter, Query
from fathom.usage import Budget

QUESTIONS = (QUESTION, "Where is it paid, and how much is it?", "Which enzyme unwinds a helix?")
PRICES = '[openai]\n"m" = [3.0, 9.0]\n'
LIES = (None, 0, -5, 7, 10**12, "many", 1.5)
PANEL = RegistryEntry("panel", "tests.adversary:Panel")
WORDS = "the harbour office keeps 40 crowns for a permit and "


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A strategy with several branches at once, each of which searches and asks twice, like a
    debate.
    """

    search: Search
    model: RoleModel
    finalizer: Finalizer
    name: ClassVar[str] = "panel"

    @classmethod
    def of(cls, assembly: Assembly) -> Self:
        model = assembly.models.language_models.get_model("debater")
        assert model is not None
        search = assembly.search("keyword")
        return cls(search=search, model=model, finalizer=assembly.finalizer(cls.name))

    def start(self, question: Question, filters: tuple[Filter, ...]) -> NaiveState:
        return NaiveState(question=question, filters=filters)

    def graph(self) -> StateGraph[NaiveState, RunContext, NaiveState, NaiveState]:
        figure = StateGraph(NaiveState, context_schema=RunContext)
        figure.add_node("debate", self.debate)
        figure.add_edge(START, "debate")
        figure.add_edge("debate", END)
        return figure

    async def debate(self, state: NaiveState, runtime: Runtime[RunContext]) -> NaiveState:
        async def agent(context: RunContext) -> str:
            reply = ""
            for turn in range(2):
                await self.search(Query(text=f"permit {turn}"), k=2, context=context)
                turns = [Message("user", f"a word, turn {turn}?")]
                done = await self.model.bind_to_run(context).complete(
                    Call(turns, max_tokens=40, deadline=context.deadline)
                )
                reply += done.text
            return reply

        jobs = {f"agent {number}": agent for number in range(3)}
        positions = await runtime.context.run_branches(jobs, agent="debater")
        return replace(state, draft=Draft(short_answer=" ".join(positions)))

    async def finish(self, state: NaiveState, context: RunContext) -> Answer:
        return await self.finalizer(
            Question(state.query.text), state.draft, phase="debate", context=context
        )


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One run: its question, its budget, and what the server does with each request."""

    number: int
    strategy: str
    question: str
    budget: Budget
    acts: Sequence[Act]

    @classmethod
    def of(cls, number: int) -> Self:
        chance = random.Random(f"scenario {number}")
        slow = chance.random() < 0.3
        kinds = [*QUICK, *(SLOW if slow else [])]
        good = chance.choice([0.2, 0.5, 0.8])
        seconds = chance.uniform(0.2, 0.6) if slow else chance.choice([None, 60.0])
        return cls(
            number=number,
            strategy=chance.choice(["panel", "panel", *sorted(STRATEGIES.keys() - {"panel"})]),
            question=chance.choice(QUESTIONS),
            budget=Budget(
                tokens=draw_limit(chance, chance.randint(0, 6_000)),
                calls=draw_limit(chance, chance.randint(0, 8)),
                seconds=seconds,
                cost_usd=draw_limit(chance, chance.uniform(0, 0.05)),
                retrievals=draw_limit(chance, chance.randint(0, 6)),
            ),
            acts=[
                answer_schema(chance) if chance.random() < good else chance.choice(kinds)(chance)
                for _ in range(60)
            ],
        )


Number = TypeVar("Number", int, float)
ActFactory = Callable[[random.Random], Act]


def draw_limit(chance: random.Random, limit: Number) -> Number | None:
    """Return the limit in two of three runs and a tight one in the third, so that most runs come
    far.
    """
    return limit if chance.random() < 0.33 else None


def draw_lie(chance: random.Random) -> Mapping[str, object]:
    return {f"{kind}_tokens": chance.choice(LIES) for kind in ("prompt", "completion", "total")}


QUICK: Sequence[ActFactory] = (
    lambda chance: says(WORDS * chance.randint(0, 40), usage=draw_lie(chance)),
    lambda chance: says("{" * chance.randint(1, 9), usage=draw_lie(chance)),
    lambda chance: says("", reasoning=WORDS * chance.randint(1, 200)),
    lambda chance: says(refusal="I will not."),
    lambda chance: says(WORDS, finish=None, done=False),
    lambda chance: status(chance.choice([400, 401, 404, 422, 500, 502, 503])),
    lambda chance: status(429, headers={"Retry-After": chance.choice(["0", "3600", "soon"])}),
    lambda chance: raw(chance.choice(["", "{}", "\x00", "data: {}\n\n", "data: [1]\n\n"])),
    lambda chance: resets(*[WORDS] * chance.randint(0, 2)),
    lambda chance: never_ends(WORDS, reasoning=chance.random() < 0.5),
)
SLOW: Sequence[ActFactory] = (
    lambda _: stalls(WORDS),
    lambda _: drips(WORDS * 9, every_s=0.02),
    lambda _: never_ends(every_s=0.005),
    lambda _: floods(),
    lambda chance: waits(chance.choice([0.05, 30.0]), answer_schema(chance)),
)


def answer_schema(chance: random.Random) -> Act:
    """Answer with an object of the requested schema, and report a false usage."""
    seed = chance.random()

    async def act(request: ReceivedRequest, wire: Wire) -> None:
        form = request.body.get("response_format") or {}
        schema = form.get("json_schema", {}).get("schema")
        mine = random.Random(seed)
        text = dumps(_instance(schema, schema.get("$defs", {}), mine)) if schema else "40 crowns"
        await says(text, usage=draw_lie(mine))(request, wire)

    return act


def _instance(schema: Mapping[str, Any], names: Mapping[str, Any], chance: random.Random) -> Any:
    if "$ref" in schema:
        return _instance(names[schema["$ref"].rpartition("/")[2]], names, chance)
    if "enum" in schema or "const" in schema:
        return chance.choice(schema.get("enum") or [schema["const"]])
    if "anyOf" in schema:
        return _instance(chance.choice(schema["anyOf"]), names, chance)
    kind = schema.get("type")
    if kind == "object":
        parts = schema.get("properties", {})
        return {name: _instance(part, names, chance) for name, part in parts.items()}
    if kind == "array":
        return [_instance(schema.get("items", {}), names, chance) for _ in range(2)]
    plain = {"boolean": chance.random() < 0.7, "integer": 1, "number": 0.5, "null": None}
    return plain.get(kind or "", "A mooring permit costs 40 crowns a year.")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedRun:
    """The outcome of a run: its answer, its number of calls and its delay past the deadline."""

    answer: Answer
    calls: int
    overrun_s: float


def play_scenario(
    number: int, folder: Path, server: ScriptedServer, *, replay: bool = False
) -> PlayedRun:
    """Play a scenario over the index of a folder and check everything that must hold."""
    scenario = Scenario.of(number)
    server.acts, server.requests, server.bytes_sent = tuple(scenario.acts), [], []
    threads = set(threading.enumerate())
    with open_engine(folder, server.base_url) as engine:
        engine.assembly.prepare()
        engine.models.warm_up()
        answer, took = asyncio.run(ask_scenario(engine, scenario))
        if replay:
            done = engine.replay(str(answer.trace_id))
            ends = answer.stop_reason, done.answer and done.answer.stop_reason
            assert done.same, f"scenario {number}, {ends}: {done.difference or done.missing}"
    names = sorted(
        thread.name for thread in set(threading.enumerate()) - threads if is_still_alive(thread)
    )
    assert not names, f"scenario {number}: threads are left: {names}"
    check_budget(answer, scenario.budget, f"scenario {number}: {scenario.strategy}, {answer}")
    late = 0.0 if scenario.budget.seconds is None else took - scenario.budget.seconds
    return PlayedRun(answer=answer, calls=server.calls, overrun_s=max(0.0, late))


def is_still_alive(thread: threading.Thread) -> bool:
    """Return whether a thread goes on. A thread that looks up hosts gets a moment to end."""
    if thread.name.startswith(HOSTS):
        thread.join(5.0)
    return thread.is_alive()


def open_engine(folder: Path, base_url: str) -> Engine:
    tree = {
        "index": {"directory": folder / "index"},
        "llm": {
            "model": "openai:m", "base_url": base_url, "skip_above_confidence": 2, "tries": 3,
            "max_tokens": 300, "prices": folder / "prices.toml",
        },
        "roles": dict.fromkeys(ROLES, "llm"),
    }  # fmt: skip
    settings = Settings.model_validate(tree)
    return Engine(settings, embedder=HashingEmbedder(64), cross_reader=OVERLAP)


async def ask_scenario(engine: Engine, scenario: Scenario) -> tuple[Answer, float]:
    from fathom.strategies import run  # noqa: F401 - imported before the clock starts

    began = time.monotonic()
    answer = await engine.aask(
        scenario.question, strategy=scenario.strategy, budget=scenario.budget
    )
    took = time.monotonic() - began
    leftover = asyncio.all_tasks() - {asyncio.current_task()}
    assert not leftover, f"scenario {scenario.number}: tasks are left: {leftover}"
    return answer, took


def check_budget(answer: Answer, budget: Budget, what: str) -> None:
    spent = answer.usage
    assert budget.tokens is None or spent.tokens <= budget.tokens, what
    assert budget.calls is None or spent.llm_calls <= budget.calls, what
    assert budget.retrievals is None or spent.retrievals <= budget.retrievals, what
    assert spent.cost_usd is not None, what
    assert budget.cost_usd is None or spent.cost_usd <= budget.cost_usd, what
    assert all(citation.verified for citation in answer.citations), what
    assert answer.status != "answered" or answer.citations, what
    assert " in " not in answer.stop_reason, what  # nothing broke by an error nobody foresaw
