"""Recorded outcomes as an environment: those of all sequences of executors on every question.

Each question was worked on with all legal sequences of executors beforehand, so that an episode is
a walk through the record: no model is called while a policy learns, and the reward of any policy is
known exactly, as is the best reward in hindsight.

The reward is that of MAO-ARAG (arXiv 2508.01005, section 3.2, equations 4 to 6): F1 of the answer -
alpha * (tokens / 1000 + 0.25 a search + 0.25 a parallel split or serial sub-question) - 1 for an
illegal action, which ends the episode with the draft as it is. Two rules are Fathom's: abstaining
earns what F1 gives it (1 where there is no answer), and a wrong answer may cost something besides
earning nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fathom.errors import UsageError
from fathom.planner.actions import (
    ACTIONS,
    END_ACTIONS,
    Action,
    iterate_sequences,
    list_legal_actions,
)
from fathom.planner.observation import COLUMNS, Vector, restore_observation
from fathom.planner.policy import Policy

RETRIEVAL_PRICE = 0.25
WAIT_PRICE = 0.25
PRICED_TOKENS = 1_000
"""The number of tokens that cost 1; the paper says only that they are normalised."""
END = -1
"""The mark in place of a state after an end."""

Places = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedOutcome:
    """The outcome of some executors, as if the draft had been shown then.

    Attributes:
        tried: The executors, in order.
        features: The planner's columns at that point, by name.
        f1: F1 of the answer; 1 for an abstention where there is no answer.
        wrong: Whether the answer shown is not right.
        answered: Whether an answer is shown.
        tokens: Tokens of the run so far, including the first look.
        retrievals: Searches of the run so far, including the first look.
        waits: Parallel splits and serial sub-questions of the run so far.
        seconds: Wall time of the run so far; not part of the reward.
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
        """The cost in the units of the reward."""
        priced = self.tokens / PRICED_TOKENS
        return priced + RETRIEVAL_PRICE * self.retrievals + WAIT_PRICE * self.waits


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedQuestion:
    """A question with all its outcomes.

    Attributes:
        dataset: The data set of the question; a router sees nothing else.
        question: The id of the question there.
        answerable: Whether the question has an answer.
        outcomes: One for each sequence of executors, each after its own beginning.
        setup: The setup that produced the outcomes; another setup gives other outcomes.
    """

    dataset: str
    question: str
    answerable: bool
    outcomes: tuple[RecordedOutcome, ...]
    setup: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the question as a JSON object for one line of a file."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Self:
        """Build the question from the JSON object of a line.

        Raises:
            UsageError: If it is no recorded question, or one with the columns of another version.
        """
        try:
            outcomes = tuple(
                RecordedOutcome(**{**outcome, "tried": tuple(outcome["tried"])})
                for outcome in fields["outcomes"]
            )
            question = cls(**{**fields, "outcomes": outcomes})
        except (KeyError, TypeError) as error:
            raise UsageError(f"not a recorded question ({error}); record it again") from error
        # Features are looked up by name: other columns would train on numbers that mean something
        # else.
        for outcome in question.outcomes:
            if set(outcome.features) != set(COLUMNS):
                raise UsageError(
                    f"{question.dataset} {question.question}: recorded with other columns; "
                    "record the outcomes again"
                )
        return question

    def find_outcome(self, tried: Sequence[Action]) -> RecordedOutcome | None:
        """Return the outcome of these executors; `None` if it was not recorded."""
        return next((outcome for outcome in self.outcomes if outcome.tried == tuple(tried)), None)


def compute_depth(questions: Sequence[RecordedQuestion]) -> int:
    """Return the largest number of executors that every question was worked on with.

    Raises:
        UsageError: If there is no question, or one lacks a sequence that it should have.
    """
    if not questions:
        raise UsageError("no outcomes were recorded; record some first")
    most = min(max(len(outcome.tried) for outcome in question.outcomes) for question in questions)
    # Without a model only: `model` is never learned, so its outcomes may be missing.
    sequences = list(iterate_sequences(has_model=False, most=most))
    for question in questions:
        recorded = {outcome.tried for outcome in question.outcomes}
        lacking = [",".join(sequence) for sequence in sequences if sequence not in recorded]
        if lacking:
            raise UsageError(
                f"{question.dataset} {question.question}: no outcome of "
                f"{lacking[0] or 'the look'}; record the outcomes again"
            )
    return most


