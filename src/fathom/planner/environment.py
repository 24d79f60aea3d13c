"""Recorded outcomes as an environment: what every sequence of executors came to on every question.

Each question was worked on with all legal sequences of executors beforehand, so that an episode is
a walk through what was recorded: no model is called while a policy learns, and what any policy
would have earned is known exactly, as is what hindsight would have.

The reward is that of MAO-ARAG (arXiv 2508.01005, section 3.2, equations 4 to 6): F1 of the answer
- alpha * (tokens / 1000 + 0.25 a search + 0.25 a parallel split or serial sub-question) - 1 for an
illegal action, which ends the episode with the draft as it is. Ours: abstaining earns what F1 gives
it (1 where there is no answer), and a wrong answer may cost something beside earning nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fathom.errors import UsageError
from fathom.planner.actions import ACTIONS, ENDING, Action, executions, legal
from fathom.planner.features import COLUMNS, Vector, recalled
from fathom.planner.policy import Policy

RETRIEVAL_PRICE = 0.25
WAIT_PRICE = 0.25
PRICED_TOKENS = 1_000
"""So many tokens cost 1; the paper says only that they are normalised."""
END = -1
"""In place of the state after an end."""

Places = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What some executors came to, as if the draft had been shown then.

    Attributes:
        tried: The executors, in their order.
        features: The planner's columns at that point, by name.
        f1: F1 of the answer; 1 for an abstention where there is no answer.
        wrong: Whether something was shown that is not right.
        answered: Whether something was shown.
        tokens: Tokens of the run so far, the first look's included, as for the next three.
        retrievals: Searches.
        waits: Parallel splits and serial sub-questions.
        seconds: Wall time; no part of the reward.
    """

    tried: tuple[Action, ...]
    features: Mapping[str, float]
    f1: float
    wrong: bool
    answered: bool = True
    tokens: int = 0
    retrievals: int = 0
    waits: int = 0
    seconds: float = 0.0

    @property
    def cost(self) -> float:
        """In the units of the reward."""
        priced = self.tokens / PRICED_TOKENS
        return priced + RETRIEVAL_PRICE * self.retrievals + WAIT_PRICE * self.waits


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedQuestion:
    """A question with all its outcomes.

    Attributes:
        dataset: Where it is from; a router sees nothing else.
        question: Its id there.
        answerable: Whether it has an answer.
        outcomes: One for each sequence of executors, each after its own beginning.
        setup: What made them, beside the question: another setup gives other outcomes.
    """

    dataset: str
    question: str
    answerable: bool
    outcomes: tuple[Outcome, ...]
    setup: str = ""

    def to_json(self) -> dict[str, Any]:
        """As a line of a file holds it."""
        return asdict(self)

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Self:
        """What a line of a file says.

        Raises:
            UsageError: If it is no recorded question, or one of another version's columns.
        """
        try:
            outcomes = tuple(
                Outcome(**{**each, "tried": tuple(each["tried"])}) for each in told["outcomes"]
            )
            found = cls(**{**told, "outcomes": outcomes})
        except (KeyError, TypeError) as error:
            raise UsageError(f"not a recorded question ({error}); record it again") from error
        for each in found.outcomes:
            if set(each.features) != set(COLUMNS):
                raise UsageError(
                    f"{found.dataset} {found.question}: recorded with other columns; "
                    "record the outcomes again"
                )
        return found

    def after(self, tried: Sequence[Action]) -> Outcome | None:
        """The outcome of these executors, if it was recorded."""
        return next((each for each in self.outcomes if each.tried == tuple(tried)), None)


def depth_of(questions: Sequence[RecordedQuestion]) -> int:
    """So many executors in a row all questions were worked on with.

    Raises:
        UsageError: If there is no question, or one lacks a sequence that it should have.
    """
    if not questions:
        raise UsageError("no outcomes were recorded; record some first")
    most = min(max(len(each.tried) for each in question.outcomes) for question in questions)
    wanted = list(executions(has_model=False, most=most))
    for question in questions:
        known = {each.tried for each in question.outcomes}
        lacking = [",".join(each) for each in wanted if each not in known]
        if lacking:
            raise UsageError(
                f"{question.dataset} {question.question}: no outcome of "
                f"{lacking[0] or 'the look'}; record the outcomes again"
            )
    return most


