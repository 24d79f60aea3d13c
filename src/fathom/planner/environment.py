"""The environment in which planners learn: recorded outcomes of all choices on every question.

Every legal sequence of choices was run on every question beforehand, so an episode is a walk
through the record. No model is called while a policy learns, and the reward of any policy is known
exactly, as is the best reward in hindsight.

The reward is that of MAO-ARAG (arXiv 2508.01005, section 3.2, equations 4 to 6): F1 of the answer -
alpha * (tokens / 1000 + 0.25 for each search + 0.25 for each parallel split or serial sub-question)
- 1 for an illegal choice, which the strategy's fallback replaces. A first look of `mao` costs
nothing by itself, and R costs a search even if it takes the hits of the look. Two rules are
Fathom's: an abstention earns 1 if the question has no answer, else 0, and a setting can subtract
something for a wrong answer.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fathom.errors import UsageError
from fathom.planner.actions import END_ACTIONS
from fathom.planner.observation import Vector
from fathom.planner.process import ChoiceProcess, Chooser, find_process

RETRIEVAL_PRICE = 0.25
"""The price of a search."""
WAIT_PRICE = 0.25
"""The price of a parallel split, and of each serial sub-question."""
PRICED_TOKENS = 1_000
"""The number of tokens that cost 1; the paper says only that they are normalised."""
END = -1
"""The mark of the end of an episode, in place of a state."""

Places = NDArray[np.int64]
"""Places of states or actions in their tables, from 0."""
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedOutcome:
    """The outcome after some choices: the grade of the draft that would be shown then.

    Attributes:
        tried: The choices so far, in order.
        features: The planner's columns at that point, by name; empty if nothing is left to choose.
        f1: F1 of the answer, in [0, 1]; 1 for an abstention if the question has no answer.
        wrong: Whether an answer is shown and is not right.
        answered: Whether an answer is shown.
        tokens: The tokens of the run so far, including the first look.
        retrievals: The searches of the run so far, including the first look.
        waits: The parallel splits and serial sub-questions of the run so far.
        seconds: The wall time of the run so far; not part of the reward.
    """

    tried: tuple[str, ...]
    features: Mapping[str, float]
    f1: float
    wrong: bool
    answered: bool = True
    tokens: int = 0
    retrievals: int = 0
    waits: int = 0
    seconds: float = 0.0

    def compute_cost(self, process: ChoiceProcess) -> float:
        """Return the cost of the run so far in the units of the reward, before alpha."""
        priced = self.tokens / PRICED_TOKENS
        is_open = bool(self.features)
        searches = process.count_searches(self.tried, self.retrievals, is_open=is_open)
        return priced + RETRIEVAL_PRICE * searches + WAIT_PRICE * self.waits


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedQuestion:
    """A question with all its outcomes.

    Attributes:
        dataset: The data set of the question; a router by data set sees nothing else.
        question: The id of the question in the data set.
        answerable: Whether the question has an answer.
        outcomes: One for each legal sequence of choices.
        setup: A digest of the setup that produced the outcomes; outcomes of different setups must
            not be mixed.
        strategy: The strategy whose choices were recorded.
        group: The name of the group of questions that share documents; empty for a question that
            shares none.
        asked: A digest of the question as it was asked and graded; empty in older records.
    """

    dataset: str
    question: str
    answerable: bool
    outcomes: tuple[RecordedOutcome, ...]
    setup: str = ""
    strategy: str = "adaptive"
    group: str = ""
    asked: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the question as a JSON object for one line of a file."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Self:
        """Build the question from the JSON object of a line.

        Raises:
            UsageError: If it is no recorded question, or has the columns of another version.
        """
        try:
            outcomes = tuple(
                RecordedOutcome(**{**outcome, "tried": tuple(outcome["tried"])})
                for outcome in fields["outcomes"]
            )
            question = cls(**{**fields, "outcomes": outcomes})
        except (KeyError, TypeError) as error:
            raise UsageError(f"not a recorded question ({error}); record it again") from error
        # Columns of another version may mean something else under the same name, so none may be
        # missing and none may be left over.
        columns = set(find_process(question.strategy).columns)
        for outcome in question.outcomes:
            if outcome.features and set(outcome.features) != columns:
                raise UsageError(
                    f"{question.dataset} {question.question}: recorded with other columns; "
                    "record the outcomes again"
                )
        return question

    def find_outcome(self, tried: Sequence[str]) -> RecordedOutcome | None:
        """Return the outcome of these choices; `None` if it was not recorded."""
        return next((outcome for outcome in self.outcomes if outcome.tried == tuple(tried)), None)

    def list_states(self, most: int) -> list[tuple[str, ...]]:
        """Return the sequences after which something is left to choose, short ones first.

        Args:
            most: The largest number of choices before the last one.

        Raises:
            UsageError: If the outcome of a legal sequence was not recorded.
        """
        process = find_process(self.strategy)
        outcomes = {outcome.tried: outcome for outcome in self.outcomes}
        states: list[tuple[str, ...]] = []
        waiting: list[tuple[str, ...]] = [()]
        while waiting:
            tried = waiting.pop(0)
            if tried not in outcomes:
                raise UsageError(
                    f"{self.dataset} {self.question}: no outcome of "
                    f"{','.join(tried) or 'the look'}; record the outcomes again"
                )
            if outcomes[tried].features:
                states.append(tried)
                legal = process.list_legal(tried, most=most)
                waiting += [(*tried, action) for action in legal if action not in END_ACTIONS]
        return states


def find_common_process(questions: Sequence[RecordedQuestion]) -> ChoiceProcess:
    """Return the choice process of the strategy that these questions were recorded with.

    Raises:
        UsageError: If there is no question, or they were recorded for several strategies.
    """
    if not questions:
        raise UsageError("no outcomes were recorded; record some first")
    strategies = sorted({question.strategy for question in questions})
    if len(strategies) > 1:
        raise UsageError(f"outcomes of {' and '.join(strategies)} in one file; train on one")
    return find_process(strategies[0])


def compute_depth(questions: Sequence[RecordedQuestion]) -> int:
    """Return the largest number of choices before the last one for which all outcomes exist.

    Raises:
        UsageError: If there is no question, several strategies were recorded, or a question lacks
            a sequence that it should have.
    """
    process = find_common_process(questions)
    most = process.pick_depth([max(map(len, _list_open(question))) for question in questions])
    for question in questions:
        question.list_states(most)
    return most


def _list_open(question: RecordedQuestion) -> Iterator[tuple[str, ...]]:
    """Yield the empty sequence, then all sequences after which something is left to choose."""
    yield ()
    yield from (outcome.tried for outcome in question.outcomes if outcome.features)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reward:
    """The reward of an episode; the module's docstring has the formula.

    Attributes:
        alpha: The weight of the cost against an F1 of 1, at least 0.
        wrong: The penalty for showing a wrong answer; with 1 the reward is close to CRAG's
            truthfulness.
        illegal: The penalty for an illegal choice.
        gamma: The discount of a reward for each turn before it, in (0, 1]. An executor of
            `adaptive` takes one turn and one more for each wait; a workflow of `mao` takes a turn
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
        """Return the reward for abstaining: 1 if the question has no answer, else 0."""
        return float(not question.answerable)


