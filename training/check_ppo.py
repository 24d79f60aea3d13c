"""A check of Fathom's PPO against MaskablePPO of sb3-contrib, on the same recorded outcomes.

    nice python -m training.check_ppo --records FILE [--seeds 3]

Needs stable-baselines3 and sb3-contrib beside torch, in an environment of their own: nothing of
Fathom does. Both learn with the same network, rates and sizes of batches, without noise and decay
of weights; printed is the mean reward of what each then chooses, and of hindsight. What came of it
is in experiments/LOG.md.
"""

import argparse
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import gymnasium
import numpy as np
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import DummyVecEnv
from torch.nn import Tanh

from fathom.evaluation.outcomes import OutcomeFile
from fathom.planner.environment import END, Environment, Mask, Reward
from fathom.planner.observation import Vector
from fathom.planner.ppo import Learner, Training

SAME = Training(
    prior=0.0, noise=0.0, decay=0.0, hidden=(32,), updates=100, episodes=256, minibatch=256
)
WORLDS = 8
"""Episodes that MaskablePPO walks at a time."""


class Walk(gymnasium.Env[Any, Any]):
    """The table as an environment of Gymnasium, one episode at a time."""

    def __init__(self, environment: Environment, learner: Learner, seed: int) -> None:
        self.world, self.rng = environment, np.random.default_rng(seed)
        observations = (environment.inputs - learner.mean) / learner.spread
        self.seen = observations.astype(np.float32)
        self.state = 0
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (observations.shape[1],))
        self.action_space = gymnasium.spaces.Discrete(len(environment.actions))

    def reset(self, **_: object) -> tuple[Vector, dict[str, object]]:
        """Start at a random question."""
        self.state = int(self.rng.choice(self.world.starts))
        return self.seen[self.state], {}

    def step(self, action: int) -> tuple[Vector, float, bool, bool, dict[str, object]]:
        """Take one action."""
        earned = float(self.world.rewards[self.state, action])
        after = int(self.world.after[self.state, action])
        ended = after == END
        if not ended:
            self.state = after
        return self.seen[self.state], earned, ended, False, {}

    def action_masks(self) -> Mask:
        """Return the legal actions; MaskablePPO calls the method by this name."""
        return self.world.legal[self.state]


def train_reference(world: Environment, seed: int) -> float:
    """Return the earnings of MaskablePPO's choices."""
    learner = Learner.from_environment(world, SAME)
    walks = DummyVecEnv(
        [lambda at=at: Walk(world, learner, 100 * seed + at) for at in range(WORLDS)]
    )
    network = {"net_arch": list(SAME.hidden), "activation_fn": Tanh}
    steps = SAME.episodes // WORLDS
    model = MaskablePPO(
        "MlpPolicy",
        walks,
        learning_rate=lambda progress: SAME.rate * progress,
        n_steps=steps,
        batch_size=SAME.minibatch,
        n_epochs=SAME.epochs,
        gamma=world.reward.gamma,
        gae_lambda=SAME.lam,
        clip_range=SAME.clip,
        ent_coef=SAME.entropy,
        vf_coef=SAME.value,
        max_grad_norm=SAME.norm,
        policy_kwargs=network,
        seed=seed,
        device="cpu",
    )
    model.learn(SAME.updates * SAME.episodes)
    observations = Walk(world, learner, 0).seen
    choices, _ = model.predict(observations, deterministic=True, action_masks=world.legal)
    return float(world.follow(np.asarray(choices, dtype=np.int64)).earned.mean())


def train_own(world: Environment, seed: int) -> float:
    """Return the earnings of the package's own choices; as many steps are sampled."""
    walks = SAME.episodes // 2  # two steps a walk, about
    learner = Learner.from_environment(world, replace(SAME, seed=seed, episodes=walks))
    for _ in learner.learn():
        pass
    return float(world.follow(learner.choose_actions(world)).earned.mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--alphas", type=float, nargs="*", default=[0.0, 0.1])
    arguments = parser.parse_args()
    questions = OutcomeFile(arguments.records).list_questions()
    for alpha in arguments.alphas:
        world = Environment.from_questions(questions, Reward(alpha=alpha, gamma=1.0))
        best = world.follow(world.choose_in_hindsight()).earned.mean()
        look = world.follow(world.choose_sequence(())).earned.mean()
        earned = [train_own(world, seed) for seed in range(arguments.seeds)]
        other = [train_reference(world, seed) for seed in range(arguments.seeds)]
        print(
            f"alpha {alpha:g}, {len(questions)} questions: "
            f"ours {fmean(earned):.4f} {_format_list(earned)}, "
            f"MaskablePPO {fmean(other):.4f} {_format_list(other)}, hindsight {best:.4f}, "
            f"first look alone {look:.4f}",
            flush=True,
        )


def _format_list(values: list[float]) -> str:
    return "(" + ", ".join(f"{value:.4f}" for value in values) + ")"


if __name__ == "__main__":
    main()
