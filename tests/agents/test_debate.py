import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

import pytest
from tests.making import hit_of

from fathom.agents.aggregator import LocalAggregator
from fathom.agents.debate import Debate, Debated, DebateFeedback, settled
from fathom.agents.debater import Position
from fathom.context import RunContext
from fathom.testing.doubles import run_context
from fathom.tracing.recorder import Recorder
from fathom.types import Evidence, Hit, Span

WHO = "Who built the mill?"
HITS = tuple(hit_of(f"Text {n}.", document=str(n), rank=n) for n in (1, 2, 3))


def position(hit: Hit, answer: str) -> Position:
    evidence = Evidence(hit=hit, span=Span(0, 4), support=0.5)
    return Position(hit=hit, answer=answer, evidence=evidence, score=0.5)


@dataclass
class Says:
    """Gives answers by document and round; the last one again and again."""

    answers: dict[str, list[str]]
    heard: list[tuple[str, ...]] = field(default_factory=list)

    async def speak(
        self,
        question: str,
        hit: Hit,
        own: Position | None,
        heard: Sequence[Position],
        context: RunContext,
    ) -> Position:
        self.heard.append(tuple(each.answer for each in heard))
        answers = self.answers[hit.chunk.document_id]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if answer == "!":
            raise KeyError("nobody foresaw this")
        return position(hit, answer) if answer else Position(hit=hit)


class NeverTheSame:
    def __init__(self) -> None:
        self.numbers = count()

    async def speak(
        self,
        question: str,
        hit: Hit,
        own: Position | None,
        heard: Sequence[Position],
        context: RunContext,
    ) -> Position:
        return position(hit, f"Answer {next(self.numbers)}")


def held(debate: Debate, hits: Sequence[Hit] = HITS) -> tuple[Debated, str]:
    """What came of it, and how it ended."""
    with run_context() as context:
        done = asyncio.run(debate.hold(WHO, hits, context))
        assert isinstance(context.scope, Recorder)
        (step,) = (s for s in context.scope.seal(None).steps if s.name == "debate")
    return done, step.reason


def made(feedback: DebateFeedback = "peers", **answers: Sequence[str]) -> tuple[Says, Debate]:
    says = Says({name[1:]: list(each) for name, each in answers.items()})
    return says, Debate(debater=says, aggregator=LocalAggregator(), feedback=feedback)


def test_it_stops_when_everybody_says_again_what_they_said() -> None:
    _, debate = made(d1=["Vale"], d2=["Hill"], d3=["Vale", "the vale"])
    done, ended = held(debate)
    assert ended.startswith("settled in round 2")
    assert (done.draft.short_answer, done.agreement, done.sure) == ("Vale", 1.0, 0.75)


def test_the_unknown_agree_with_nothing() -> None:
    says, debate = made(d1=["A"], d2=[""], d3=["A"])
    done, ended = held(debate)
    assert ended.startswith("last round")
    assert len(says.heard) == 3 * 3
    assert done.agreement < 1.0
    nothing = [Position(hit=HITS[0])]
    assert not settled(nothing, nothing)


def test_one_that_never_converges_ends_with_the_last_round() -> None:
    done, ended = held(Debate(debater=NeverTheSame(), aggregator=LocalAggregator()))
    assert ended.startswith("last round")
    assert len(done.draft.alternatives) == 2


def test_nobody_hears_anything_in_the_first_round_and_nobody_hears_themselves() -> None:
    says, debate = made(d1=["A"], d2=["B"], d3=["C"])
    held(debate)
    assert says.heard[:3] == [(), (), ()]
    assert sorted(says.heard[3:6]) == [("A", "B"), ("A", "C"), ("B", "C")]


def test_or_they_are_told_the_aggregate() -> None:
    says, debate = made("aggregate", d1=["A"], d2=["A"], d3=["C"])
    held(debate)
    assert set(says.heard[3:6]) == {("A", "C")}


def test_an_agent_that_breaks_off_is_as_if_it_had_said_the_same_again() -> None:
    _, debate = made(d1=["A", "!"], d2=["!"], d3=["A"])
    done, _ = held(debate)
    assert done.draft.short_answer == "A"
    assert done.draft.claims[0].text == "2 of 3 chunks say: A."


@pytest.mark.parametrize("answers", [{}, {"d1": ["!"], "d2": [""], "d3": [""]}])
def test_without_any_answer_the_outcome_is_unknown(answers: dict[str, list[str]]) -> None:
    _, debate = made("peers", **answers)
    done, _ = held(debate, HITS if answers else ())
    assert (done.draft.evidence, done.agreement, done.sure) == ((), 0.0, 0.0)
