"""Trains a policy on recorded outcomes; the same outcomes, settings and seed give the same one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fathom.jsonable import canonical, digest
from fathom.planner.environment import Environment, RecordedQuestion, Reward
from fathom.planner.features import COLUMNS
from fathom.planner.policy import Layer, LearnedPolicy
from fathom.planner.ppo import Learner, Progress, Training

ALPHAS = (0.0, 0.05, 0.1, 0.2, 0.3)
"""Those that MAO-ARAG sweeps."""
CHECKPOINT = 50
"""Updates between two checkpoints."""

OnUpdate = Callable[[Progress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """A policy, and how it came to be.

    Attributes:
        curve: Where training stood after each update.
        learner: What was trained; chooses for a whole environment at once.
    """

    policy: LearnedPolicy
    curve: tuple[Progress, ...]
    learner: Learner


def train(
    questions: Sequence[RecordedQuestion],
    reward: Reward,
    training: Training,
    *,
    origin: Mapping[str, Any] | None = None,
    checkpoints: Path | None = None,
    on_update: OnUpdate = lambda _: None,
) -> Trained:
    """Train a policy by PPO on what was recorded; nothing else is asked.

    Args:
        questions: What was recorded.
        reward: What it earns.
        training: How it is trained, with the seed of everything that is drawn.
        origin: What the policy is to say of where it came from, beside what is known here.
        checkpoints: A folder that keeps the policy every `CHECKPOINT` updates.
        on_update: Told where training stands, after each update.

    Raises:
        UsageError: If outcomes are lacking.
    """
    environment = Environment.of(questions, reward)
    learner = Learner.of(environment, training)
    told = {
        "data": counts_of(questions),
        "fingerprint": fingerprint(questions),
        "reward": asdict(reward),
        "training": asdict(training),
        **(origin or {}),
    }
    curve: list[Progress] = []
    for progress in learner.learn():
        curve.append(progress)
        on_update(progress)
        if checkpoints is not None and progress.update % CHECKPOINT == 0:
            file = checkpoints / f"policy-{progress.update:05d}.json"
            file.write_text(policy_of(learner, told).to_json(), encoding="utf-8")
    return Trained(policy=policy_of(learner, told), curve=tuple(curve), learner=learner)


def policy_of(learner: Learner, origin: Mapping[str, Any]) -> LearnedPolicy:
    """What has been learned so far, as a policy; columns that never differ are left out."""
    varied = learner.environment.inputs.std(axis=0) > 0
    first, offset = learner.actor.layers[0]
    kept, fixed = first[varied], first[~varied]
    # What a column that never differs adds is a part of the offset: nothing, as it is standardised.
    constant = (learner.environment.inputs[0] - learner.mean) / learner.spread
    layers = [(kept, offset + constant[~varied] @ fixed), *learner.actor.layers[1:]]
    return LearnedPolicy(
        columns=tuple(name for name, used in zip(COLUMNS, varied, strict=True) if used),
        mean=learner.mean[varied],
        spread=learner.spread[varied],
        layers=tuple(Layer(weights=weights, offset=offset) for weights, offset in layers),
        actions=learner.environment.actions,
        most=learner.environment.most,
        origin=origin,
    )


def counts_of(questions: Sequence[RecordedQuestion]) -> dict[str, int]:
    """How many questions there are of each data set."""
    names = [question.dataset for question in questions]
    return {name: names.count(name) for name in dict.fromkeys(names)}


def fingerprint(questions: Sequence[RecordedQuestion]) -> str:
    """The same for the same outcomes, whatever machine and time they were recorded on."""
    told = [question.to_json() for question in questions]
    for question in told:
        del question["setup"]  # an index made anew has another revision
        for outcome in question["outcomes"]:
            del outcome["seconds"]
    return digest(canonical(told))[:16]