@dataclass(frozen=True, kw_only=True)
class Environment:
    """All episodes as one table; a state is a question with the choices made so far.

    Attributes:
        process: The choices of the strategy.
        questions: The recorded questions.
        reward: The reward of an episode.
        most: The largest number of choices before the last one.
        states: The place of the question in `questions`, and the choices so far, of each state.
        inputs: States x columns: the features that a policy sees.
        legal: States x actions: whether a policy may choose the action.
        after: States x actions: the place of the state that follows, or `END`. An illegal action
            has the state, reward and turns of the fallback.
        rewards: States x actions: the immediate reward, with the penalty for an illegal action.
        turns: States x actions: the number of turns that the action takes.
        starts: The place of the first state of each question.
    """

    process: ChoiceProcess
    questions: tuple[RecordedQuestion, ...]
    reward: Reward
    most: int
    states: tuple[tuple[int, tuple[str, ...]], ...]
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
            most: The largest number of choices before the last one; at most as many as were
                recorded, which is also the default.

        Raises:
            UsageError: If outcomes are missing.
        """
        process, depth = find_common_process(questions), compute_depth(questions)
        most = depth if most is None else min(most, depth)
        states = tuple(
            (index, tried)
            for index, question in enumerate(questions)
            for tried in question.list_states(most)
        )
        state_numbers = {state: number for number, state in enumerate(states)}
        outcomes = [{outcome.tried: outcome for outcome in item.outcomes} for item in questions]
        shape = (len(states), len(process.actions))
        mask, after = np.zeros(shape, dtype=bool), np.full(shape, END)
        rewards, turns = np.zeros(shape), np.zeros(shape)
        for number, (index, tried) in enumerate(states):
            legal_actions = process.list_legal(tried, most=most)
            for column, action in enumerate(process.actions):
                is_legal = action in legal_actions
                step = (*tried, action if is_legal else process.fallback)
                mask[number, column] = is_legal
                after[number, column] = state_numbers.get((index, step), END)
                earned, turns[number, column] = _take_step(
                    process, reward, questions[index], outcomes[index], step
                )
                rewards[number, column] = earned - (0.0 if is_legal else reward.illegal)
        return cls(
            process=process,
            questions=tuple(questions),
            reward=reward,
            most=most,
            states=states,
            inputs=np.array(
                [
                    [outcomes[index][tried].features[name] for name in process.columns]
                    for index, tried in states
                ]
            ),
            legal=mask,
            after=after,
            rewards=rewards,
            turns=turns,
            starts=np.array([number for number, (_, tried) in enumerate(states) if not tried]),
        )

    @property
    def actions(self) -> tuple[str, ...]:
        """The actions, in the order of the table's columns."""
        return self.process.actions

    @cached_property
    def datasets(self) -> tuple[str, ...]:
        """The data sets of the questions, each once, in order."""
        return tuple(dict.fromkeys(question.dataset for question in self.questions))

    def follow(self, choices: Places) -> "Episodes":
        """Return the episodes of a policy.

        Args:
            choices: The place in `actions` of the policy's choice in each state.
        """
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

    def choose_sequence(self, sequence: Sequence[str]) -> Places:
        """Return the choices of a fixed sequence in every state, for `follow`.

        After its end, and in states that it does not reach, the strategy's fallback is chosen.
        """
        fallback = self.actions.index(self.process.fallback)
        choices = np.full(len(self.states), fallback)
        for number, (_, tried) in enumerate(self.states):
            depth = len(tried)
            if depth < len(sequence) and tuple(sequence[:depth]) == tried:
                choices[number] = self.actions.index(sequence[depth])
        return choices

    def choose_by(self, choose: Chooser) -> Places:
        """Return the choices of a function in every state, for `follow`."""
        chosen_places = np.zeros(len(self.states), dtype=np.int64)
        for state, row in enumerate(self.inputs):
            values = dict(zip(self.process.columns, map(float, row), strict=True))
            pairs = zip(self.actions, self.legal[state], strict=True)
            action = choose(values, [action for action, legal in pairs if legal])
            chosen_places[state] = self.actions.index(action)
        return chosen_places

    def choose_in_hindsight(self) -> Places:
        """Return the choices that earn most, without discount, in every state, for `follow`.

        Of equal ones, those with the fewest turns are chosen, then the first.
        """
        values = np.zeros(len(self.states))
        choices = np.zeros(len(self.states), dtype=np.int64)
        order = sorted(range(len(self.states)), key=lambda number: -len(self.states[number][1]))
        # The longest sequences come first, because the value of a state needs the values of the
        # states after it.
        for state in order:
            later = np.where(self.after[state] == END, 0.0, values[self.after[state]])
            # Rounding makes ties exact, and the small term decides them in favour of fewer turns.
            totals = np.round(self.rewards[state] + later, 9) - 1e-7 * self.turns[state]
            totals[~self.legal[state]] = -np.inf
            choices[state] = int(np.argmax(totals))
            values[state] = self.rewards[state, choices[state]] + later[choices[state]]
        return choices


