from dataclasses import replace

import numpy as np
import pytest
from tests.planner.worlds import make_questions

from fathom.planner.environment import Environment, Reward
from fathom.planner.observation import Vector
from fathom.planner.ppo import (
    Learner,
    Network,
    SampledSteps,
    Training,
    compute_advantages,
    compute_log_probabilities,
    compute_policy_gradient,
)

RNG = np.random.default_rng(1)
SHORT = Training(updates=60, episodes=256, noise=0.0, prior=0.0)


def estimate_gradient(function, values: Vector) -> Vector:  # type: ignore[no-untyped-def]
    """Return the gradient of a function of an array, by finite differences."""
    slope = np.zeros_like(values)
    for at in np.ndindex(values.shape):
        for sign in (1, -1):
            moved = values.copy()
            moved[at] += sign * 1e-6
            slope[at] += sign * function(moved) / 2e-6
    return slope


def draw_batch(count: int = 6, actions: int = 4) -> SampledSteps:
    legal = RNG.uniform(size=(count, actions)) < 0.7
    legal[:, 0] = True
    return SampledSteps(
        inputs=RNG.normal(size=(count, 3)),
        legal=legal,
        actions=np.zeros(count, dtype=np.int64),
        logs=RNG.normal(size=count) * 0.3 - 1,
        advantages=RNG.normal(size=count),
        returns=RNG.normal(size=count),
        guided=np.zeros(count, dtype=np.int64),
    )


def test_advantages_are_those_of_the_definition() -> None:
    rewards, values = np.array([[1.0], [2.0], [4.0]]), np.array([[0.5], [1.0], [3.0]])
    discounts = np.array([[0.9], [0.81], [0.0]])  # the second action took two turns
    third = 4.0 - 3.0
    second = 2.0 + 0.81 * 3.0 - 1.0
    first = 1.0 + 0.9 * 1.0 - 0.5
    expected = [first + 0.45 * (second + 0.405 * third), second + 0.405 * third, third]
    assert compute_advantages(rewards, values, discounts, lam=0.5)[:, 0] == pytest.approx(expected)


def test_with_lambda_1_they_are_returns_minus_values() -> None:
    rewards, values = RNG.normal(size=(3, 4)), RNG.normal(size=(3, 4))
    discounts = np.array([[0.9] * 4, [0.8] * 4, [0.0] * 4])
    returns = rewards[0] + 0.9 * (rewards[1] + 0.8 * rewards[2])
    assert compute_advantages(rewards, values, discounts, lam=1.0)[0] == pytest.approx(
        returns - values[0]
    )


def test_an_illegal_action_has_no_probability_and_no_gradient() -> None:
    steps = draw_batch()
    logits = RNG.normal(size=steps.legal.shape)
    shares = np.exp(compute_log_probabilities(logits, steps.legal))
    assert (shares[~steps.legal] == 0).all()
    assert shares.sum(axis=1) == pytest.approx(1)
    slope, _, _ = compute_policy_gradient(logits, steps, clip=0.2, entropy=0.1)
    assert (slope[~steps.legal] == 0).all()


def test_the_gradient_of_the_clipped_loss_is_its_slope() -> None:
    steps = draw_batch()
    logits = RNG.normal(size=steps.legal.shape)

    def compute_loss(at: Vector) -> float:
        return compute_policy_gradient(at, steps, clip=0.2, entropy=0.1, prior=0.3)[1]

    slope, _, _ = compute_policy_gradient(logits, steps, clip=0.2, entropy=0.1, prior=0.3)
    assert slope == pytest.approx(estimate_gradient(compute_loss, logits), abs=1e-6)


def test_a_ratio_counts_up_to_the_clip_only() -> None:
    steps = draw_batch(count=1)
    far = SampledSteps(
        steps.inputs,
        np.ones((1, 4), dtype=bool),
        steps.actions,
        np.array([-9.0]),  # far likelier now than when it was chosen
        np.array([1.0]),
        steps.returns,
        steps.guided,
    )
    slope, loss, _ = compute_policy_gradient(np.array([[3.0, 0, 0, 0]]), far, clip=0.2, entropy=0.0)
    assert (slope == 0).all()
    assert loss == pytest.approx(-1.2)