@dataclass(frozen=True, slots=True, kw_only=True)
class Reward:
    """What an episode earns; see the module.

    Attributes:
        alpha: What cost weighs against an F1 of 1.
        wrong: Taken off where something wrong is shown; with 1 an answer earns about its
            CRAG truthfulness.
        illegal: Taken off for an illegal action.
        gamma: Worth of a reward one turn later, in (0, 1]; an executor takes one turn, and one
            more for each wait.
    """

    alpha: float = 0.1
    wrong: float = 0.0
    illegal: float = 1.0
    gamma: float = 0.98

    def shown(self, outcome: Outcome) -> float:
        """Of showing the draft."""
        return outcome.f1 - self.wrong * outcome.wrong

    def withheld(self, question: RecordedQuestion) -> float:
        """Of abstaining."""
        return float(not question.answerable)


@dataclass(frozen=True, kw_only=True)
class Environment:
    """All episodes as one table: a state is a question with the executors that have worked on it.

    Attributes:
        questions: What was recorded.
        reward: What it earns.
        most: So many executors in a row at most.
        actions: Those that can be chosen, in the order of the table's columns.
        states: For each state its question, by place, and what was tried.
        inputs: States x columns: what a policy sees.
        legal: States x actions: whether a policy may choose it.
        after: States x actions: the state that follows, or `END`.
        rewards: States x actions: what is earned at once.
        turns: States x actions: how long it takes.
        starts: The first state of each question.
    """

    questions: tuple[RecordedQuestion, ...]
    reward: Reward
    most: int
    actions: tuple[Action, ...]
    states: tuple[tuple[int, tuple[Action, ...]], ...]
    inputs: Vector
    legal: Mask
    after: Places
    rewards: Vector
    turns: Vector
    starts: Places

    @classmethod
    def of(
        cls, questions: Sequence[RecordedQuestion], reward: Reward, *, most: int | None = None
    ) -> Self:
        """The table of these questions.

        Args:
            questions: What was recorded.
            reward: What it earns.
            most: So many executors in a row at most; by default as many as were recorded.

        Raises:
            UsageError: If outcomes are lacking.
        """
        depth = depth_of(questions)
        most = depth if most is None else min(most, depth)
        actions = tuple(action for action in ACTIONS if action != "model")
        tries = list(executions(has_model=False, most=most))
        states = tuple((at, tried) for at in range(len(questions)) for tried in tries)
        place = {state: number for number, state in enumerate(states)}
        shape = (len(states), len(actions))
        open_, after = np.zeros(shape, dtype=bool), np.full(shape, END)
        rewards, turns = np.zeros(shape), np.zeros(shape)
        rows: list[list[float]] = []
        for number, (at, tried) in enumerate(states):
            question = questions[at]
            known = {each.tried: each for each in question.outcomes}
            here = known[tried]
            rows.append([here.features[name] for name in COLUMNS])
            open_here = legal(tried, has_model=False, most=most)
            for column, action in enumerate(actions):
                earned = reward.shown(here)
                if action not in open_here:
                    earned -= reward.illegal
                elif action == "abstain":
                    earned = reward.withheld(question)
                elif action not in ENDING:
                    following = known[*tried, action]
                    after[number, column] = place[at, (*tried, action)]
                    earned = -reward.alpha * (following.cost - here.cost)
                    turns[number, column] = 1 + following.waits - here.waits
                rewards[number, column] = earned
                open_[number, column] = action in open_here
        return cls(
            questions=tuple(questions),
            reward=reward,
            most=most,
            actions=actions,
            states=states,
            inputs=np.array(rows),
            legal=open_,
            after=after,
            rewards=rewards,
            turns=turns,
            starts=np.arange(0, len(states), len(tries)),
        )

    @cached_property
    def datasets(self) -> tuple[str, ...]:
        """Where the questions are from, each once, in order."""
        return tuple(dict.fromkeys(question.dataset for question in self.questions))

    def follow(self, choices: Places) -> "Walks":
        """What comes of choosing an action in every state.

        Args:
            choices: For each state, the place of an action in `actions`.
        """
        now = self.starts.copy()
        earned = np.zeros(len(now))
        last, ends = now.copy(), np.zeros(len(now), dtype=np.int64)
        for _ in range(self.most + 1):
            running = now != END
            here = now[running]
            chosen = choices[here]
            earned[running] += self.rewards[here, chosen]
            last[running], ends[running] = here, chosen
            now[running] = self.after[here, chosen]
        return Walks(environment=self, last=last, ends=ends, earned=earned)

    def always(self, sequence: Sequence[Action]) -> Places:
        """The choices of a fixed sequence: these executors, then `stop`."""
        stop = self.actions.index("stop")
        choices = np.full(len(self.states), stop)
        for number, (_, tried) in enumerate(self.states):
            done = len(tried)
            if done < len(sequence) and tuple(sequence[:done]) == tried:
                choices[number] = self.actions.index(sequence[done])
        return choices

    def choices(self, policy: Policy) -> Places:
        """What a policy chooses in every state; see `follow`."""
        found = np.zeros(len(self.states), dtype=np.int64)
        for state, row in enumerate(self.inputs):
            seen = recalled(dict(zip(COLUMNS, map(float, row), strict=True)))
            pairs = zip(self.actions, self.legal[state], strict=True)
            chosen = policy.choose(seen, [action for action, legal in pairs if legal])
            found[state] = self.actions.index(chosen.action)
        return found

    def hindsight(self) -> Places:
        """The choices that earn most, of equal ones the cheapest, then the first."""
        values = np.zeros(len(self.states))
        choices = np.zeros(len(self.states), dtype=np.int64)
        order = sorted(range(len(self.states)), key=lambda at: -len(self.states[at][1]))
        for state in order:
            later = np.where(self.after[state] == END, 0.0, values[self.after[state]])
            worth = np.round(self.rewards[state] + later, 9) - 1e-7 * self.turns[state]
            worth[~self.legal[state]] = -np.inf
            choices[state] = int(np.argmax(worth))
            values[state] = self.rewards[state, choices[state]] + later[choices[state]]
        return choices

    def among(self, places: Sequence[int]) -> "Environment":
        """Some of the questions, by place."""
        return self.of([self.questions[at] for at in places], self.reward, most=self.most)


@dataclass(frozen=True, kw_only=True)
class Walks:
    """One episode of each question.

    Attributes:
        last: The state in which each ended.
        ends: The place of the action that ended it.
        earned: Its reward, without discount; the cost of the first look, equal for all, left out.
    """

    environment: Environment
    last: Places
    ends: Places
    earned: Vector

    @cached_property
    def outcomes(self) -> tuple[Outcome, ...]:
        """What was shown of each; of an abstention, with what it earns."""
        found: list[Outcome] = []
        for state, end in zip(self.last, self.ends, strict=True):
            at, tried = self.environment.states[state]
            question = self.environment.questions[at]
            outcome = question.after(tried)
            assert outcome is not None
            if self.environment.actions[end] == "abstain":
                outcome = replace(
                    outcome, f1=float(not question.answerable), wrong=False, answered=False
                )
            found.append(outcome)
        return tuple(found)

    @cached_property
    def sequences(self) -> tuple[tuple[Action, ...], ...]:
        """The actions of each, its end included."""
        actions = self.environment.actions
        return tuple(
            (*self.environment.states[state][1], actions[end])
            for state, end in zip(self.last, self.ends, strict=True)
        )