@dataclass(frozen=True, slots=True, kw_only=True)
class Reward:
    """The reward of an episode, as the module describes it.

    Attributes:
        alpha: Weight of the cost against an F1 of 1.
        wrong: Penalty for showing a wrong answer; with 1 an answer earns about its CRAG
            truthfulness.
        illegal: Penalty for an illegal action.
        gamma: Value of a reward one turn later, in (0, 1]; an executor takes one turn, and one more
            for each wait.
    """

    alpha: float = 0.1
    wrong: float = 0.0
    illegal: float = 1.0
    gamma: float = 0.98

    def reward_answer(self, outcome: RecordedOutcome) -> float:
        """Return the reward for showing the draft."""
        return outcome.f1 - self.wrong * outcome.wrong

    def reward_abstention(self, question: RecordedQuestion) -> float:
        """Return the reward for abstaining."""
        return float(not question.answerable)


@dataclass(frozen=True, kw_only=True)
class Environment:
    """All episodes as one table; a state is a question with the executors that have worked on it.

    Attributes:
        questions: The recorded questions.
        reward: The reward of an episode.
        most: The largest number of executors in a row.
        actions: The actions that can be chosen, in the order of the table's columns.
        states: For each state the place of its question, and the executors tried.
        inputs: States x columns: the features that a policy sees.
        legal: States x actions: whether a policy may choose the action.
        after: States x actions: the state that follows, or `END`.
        rewards: States x actions: the immediate reward.
        turns: States x actions: the number of turns that the action takes.
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
    def from_questions(
        cls, questions: Sequence[RecordedQuestion], reward: Reward, *, most: int | None = None
    ) -> Self:
        """Build the table of these questions.

        Args:
            questions: The recorded questions.
            reward: The reward of an episode.
            most: The largest number of executors in a row; by default as many as were recorded.

        Raises:
            UsageError: If outcomes are missing.
        """
        depth = compute_depth(questions)
        most = depth if most is None else min(most, depth)
        # Recorded outcomes come from runs without a language model, so `model` cannot be learned.
        actions = tuple(action for action in ACTIONS if action != "model")
        tries = list(iterate_sequences(has_model=False, most=most))
        states = tuple((index, tried) for index in range(len(questions)) for tried in tries)
        state_numbers = {state: number for number, state in enumerate(states)}
        shape = (len(states), len(actions))
        # The outcome of an illegal action is an end: `after` stays `END` unless an executor
        # follows.
        mask, after = np.zeros(shape, dtype=bool), np.full(shape, END)
        rewards, turns = np.zeros(shape), np.zeros(shape)
        rows: list[list[float]] = []
        for number, (index, tried) in enumerate(states):
            question = questions[index]
            outcomes = {recorded.tried: recorded for recorded in question.outcomes}
            outcome = outcomes[tried]
            rows.append([outcome.features[name] for name in COLUMNS])
            legal_actions = list_legal_actions(tried, has_model=False, most=most)
            for column, action in enumerate(actions):
                earned = reward.reward_answer(outcome)
                if action not in legal_actions:
                    earned -= reward.illegal
                elif action == "abstain":
                    earned = reward.reward_abstention(question)
                elif action not in END_ACTIONS:
                    following = outcomes[*tried, action]
                    after[number, column] = state_numbers[index, (*tried, action)]
                    earned = -reward.alpha * (following.cost - outcome.cost)
                    turns[number, column] = 1 + following.waits - outcome.waits
                rewards[number, column] = earned
                mask[number, column] = action in legal_actions
        return cls(
            questions=tuple(questions),
            reward=reward,
            most=most,
            actions=actions,
            states=states,
            inputs=np.array(rows),
            legal=mask,
            after=after,
            rewards=rewards,
            turns=turns,
            starts=np.arange(0, len(states), len(tries)),
        )

    @cached_property
    def datasets(self) -> tuple[str, ...]:
        """The data sets of the questions, each once, in order."""
        return tuple(dict.fromkeys(question.dataset for question in self.questions))

    def follow(self, choices: Places) -> "Episodes":
        """Return the episodes that follow from one place in `actions` for every state."""
        now = self.starts.copy()
        earned = np.zeros(len(now))
        last, ends = now.copy(), np.zeros(len(now), dtype=np.int64)
        for _ in range(self.most + 1):
            running = now != END
            states = now[running]
            chosen = choices[states]
            earned[running] += self.rewards[states, chosen]
            last[running], ends[running] = states, chosen
            now[running] = self.after[states, chosen]
        return Episodes(environment=self, last=last, ends=ends, earned=earned)

    def choose_sequence(self, sequence: Sequence[Action]) -> Places:
        """Return the choices of a fixed sequence: these executors, then `stop`."""
        stop = self.actions.index("stop")
        choices = np.full(len(self.states), stop)
        for number, (_, tried) in enumerate(self.states):
            depth = len(tried)
            if depth < len(sequence) and tuple(sequence[:depth]) == tried:
                choices[number] = self.actions.index(sequence[depth])
        return choices

    def choose_by_policy(self, policy: Policy) -> Places:
        """Return the choices of a policy in every state; `follow` takes them."""
        chosen_places = np.zeros(len(self.states), dtype=np.int64)
        for state, row in enumerate(self.inputs):
            observation = restore_observation(dict(zip(COLUMNS, map(float, row), strict=True)))
            pairs = zip(self.actions, self.legal[state], strict=True)
            chosen = policy.choose(observation, [action for action, legal in pairs if legal])
            chosen_places[state] = self.actions.index(chosen.action)
        return chosen_places

    def choose_in_hindsight(self) -> Places:
        """Return the choices that earn most; of equal ones the cheapest, then the first."""
        values = np.zeros(len(self.states))
        choices = np.zeros(len(self.states), dtype=np.int64)
        order = sorted(range(len(self.states)), key=lambda number: -len(self.states[number][1]))
        # The longest sequences first: the value of a state needs those of the states after it.
        for state in order:
            later = np.where(self.after[state] == END, 0.0, values[self.after[state]])
            # Rounding makes ties exact, and the small term resolves them in favour of fewer turns.
            totals = np.round(self.rewards[state] + later, 9) - 1e-7 * self.turns[state]
            totals[~self.legal[state]] = -np.inf
            choices[state] = int(np.argmax(totals))
            values[state] = self.rewards[state, choices[state]] + later[choices[state]]
        return choices


@dataclass(frozen=True, kw_only=True)
class Episodes:
    """One episode of each question.

    Attributes:
        last: The state in which each episode ended.
        ends: The place of the action that ended it.
        earned: Its reward, without discount; the cost of the first look, equal for all, is left
            out.
    """

    environment: Environment
    last: Places
    ends: Places
    earned: Vector

    @cached_property
    def outcomes(self) -> tuple[RecordedOutcome, ...]:
        """The outcome that each episode ended with; that of an abstention has its own reward."""
        reached: list[RecordedOutcome] = []
        for state, end in zip(self.last, self.ends, strict=True):
            place, tried = self.environment.states[state]
            question = self.environment.questions[place]
            outcome = question.find_outcome(tried)
            assert outcome is not None
            if self.environment.actions[end] == "abstain":
                outcome = replace(
                    outcome, f1=float(not question.answerable), wrong=False, answered=False
                )
            reached.append(outcome)
        return tuple(reached)

    @cached_property
    def sequences(self) -> tuple[tuple[Action, ...], ...]:
        """The actions of each episode, with its end."""
        actions = self.environment.actions
        return tuple(
            (*self.environment.states[state][1], actions[end])
            for state, end in zip(self.last, self.ends, strict=True)
        )
