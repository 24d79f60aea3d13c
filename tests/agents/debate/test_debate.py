import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count

import pytest
from tests.factories import hit_of

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
from fathom.question.question import Question
from fathom.runs.context import RunContext
from fathom.runs.recorder import Recorder
from fathom.settings.maf import MafSettings
from fathom.testing.doubles import ScriptedCrossReader, reading, run_context
from fathom.types import Chunk, Evidence, Hit, Span

LAWS = dict.fromkeys(("en", "id"), DebateLaw(sure=1.0, share=2.0, margin=1.0, offset=-2.0))
SCOUT = LocalDebater(pairs=ScriptedCrossReader(lambda _, chunk: reading(chunk)))
WHO = "Who built the mill?"
HITS = tuple(hit_of(f"Text {n}.", document=str(n), rank=n) for n in (1, 2, 3))


def make_position(hit: Hit, answer: str) -> Position:
    evidence = Evidence(hit=hit, span=Span(0, 4), support=0.5)
    return Position(hit=hit, answer=answer, evidence=evidence, score=0.5)


@dataclass
class ScriptedDebater:
    """Gives answers by document and round, and repeats the last one."""

    answers: dict[str, list[str]]
    heard: list[tuple[str, ...]] = field(default_factory=list)

    async def speak(
        self,
        question: Question,
        hit: Hit,
        previous: Position | None,
        heard: Sequence[Position],
        context: RunContext,
    ) -> Position:
        self.heard.append(tuple(position.answer for position in heard))
        answers = self.answers[hit.chunk.document_id]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if answer == "!":
            raise KeyError("nobody foresaw this")
        return make_position(hit, answer) if answer else Position(hit=hit)


class RestlessDebater:
    def __init__(self) -> None:
        self.numbers = count()

    async def speak(
        self,
        question: Question,
        hit: Hit,
        previous: Position | None,
        heard: Sequence[Position],
        context: RunContext,
    ) -> Position:
        return make_position(hit, f"Answer {next(self.numbers)}")


def hold_debate(debate: Debate, hits: Sequence[Hit] = HITS) -> tuple[DebateOutcome, str]:
    """Return the outcome of a debate and the way it ended."""
    with run_context() as context:
        done = asyncio.run(debate.hold(Question(WHO), hits, context))
        assert isinstance(context.scope, Recorder)
        (step,) = (s for s in context.scope.seal(None).steps if s.name == "debate")
    return done, step.reason


def make_debate(
    feedback: DebateFeedback = "peers", **answers: Sequence[str]
) -> tuple[ScriptedDebater, Debate]:
    says = ScriptedDebater({name[1:]: list(rounds) for name, rounds in answers.items()})
    debate = Debate(
        debaters=[says], aggregator=LocalAggregator(), scout=SCOUT, laws=LAWS, feedback=feedback
    )
    return says, debate


def test_a_debate_stops_when_all_agents_repeat_themselves() -> None:
    _, debate = make_debate(d1=["Vale"], d2=["Hill"], d3=["Vale", "the vale"])
    done, ended = hold_debate(debate)
    assert ended.startswith("settled in round 2")
    weight = (1 + 1 / 3) / (1 + 1 / 2 + 1 / 3)  # of the hits of two agents of three
    assert (done.draft.short_answer, done.sure) == ("Vale", 0.75)
    assert done.share == pytest.approx(weight, abs=1e-6)
    assert done.margin == pytest.approx(2 * weight - 1, abs=1e-6)
    logit = math.log(3) + 2 * done.share + done.margin - 2
    assert done.confidence == pytest.approx(1 / (1 + math.exp(-logit)), abs=1e-5)


def test_four_agents_with_four_answers_give_low_confidence() -> None:
    four = [replace(hit_of(document=str(n), rank=n), score=0.6) for n in (1, 2, 3, 4)]
    _, agreed = make_debate(d1=["A"], d2=["A"], d3=["A"], d4=["A"])
    _, split = make_debate(d1=["A"], d2=["B"], d3=["C"], d4=["D"])
    for laws in (LAWS, DEBATE_LAWS):
        together, apart = (
            hold_debate(replace(debate, laws=laws), four)[0] for debate in (agreed, split)
        )
        assert (apart.share, apart.margin) == (0.25, 0.0)
        assert apart.verdict < 0.5 < MafSettings().debate_threshold <= together.verdict
        assert apart.confidence < together.confidence


def test_agents_are_assigned_to_the_debaters_in_turn() -> None:
    strong, weak = ScriptedDebater({"1": ["A"], "3": ["A"]}), ScriptedDebater({"2": ["B"]})
    hold_debate(Debate(debaters=[strong, weak], aggregator=LocalAggregator(), scout=SCOUT))
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

    def read_year(_: str, chunk: Chunk) -> Reading:
        return reading(chunk, read[chunk.id], 0.8 if read[chunk.id] else 0.0)

    scout = LocalDebater(pairs=ScriptedCrossReader(read_year))
    debate = Debate(debaters=[scout], aggregator=LocalAggregator(), scout=scout)
    with run_context() as context:
        assert asyncio.run(debate.answers_differ(Question(question), hits, context)) == differ


def test_unknown_answers_agree_with_nothing() -> None:
    says, debate = make_debate(d1=["A"], d2=[""], d3=["A"])
    done, ended = hold_debate(debate)
    assert ended.startswith("last round")
    assert len(says.heard) == 3 * 3
    assert done.share < 1.0
    nothing = [Position(hit=HITS[0])]
    assert not is_settled(nothing, nothing)


def test_a_debate_that_never_converges_ends_with_the_last_round() -> None:
    done, ended = hold_debate(
        Debate(debaters=[RestlessDebater()], aggregator=LocalAggregator(), scout=SCOUT)
    )
    assert ended.startswith("last round")
    assert len(done.draft.alternatives) == 2


def test_agents_hear_nothing_in_the_first_round_and_never_themselves() -> None:
    says, debate = make_debate(d1=["A"], d2=["B"], d3=["C"])
    hold_debate(debate)
    assert says.heard[:3] == [(), (), ()]
    assert sorted(says.heard[3:6]) == [("A", "B"), ("A", "C"), ("B", "C")]


def test_agents_may_hear_the_aggregate_instead() -> None:
    says, debate = make_debate("aggregate", d1=["A"], d2=["A"], d3=["C"])
    hold_debate(debate)
    assert set(says.heard[3:6]) == {("A", "C")}


def test_an_agent_that_fails_is_taken_to_repeat_itself() -> None:
    _, debate = make_debate(d1=["A", "!"], d2=["!"], d3=["A"])
    done, _ = hold_debate(debate)
    assert done.draft.short_answer == "A"
    assert done.draft.claims[0].text == "2 of 3 chunks say: A."


@pytest.mark.parametrize("answers", [{}, {"d1": ["!"], "d2": [""], "d3": [""]}])
def test_without_any_answer_the_outcome_is_unknown(answers: dict[str, list[str]]) -> None:
    _, debate = make_debate("peers", **answers)
    done, _ = hold_debate(debate, HITS if answers else ())
    assert (done.draft.evidence, done.share, done.confidence) == ((), 0.0, 0.0)