def test_the_gradients_of_a_network_are_its_slopes() -> None:
    network = Network.from_sizes((3, 5, 2), 1.0, RNG)
    inputs, pull = RNG.normal(size=(4, 3)), RNG.normal(size=(4, 2))
    _, forward_state = network.forward(inputs)
    gradients = network.backward(forward_state, pull)
    for array, gradient in zip(network.list_arrays(), gradients, strict=True):
        saved = array.copy()

        def compute_loss(values: Vector, array: Vector = array) -> float:
            array[...] = values
            return float((network.forward(inputs)[0] * pull).sum())

        assert gradient == pytest.approx(estimate_gradient(compute_loss, saved), abs=1e-6)
        array[...] = saved


def test_it_learns_the_best_action_for_each_kind_of_question() -> None:
    world = Environment.from_questions(make_questions(60), Reward(alpha=0.05))
    learner = Learner.from_environment(world, SHORT)
    curve = list(learner.learn())
    earned = world.follow(learner.choose_actions(world)).earned.mean()
    best_fixed = max(
        world.follow(world.choose_sequence(sequence)).earned.mean()
        for sequence in ((), ("bridge",), ("split",), ("debate",), ("bridge", "split"))
    )
    oracle = world.follow(world.choose_in_hindsight()).earned.mean()
    assert earned > best_fixed + 0.1
    assert earned == pytest.approx(oracle, abs=0.02)
    assert curve[-1].earned > curve[0].earned + 0.3
    assert curve[-1].entropy < curve[0].entropy


def test_the_seed_determines_the_numbers() -> None:
    world = Environment.from_questions(make_questions(20), Reward())
    quick = Training(updates=3, episodes=64)

    def train(seed: int) -> list[Vector]:
        learner = Learner.from_environment(world, Training(updates=3, episodes=64, seed=seed))
        list(learner.learn())
        return learner.actor.list_arrays()

    assert quick.seed == 0
    assert all((weights == other).all() for weights, other in zip(train(0), train(0), strict=True))
    assert any((weights != other).any() for weights, other in zip(train(0), train(1), strict=True))


def test_a_discount_devalues_long_ways() -> None:
    """Both executors answer at equal cost, but splitting waits: the quick one is learned."""
    recorded = []
    for question in make_questions(20):
        outcomes = [
            replace(
                outcome,
                f1=float(outcome.tried in {("bridge",), ("split",)}),
                retrievals=1,
                waits=3 * ("split" in outcome.tried),
            )
            for outcome in question.outcomes
        ]
        recorded.append(replace(question, answerable=True, outcomes=tuple(outcomes)))
    world = Environment.from_questions(recorded, Reward(alpha=0.0, gamma=0.8))
    learner = Learner.from_environment(world, SHORT)
    list(learner.learn())
    assert set(world.follow(learner.choose_actions(world)).sequences) == {("bridge", "stop")}


def test_it_follows_the_rules_if_the_data_are_silent() -> None:
    """Nothing earns anything; the rules show the sure half and work on the other."""
    plain = {"alternatives": 0.0, "parallel": 1.0, "serial": 1.0, "names": 0.0}
    nothing = []
    for number, question in enumerate(make_questions(40)):
        features = {**plain, "confidence": 0.9 if number % 2 else 0.1}
        outcomes = [
            replace(
                outcome, f1=0.0, retrievals=1, waits=0, features={**outcome.features, **features}
            )
            for outcome in question.outcomes
        ]
        nothing.append(replace(question, answerable=True, outcomes=tuple(outcomes)))
    world = Environment.from_questions(nothing, Reward(alpha=0.0))
    learner = Learner.from_environment(world, replace(SHORT, prior=0.1))
    list(learner.learn())
    sequences = world.follow(learner.choose_actions(world)).sequences
    assert sequences == world.follow(world.choose_by(world.process.choose_by_rules)).sequences
    assert len(set(sequences)) == 2
