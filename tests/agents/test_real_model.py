"""Every role on a real language model keeps its promises, whatever the model replies.

What is promised: the model is asked within the budget, what comes out is of the role's own type and
stands on the chunks, and a replay without the model gives the same.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.factories import FEES, QUESTION, hit_of
from tests.real_model import LOCAL, RealModel

from fathom.agents.debate.debater import Position
from fathom.agents.questioner import LLMQuestioner
from fathom.agents.summarizer import SubAnswer
from fathom.assembly import Assembly
from fathom.engine import Engine
from fathom.llm.call import AbsentModel
from fathom.llm.role_models import ROLES, Connect
from fathom.planner.question_features import QuestionObserver
from fathom.planner.workflows import list_legal_workflows
from fathom.question.question import Question
from fathom.registry import (
    AGGREGATOR,
    DEBATER,
    DECOMPOSER,
    HYDE,
    JUDGE,
    PLANNER,
    QUESTIONER,
    READER,
    REORDERER,
    REWRITER,
    SELECTOR,
    SUMMARIZER,
)
from fathom.runs.context import RunContext
from fathom.runs.recorder import Recorder
from fathom.runs.replay import RecordedEvents
from fathom.runs.trace import Event, Trace
from fathom.settings import Settings
from fathom.testing.doubles import OVERLAP, run_context
from fathom.types import Draft, Evidence, Span
from fathom.usage import Budget, Usage

FERRY = "The ferry to Lund leaves at seven. A mooring permit for a ferry costs 90 crowns a year."
HITS = (hit_of(), hit_of(FERRY, document="d2", rank=2))
BOTH = "What does a mooring permit cost, and when does the ferry leave?"
REPLY_TOKENS = 120
BUDGET = Budget(calls=2, tokens=8_000)


def make_position(number: int, answer: str) -> Position:
    hit = HITS[number]
    evidence = Evidence(hit=hit, span=Span(0, len(hit.chunk.text)), support=0.5)
    return Position(hit=hit, answer=answer, evidence=evidence, score=0.5)


def make_sub_answer(number: int, answer: str) -> SubAnswer:
    position = make_position(number, answer)
    assert position.evidence is not None
    draft = Draft(evidence=(position.evidence,), short_answer=answer, confidence=0.5)
    return SubAnswer(question=Question(QUESTION), draft=draft)


def make_questioner(assembly: Assembly) -> LLMQuestioner:
    questioner = assembly.agent(QUESTIONER)
    assert questioner is not None
    return questioner


CALLS_BY_ROLE: Mapping[str, Callable[[Assembly, RunContext], Awaitable[object]]] = {
    "reader": lambda a, c: a.agent(READER).read(Question(QUESTION), HITS, c),
    "judge": lambda a, c: a.agent(JUDGE).score_support(
        [("A permit costs 40 crowns.", FEES), ("It costs 90 crowns.", FEES)], c
    ),
    "debater": lambda a, c: a.agent(DEBATER).speak(
        Question(QUESTION),
        HITS[0],
        make_position(0, "40 crowns"),
        [make_position(1, "90 crowns")],
        c,
    ),
    "aggregator": lambda a, c: a.agent(AGGREGATOR).aggregate(
        Question(QUESTION), [make_position(0, "40 crowns"), make_position(1, "90 crowns")], c
    ),
    "rewriter": lambda a, c: a.agent(REWRITER).rewrite(Question(BOTH), c),
    "decomposer": lambda a, c: a.agent(DECOMPOSER).split(Question(BOTH), "parallel", c),
    "hyde": lambda a, c: a.agent(HYDE).write_search_text(Question(QUESTION), HITS, c),
    "reorderer": lambda a, c: a.agent(REORDERER)(Question(QUESTION), HITS, keep=2, context=c),
    "selector": lambda a, c: a.agent(SELECTOR).select(Question(QUESTION), HITS, c),
    "summarizer": lambda a, c: a.agent(SUMMARIZER).summarize(
        Question(BOTH),
        "parallel",
        [make_sub_answer(0, "40 crowns"), make_sub_answer(1, "at seven")],
        HITS,
        c,
    ),
    "questioner": lambda a, c: make_questioner(a).write_questions(HITS[0].chunk, c),
    "planner": lambda a, c: a.agent(PLANNER).plan(
        Question(BOTH),
        QuestionObserver.of(a)(Question(BOTH), HITS, first=True),
        list_legal_workflows(first=True),
        c,
    ),
}
"""A call of each role; the selector has the reorderer's model."""
QUICK = {"reader", "decomposer", "questioner"}
"""One of each sort of reply: quotes, a list, a text. The debater speaks in a test of `maf` too, and
the others take minutes.
"""


@dataclass(frozen=True)
class RoleOutput:
    """The output of a role and its usage."""

    value: object
    usage: Usage


def ask_role(
    role: str, folder: Path, connect: Connect, events: RecordedEvents | None = None
) -> tuple[RoleOutput, Trace]:
    named = "reorderer" if role == "selector" else role
    llm = {"model": LOCAL, "max_tokens": REPLY_TOKENS, "tries": 1, "skip_above_confidence": 2}
    roles = {role: "llm" if role == named else "local" for role in ROLES}
    tree = {"index": {"directory": folder / "index"}, "llm": llm, "roles": roles}
    settings = Settings.model_validate(tree)
    with (
        Engine(settings, cross_reader=OVERLAP, connect=connect) as engine,
        run_context(BUDGET, events=events) as context,
    ):
        value = asyncio.run(make_coroutine(CALLS_BY_ROLE[role](engine.assembly, context)))
        assert isinstance(context.scope, Recorder)
        assert context.ledger.read_balance().reserved == Usage()
        return RoleOutput(value, context.ledger.usage), context.scope.seal(None)


async def make_coroutine(awaitable: Awaitable[object]) -> object:
    return await awaitable


@pytest.mark.parametrize(
    "role",
    [
        role if role in QUICK else pytest.param(role, marks=pytest.mark.slow)
        for role in sorted(CALLS_BY_ROLE)
    ],
)
def test_the_role_keeps_its_promises_and_replays_without_the_model(
    role: str, tmp_path: Path, real_model: RealModel
) -> None:
    output, trace = ask_role(role, tmp_path, real_model.chat)
    assert 1 <= output.usage.llm_calls <= 2
    assert 0 < output.usage.completion_tokens <= 2 * REPLY_TOKENS
    assert count_tokens(trace) == output.usage.tokens <= 8_000
    for quote in list_quotes(output.value):
        assert any(quote in hit.chunk.text for hit in HITS)
    again, _ = ask_role(role, tmp_path, AbsentModel, RecordedEvents(trace))
    assert again.value == output.value


def count_tokens(trace: Trace) -> int:
    """Return the numbers of tokens that llama.cpp reports as read and written."""
    events = [record for record in trace.records if isinstance(record, Event)]
    replies = [event.value for event in events if event.kind == "llm"]
    return sum(reply["reported"]["prompt"] + reply["reported"]["completion"] for reply in replies)


def list_quotes(value: object) -> list[str]:
    evidence = value.evidence if isinstance(value, Draft | Position) else ()
    items = (evidence,) if isinstance(evidence, Evidence) else evidence or ()
    return [item.quote for item in items]