@dataclass(frozen=True, kw_only=True)
class Episodes:
    """One episode of each question.

    Attributes:
        environment: The environment of the episodes.
        last: The place of the state in which each episode ended.
        ends: The place in `actions` of the action that ended it.
        earned: Its reward, without discount and without the cost of the first look.
    """

    environment: Environment
    last: Places
    ends: Places
    earned: Vector

    @cached_property
    def outcomes(self) -> tuple[RecordedOutcome, ...]:
        """The outcome with which each episode ended; after `abstain`, that of showing no draft."""
        reached: list[RecordedOutcome] = []
        for state, end in zip(self.last, self.ends, strict=True):
            place, tried = self.environment.states[state]
            question, action = self.environment.questions[place], self.environment.actions[end]
            steps = tried if action in END_ACTIONS else (*tried, action)
            outcome = question.find_outcome(steps)
            assert outcome is not None
            if action == "abstain":
                outcome = replace(
                    outcome, f1=float(not question.answerable), wrong=False, answered=False
                )
            reached.append(outcome)
        return tuple(reached)

    @cached_property
    def sequences(self) -> tuple[tuple[str, ...], ...]:
        """The actions of each episode, including the one that ended it."""
        actions = self.environment.actions
        return tuple(
            (*self.environment.states[state][1], actions[end])
            for state, end in zip(self.last, self.ends, strict=True)
        )


def _take_step(
    process: ChoiceProcess,
    reward: Reward,
    question: RecordedQuestion,
    outcomes: Mapping[tuple[str, ...], RecordedOutcome],
    step: tuple[str, ...],
) -> tuple[float, int]:
    """Return the immediate reward of the last choice of `step`, and the turns that it takes."""
    tried, action = step[:-1], step[-1]
    before = outcomes[tried]
    if action in END_ACTIONS:
        if action == "abstain":
            return reward.reward_abstention(question), 0
        return reward.reward_answer(before), 0
    following = outcomes[step]
    earned = -reward.alpha * (following.compute_cost(process) - before.compute_cost(process))
    if not following.features:
        earned += reward.reward_answer(following)
    return earned, process.turns + following.waits - before.waits
