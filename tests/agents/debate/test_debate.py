import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count

import pytest
from tests.making import hit_of

from fathom.agents.debate.aggregator import LocalAggregator
from fathom.agents.debate.debate import (
    DEBATE_LAWS,
    Debate,
    DebateFeedback,
    DebateLaw,
    DebateOutcome,
    is_settled,
)
from fathom.agents.debate.debater import LocalDebater, Position
from fathom.models.reading import Reading
from fathom.runs.context import RunContext
from fathom.runs.recorder import Recorder
from fathom.settings.maf import MafSettings
from fathom.testing.doubles import ScriptedCrossReader, reading, run_context
from fathom.types import Chunk, Evidence, Hit, Span

LAWS = dict.fromkeys(("en", "id"), DebateLaw(sure=1.0, share=2.0, margin=1.0, offset=-2.0))
SCOUT = LocalDebater(pairs=ScriptedCrossReader(lambda _, chunk: reading(chunk)))
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


def held(debate: Debate, hits: Sequence[Hit] = HITS) -> tuple[DebateOutcome, str]:
    """What came of it, and how it ended."""
    with run_context() as context:
        done = asyncio.run(debate.hold(WHO, hits, context))
        assert isinstance(context.scope, Recorder)
        (step,) = (s for s in context.scope.seal(None).steps if s.name == "debate")
    return done, step.reason


def made(feedback: DebateFeedback = "peers", **answers: Sequence[str]) -> tuple[Says, Debate]:
    says = Says({name[1:]: list(each) for name, each in answers.items()})
    debate = Debate(
        debaters=[says], aggregator=LocalAggregator(), scout=SCOUT, laws=LAWS, feedback=feedback
    )
    return says, debate


def test_it_stops_when_everybody_says_again_what_they_said() -> None:
    _, debate = made(d1=["Vale"], d2=["Hill"], d3=["Vale", "the vale"])
    done, ended = held(debate)
    assert ended.startswith("settled in round 2")
    weight = (1 + 1 / 3) / (1 + 1 / 2 + 1 / 3)  # of the hits of two agents of three
    assert (done.draft.short_answer, done.sure) == ("Vale", 0.75)
    assert done.share == pytest.approx(weight, abs=1e-6)
    assert done.margin == pytest.approx(2 * weight - 1, abs=1e-6)
    logit = math.log(3) + 2 * done.share + done.margin - 2
    assert done.confidence == pytest.approx(1 / (1 + math.exp(-logit)), abs=1e-5)


def test_four_agents_with_four_answers_give_a_low_figure() -> None:
    four = [replace(hit_of(document=str(n), rank=n), score=0.6) for n in (1, 2, 3, 4)]
    _, agreed = made(d1=["A"], d2=["A"], d3=["A"], d4=["A"])
    _, split = made(d1=["A"], d2=["B"], d3=["C"], d4=["D"])
    for laws in (LAWS, DEBATE_LAWS):
        together, apart = (held(replace(each, laws=laws), four)[0] for each in (agreed, split))
        assert (apart.share, apart.margin) == (0.25, 0.0)
        assert apart.verdict < 0.5 < MafSettings().debate_threshold <= together.verdict
        assert apart.confidence < together.confidence


def test_agents_take_turns_at_the_debaters() -> None:
    strong, weak = Says({"1": ["A"], "3": ["A"]}), Says({"2": ["B"]})
    held(Debate(debaters=[strong, weak], aggregator=LocalAggregator(), scout=SCOUT))
    assert (len(strong.heard), len(weak.heard)) == (2 * 2, 2)


@pytest.mark.parametrize(
    ("question", "second", "differ"),
    [
        ("When was the mill built?", "1927", True),
        ("When was the mill built?", "1835", False),
        ("When was the mill built?", "", False),  # nothing to say is no other answer
        ("Was the mill built in 1835?", "1927", False),
        ("How is the mill built?", "1927", False),
    ],
)
def test_documents_differ_if_they_give_different_answers(
    question: str, second: str, differ: bool
) -> None:
    texts = ("The mill was built in 1835.", f"The mill was built in {second or 'haste'}.")
    hits = [hit_of(text, document=str(n), rank=n) for n, text in enumerate(texts, start=1)]
    read = {hits[0].chunk.id: "1835", hits[1].chunk.id: second}

    def reads(_: str, chunk: Chunk) -> Reading:
        return reading(chunk, read[chunk.id], 0.8 if read[chunk.id] else 0.0)

    scout = LocalDebater(pairs=ScriptedCrossReader(reads))
    debate = Debate(debaters=[scout], aggregator=LocalAggregator(), scout=scout)
    with run_context() as context:
        assert asyncio.run(debate.answers_differ(question, hits, context)) == differ


def test_the_unknown_agree_with_nothing() -> None:
    says, debate = made(d1=["A"], d2=[""], d3=["A"])
    done, ended = held(debate)
    assert ended.startswith("last round")
    assert len(says.heard) == 3 * 3
    assert done.share < 1.0
    nothing = [Position(hit=HITS[0])]
    assert not is_settled(nothing, nothing)


def test_one_that_never_converges_ends_with_the_last_round() -> None:
    done, ended = held(Debate(debaters=[NeverTheSame()], aggregator=LocalAggregator(), scout=SCOUT))
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
    assert (done.draft.evidence, done.share, done.confidence) == ((), 0.0, 0.0)
