import json
from dataclasses import replace
from pathlib import Path

import numpy as np
from tests.planner.worlds import make_questions

from fathom.planner.environment import Environment, Reward
from fathom.planner.network import MAX_POLICY_BYTES, PolicyNetwork
from fathom.planner.observation import COLUMNS
from fathom.planner.ppo import Training
from fathom.planner.train import TrainingRun, compute_fingerprint, train_policy

QUICK = Training(updates=100, episodes=64)
RECORDED = make_questions(20)


def train(training: Training = QUICK, **options: object) -> TrainingRun:
    return train_policy(RECORDED, Reward(), replace(training, **options))  # type: ignore[arg-type]


def test_the_seed_determines_the_policy_byte_for_byte() -> None:
    quick = replace(QUICK, updates=4)
    assert train(quick).policy.to_json() == train(quick).policy.to_json()
    assert train(quick).policy.to_json() != train(quick, seed=1).policy.to_json()


def test_a_policy_is_small_and_names_its_origin() -> None:
    done = train_policy(
        RECORDED, Reward(alpha=0.2), replace(QUICK, updates=2), origin={"commit": "abc"}
    )
    text = done.policy.to_json()
    assert len(text.encode()) <= MAX_POLICY_BYTES
    origin = json.loads(text)["origin"]
    assert origin["data"] == {"even": 10, "odd": 10}
    assert origin["reward"]["alpha"] == 0.2
    assert origin["training"]["updates"] == 2
    assert origin["commit"] == "abc"
    assert origin["fingerprint"] == compute_fingerprint(RECORDED)


def test_the_fingerprint_covers_the_outcomes_but_not_their_seconds() -> None:
    first, *rest = RECORDED
    slower = [replace(outcome, seconds=9.0) for outcome in first.outcomes]
    other = [replace(outcome, f1=0.5) for outcome in first.outcomes]
    assert compute_fingerprint(
        [replace(first, outcomes=tuple(slower)), *rest]
    ) == compute_fingerprint(RECORDED)
    assert compute_fingerprint(
        [replace(first, outcomes=tuple(other)), *rest]
    ) != compute_fingerprint(RECORDED)


def test_progress_is_reported_and_checkpoints_are_kept(tmp_path: Path) -> None:
    updates: list[int] = []
    done = train_policy(
        RECORDED,
        Reward(),
        QUICK,
        checkpoints=tmp_path,
        on_update=lambda progress: updates.append(progress.update),
    )
    assert updates == list(range(1, 101))
    assert [point.update for point in done.curve] == updates
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["policy-00050.json", "policy-00100.json"]
    assert files[1].read_text() == done.policy.to_json()
    assert files[0].read_text() != files[1].read_text()


def test_the_exported_policy_chooses_like_the_trained_one() -> None:
    done = train()
    world = Environment.from_questions(RECORDED, Reward())
    again = PolicyNetwork.from_json(done.policy.to_json())
    places = [list(COLUMNS).index(name) for name in again.columns]
    logits = np.array([again.compute_logits(row[places]) for row in world.inputs])
    likeliest = np.argmax(np.where(world.legal, logits, -np.inf), axis=1)
    assert (likeliest == done.learner.choose_actions(world)).all()


def test_constant_columns_are_left_out() -> None:
    constant = [
        replace(
            question,
            outcomes=tuple(
                replace(outcome, features={**outcome.features, "left": 1.0})
                for outcome in question.outcomes
            ),
        )
        for question in RECORDED
    ]
    policy = train_policy(constant, Reward(), replace(QUICK, updates=1)).policy
    assert "left" not in policy.columns
    assert "serial" in policy.columns
