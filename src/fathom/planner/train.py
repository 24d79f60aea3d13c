"""Training of a policy on recorded outcomes; equal inputs and seeds give equal policies."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fathom.jsonable import dump_canonical, hash_text
from fathom.planner.environment import Environment, RecordedQuestion, Reward
from fathom.planner.network import Layer, PolicyNetwork
from fathom.planner.ppo import Learner, Training, TrainingProgress

ALPHAS = (0.0, 0.05, 0.1, 0.2, 0.3)
"""The values of alpha that MAO-ARAG sweeps."""
CHECKPOINT = 50
"""The number of updates between two checkpoints."""

OnUpdate = Callable[[TrainingProgress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRun:
    """A trained policy, with the course of its training.

    Attributes:
        policy: The trained policy, as it is exported.
        curve: The progress after each update.
        learner: The trained learner, which can choose in all states of an environment at once.
    """

    policy: PolicyNetwork
    curve: tuple[TrainingProgress, ...]
    learner: Learner


def train_policy(
    questions: Sequence[RecordedQuestion],
    reward: Reward,
    training: Training,
    *,
    origin: Mapping[str, Any] | None = None,
    checkpoints: Path | None = None,
    on_update: OnUpdate = lambda _: None,
) -> TrainingRun:
    """Train a policy by PPO on recorded outcomes, without calls of a model or an index.

    Args:
        questions: The recorded questions.
        reward: The reward of an episode.
        training: The hyperparameters, with the seed of all random numbers.
        origin: Further facts to record in the origin of the policy.
        checkpoints: An existing folder that gets the policy every `CHECKPOINT` updates; `None` for
            no checkpoints.
        on_update: A function that is called with the progress after each update.

    Raises:
        UsageError: If outcomes are missing.
    """
    environment = Environment.from_questions(questions, reward)
    learner = Learner.from_environment(environment, training)
    full_origin = {
        "data": count_by_dataset(questions),
        "fingerprint": compute_fingerprint(questions),
        "reward": asdict(reward),
        "training": asdict(training),
        **(origin or {}),
    }
    curve: list[TrainingProgress] = []
    for progress in learner.learn():
        curve.append(progress)
        on_update(progress)
        if checkpoints is not None and progress.update % CHECKPOINT == 0:
            file = checkpoints / f"policy-{progress.update:05d}.json"
            file.write_text(export_policy(learner, full_origin).to_json(), encoding="utf-8")
    return TrainingRun(
        policy=export_policy(learner, full_origin), curve=tuple(curve), learner=learner
    )


def export_policy(learner: Learner, origin: Mapping[str, Any]) -> PolicyNetwork:
    """Return the policy learned so far, without the columns that never vary."""
    varied = learner.environment.inputs.std(axis=0) > 0
    first, offset = learner.actor.layers[0]
    varying_weights, constant_weights = first[varied], first[~varied]
    # A column that never varies contributes a constant, which becomes a part of the offset.
    constant = (learner.environment.inputs[0] - learner.mean) / learner.spread
    layers = [
        (varying_weights, offset + constant[~varied] @ constant_weights),
        *learner.actor.layers[1:],
    ]
    environment = learner.environment
    names = zip(environment.process.columns, varied, strict=True)
    return PolicyNetwork(
        strategy=environment.process.strategy,
        columns=tuple(name for name, varies in names if varies),
        mean=learner.mean[varied],
        spread=learner.spread[varied],
        layers=tuple(Layer(weights=weights, offset=offset) for weights, offset in layers),
        actions=environment.actions,
        most=environment.most,
        origin=origin,
    )


def count_by_dataset(questions: Sequence[RecordedQuestion]) -> dict[str, int]:
    """Return the number of questions of each data set."""
    names = [question.dataset for question in questions]
    return {name: names.count(name) for name in dict.fromkeys(names)}


def compute_fingerprint(questions: Sequence[RecordedQuestion]) -> str:
    """Return a digest of the outcomes, independent of the machine and time of the recording."""
    records = [question.to_json() for question in questions]
    for question in records:
        # A rebuilt index has another revision, and older records have no digest of the question.
        del question["setup"], question["asked"]
        for outcome in question["outcomes"]:
            del outcome["seconds"]
    return hash_text(dump_canonical(records))[:16]
