import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from tests.planner.worlds import HELPS, make_question, make_questions

from fathom.errors import UsageError
from fathom.planner.actions import Action, is_legal_sequence
from fathom.planner.environment import (
    END,
    Environment,
    RecordedOutcome,
    RecordedQuestion,
    Reward,
    compute_depth,
)
from fathom.planner.observation import COLUMNS, Observation
from fathom.planner.policy import Decision, FixedSequence
from fathom.planner.process import find_process, make_action_chooser

FREE = Reward(alpha=0.0)


def sum_rewards(
    sequence: tuple[Action, ...], reward: Reward, *, of: RecordedQuestion | None = None
) -> float:
    """Return the reward of these actions on one question, illegal ones included."""
    world = Environment.from_questions([of or make_question(0)], reward)
    state, total = 0, 0.0
    for action in sequence:
        place = world.actions.index(action)
        total += world.rewards[state, place]
        state = int(world.after[state, place])
    assert state == END
    return total


def test_the_price_is_that_of_the_paper() -> None:
    spent = RecordedOutcome(
        tried=("split",), features={}, f1=1, wrong=False, tokens=1500, retrievals=3, waits=2
    )
    assert spent.compute_cost(find_process("adaptive")) == pytest.approx(1.5 + 0.75 + 0.5)


def test_an_answer_earns_its_f1_minus_the_cost_beyond_the_first_look() -> None:
    assert sum_rewards(("bridge", "stop"), FREE) == 1
    assert sum_rewards(("stop",), FREE) == 0
    assert sum_rewards(("bridge", "stop"), Reward(alpha=0.1)) == pytest.approx(1 - 0.1 * 4 * 0.25)
    split = Reward(alpha=0.1)
    assert sum_rewards(("split", "stop"), split, of=make_question(1)) == pytest.approx(
        1 - 0.1 * 0.5
    )


def test_an_abstention_earns_only_without_an_answer_and_a_wrong_answer_may_cost() -> None:
    strict = Reward(alpha=0.0, wrong=0.5)
    assert sum_rewards(("abstain",), strict, of=make_question(4)) == 1
    assert sum_rewards(("abstain",), strict, of=make_question(0)) == 0
    assert sum_rewards(("stop",), strict, of=make_question(0)) == -0.5
    assert sum_rewards(("stop",), strict, of=make_question(3)) == 1


def test_an_illegal_action_ends_the_episode_and_costs_one() -> None:
    assert sum_rewards(("bridge", "bridge"), FREE) == pytest.approx(0.0)
    assert sum_rewards(("bridge", "split", "debate"), replace(FREE, illegal=0.5)) == pytest.approx(
        0.5
    )


def test_only_legal_actions_can_be_chosen() -> None:
    world = Environment.from_questions(make_questions(3), FREE)
    for state, (at, tried) in enumerate(world.states):
        for place, action in enumerate(world.actions):
            legal = is_legal_sequence((*tried, action), has_model=False, most=world.most)
            assert world.legal[state, place] == legal
            if world.after[state, place] != END:
                assert world.states[world.after[state, place]] == (at, (*tried, action))
    assert [world.states[start] for start in world.starts] == [(0, ()), (1, ()), (2, ())]


def test_an_executor_takes_a_turn_and_one_more_for_each_wait() -> None:
    world = Environment.from_questions([make_question(0)], FREE)
    assert world.turns[0, world.actions.index("bridge")] == 1
    assert world.turns[0, world.actions.index("split")] == 2
    assert world.turns[0, world.actions.index("stop")] == 0


def test_a_fixed_sequence_is_followed_to_its_end() -> None:
    world = Environment.from_questions(make_questions(10), Reward(alpha=0.1))
    walks = world.follow(world.choose_sequence(("bridge", "split")))
    assert set(walks.sequences) == {("bridge", "split", "stop")}
    assert walks.earned[0] == pytest.approx(sum_rewards(("bridge", "split", "stop"), world.reward))
    assert [outcome.tried for outcome in walks.outcomes] == [("bridge", "split")] * 10


def test_hindsight_earns_the_maximum_with_the_least_work() -> None:
    world = Environment.from_questions(make_questions(10), Reward(alpha=0.05))
    best = world.follow(world.choose_in_hindsight())
    for sequence in (("bridge",), ("split", "bridge"), ()):
        assert (best.earned >= world.follow(world.choose_sequence(sequence)).earned - 1e-9).all()
    assert best.sequences[:5] == (
        ("bridge", "stop"),
        ("split", "stop"),
        ("debate", "stop"),
        ("stop",),
        ("abstain",),
    )


def test_an_abstention_is_never_a_wrong_answer() -> None:
    world = Environment.from_questions([make_question(4)], FREE)
    walks = world.follow(np.full(len(world.states), world.actions.index("abstain")))
    assert (walks.outcomes[0].f1, walks.outcomes[0].wrong) == (1, False)


def test_each_line_of_a_file_holds_a_question() -> None:
    payload = json.loads(json.dumps(make_question(7).to_json()))
    assert RecordedQuestion.from_json(payload) == make_question(7)


def test_incomplete_records_are_refused() -> None:
    whole = make_question(0)
    torn = replace(whole, outcomes=whole.outcomes[:-1])
    with pytest.raises(UsageError, match="no outcome of debate,split"):
        compute_depth([whole, torn])
    with pytest.raises(UsageError, match="record some first"):
        compute_depth([])
    other = whole.to_json()
    other["outcomes"][0]["features"] = {"height": 1.0}
    with pytest.raises(UsageError, match="other columns"):
        RecordedQuestion.from_json(other)
    with pytest.raises(UsageError, match="not a recorded question"):
        RecordedQuestion.from_json({"dataset": "x"})


def test_fewer_executors_than_recorded_can_be_considered() -> None:
    world = Environment.from_questions(make_questions(3), FREE, most=1)
    assert world.most == 1
    assert len(world.states) == 3 * 6
    assert world.inputs.shape == (18, len(COLUMNS))


def test_a_policy_is_asked_in_every_state_with_its_observation() -> None:
    class Recorder(FixedSequence):
        def choose(self, observation: Observation, legal: Sequence[Action]) -> Decision:
            observed.append((observation.tried, tuple(legal), observation.situation.coverage))
            return super().choose(observation, legal)

    observed: list[tuple[tuple[Action, ...], tuple[Action, ...], float]] = []
    world = Environment.from_questions([make_question(0), make_question(1)], FREE)
    choices = world.choose_by(make_action_chooser(Recorder(actions=HELPS[:1])))
    assert len(observed) == len(world.states)
    assert set(world.follow(choices).sequences) == {("bridge", "stop")}
    for (tried, legal, coverage), state in zip(observed, range(len(observed)), strict=True):
        at, is_known = world.states[state]
        assert set(tried) == set(is_known)
        assert [action in legal for action in world.actions] == list(world.legal[state])
        assert coverage == world.inputs[state, list(COLUMNS).index("coverage")] == float(at == 0)
