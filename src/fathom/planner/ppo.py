"""Proximal policy optimisation, as pure functions over arrays (Schulman et al., arXiv 1707.06347).

Small on purpose: a network of a few thousand numbers, episodes of a few turns, float64, no thread
of its own; the same seed gives the same numbers on the same machine. Advantages are generalised
(GAE, arXiv 1506.02438), with a discount for each turn an action takes (a semi-Markov process, as
MAO-ARAG has it); what may not be chosen gets no probability and no gradient (arXiv 2006.14171).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from fathom.planner.environment import END, Environment, Mask, Places
from fathom.planner.features import Vector
from fathom.planner.policy import RulePolicy

_MASKED = -1e9
_SMALL = 1e-8


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """How PPO trains; the names are those of the paper and of common implementations.

    Attributes:
        hidden: Sizes of the hidden layers; of the policy's network and of the critic's.
        updates: Rounds of sampling and learning.
        episodes: Walks that are sampled in each.
        epochs: How often a round's steps are gone through.
        minibatch: Steps a gradient is taken of.
        rate: Of learning, of Adam; falls to 0 in equal steps.
        clip: A ratio of probabilities counts no further than this from 1.
        entropy: Weight of the entropy of choices.
        value: Weight of the critic's loss.
        lam: Of GAE.
        decay: Of weights, a step, as a share of the rate.
        noise: Standard deviation of what is added to each standardised column while learning, so
            that a question put a little differently is treated alike.
        norm: Longest gradient.
        prior: Weight of doing as the guide does: what the data do not speak against stays so.
        seed: Of everything that is drawn.
    """

    hidden: tuple[int, ...] = (32,)
    updates: int = 150
    episodes: int = 512
    epochs: int = 4
    minibatch: int = 256
    rate: float = 3e-3
    clip: float = 0.2
    entropy: float = 0.01
    value: float = 0.5
    lam: float = 0.95
    decay: float = 0.02
    noise: float = 0.3
    norm: float = 0.5
    prior: float = 0.1
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Network:
    """Layers with tanh between them; a list of (weights, offset)."""

    layers: list[tuple[Vector, Vector]]

    @classmethod
    def made(cls, sizes: tuple[int, ...], last: float, rng: np.random.Generator) -> "Network":
        """Orthogonal weights, offsets of 0; `last` scales the last layer."""
        layers = []
        for number, (rows, columns) in enumerate(pairwise(sizes)):
            scale = last if number == len(sizes) - 2 else np.sqrt(2)
            drawn = rng.normal(size=(max(rows, columns), min(rows, columns)))
            basis, upper = np.linalg.qr(drawn)
            basis = basis * np.sign(np.diag(upper))
            weights = basis if rows >= columns else basis.T
            layers.append((scale * weights, np.zeros(columns)))
        return cls(layers)

    def forward(self, inputs: Vector) -> tuple[Vector, list[Vector]]:
        """The outputs, and what each layer was given."""
        given, inner = [inputs], inputs
        for weights, offset in self.layers[:-1]:
            inner = np.tanh(inner @ weights + offset)
            given.append(inner)
        weights, offset = self.layers[-1]
        return inner @ weights + offset, given

    def backward(self, given: list[Vector], slope: Vector) -> list[Vector]:
        """The gradient of each array, in the order of `arrays`, from that of the outputs."""
        found: list[Vector] = []
        for number in range(len(self.layers) - 1, -1, -1):
            weights, _ = self.layers[number]
            found = [given[number].T @ slope, slope.sum(axis=0), *found]
            if number:
                slope = (slope @ weights.T) * (1 - given[number] ** 2)
        return found

    def arrays(self) -> list[Vector]:
        """All its arrays; changing them changes the network."""
        return [array for layer in self.layers for array in layer]


@dataclass(slots=True)
class Adam:
    """Adam with decoupled decay of weights (arXiv 1711.05101), in place."""

    arrays: list[Vector]
    decay: float
    step: int = 0
    means: list[Vector] = field(default_factory=list)
    squares: list[Vector] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.means = [np.zeros_like(array) for array in self.arrays]
        self.squares = [np.zeros_like(array) for array in self.arrays]

    def update(self, gradients: list[Vector], rate: float) -> None:
        """One step against the gradients."""
        self.step += 1
        first, second = 1 - 0.9**self.step, 1 - 0.999**self.step
        for at, gradient in enumerate(gradients):
            self.means[at] += 0.1 * (gradient - self.means[at])
            self.squares[at] += 0.001 * (gradient**2 - self.squares[at])
            scale = np.sqrt(self.squares[at] / second) + _SMALL
            self.arrays[at] -= rate * (self.means[at] / first) / scale
            if gradient.ndim > 1:
                self.arrays[at] *= 1 - rate * self.decay


@dataclass(frozen=True, slots=True)
class Steps:
    """What was sampled: one row for each choice."""

    inputs: Vector
    legal: Mask
    actions: Places
    logs: Vector
    advantages: Vector
    returns: Vector
    guided: Places

    def rows(self, places: Places) -> "Steps":
        """Some of them."""
        return Steps(
            self.inputs[places],
            self.legal[places],
            self.actions[places],
            self.logs[places],
            self.advantages[places],
            self.returns[places],
            self.guided[places],
        )


def log_probabilities(logits: Vector, legal: Mask) -> Vector:
    """Of every action; of one that is not legal so low that its probability is 0."""
    kept = np.where(legal, logits, _MASKED)
    kept = kept - kept.max(axis=1, keepdims=True)
    return np.asarray(kept - np.log(np.exp(kept).sum(axis=1, keepdims=True)), dtype=np.float64)


def gae(rewards: Vector, values: Vector, discounts: Vector, *, lam: float) -> Vector:
    """Generalised advantages of episodes that all end within the rows.

    Args:
        rewards: Turns x episodes; 0 after the end.
        values: The critic's, of the state in which each was earned; 0 after the end.
        discounts: gamma to the number of turns that the action took; 0 where it ended the episode.
        lam: How much later differences count.
    """
    advantages = np.zeros_like(rewards)
    following = np.zeros(rewards.shape[1])
    next_value = np.zeros(rewards.shape[1])
    for turn in range(len(rewards) - 1, -1, -1):
        delta = rewards[turn] + discounts[turn] * next_value - values[turn]
        following = delta + discounts[turn] * lam * following
        advantages[turn] = following
        next_value = values[turn]
    return advantages


def policy_slope(
    logits: Vector, steps: Steps, *, clip: float, entropy: float, prior: float = 0.0
) -> tuple[Vector, float, float]:
    """The gradient of PPO's clipped loss, less the weighted entropy, in the logits.

    With a prior the weighted cross-entropy to what the guide would choose is added.

    Returns:
        The gradient of the mean, the loss, and the mean entropy.
    """
    rows = np.arange(len(steps.actions))
    logs = log_probabilities(logits, steps.legal)
    shares = np.exp(logs)
    ratio = np.exp(logs[rows, steps.actions] - steps.logs)
    plain, bounded = ratio * steps.advantages, np.clip(ratio, 1 - clip, 1 + clip)
    clipped = bounded * steps.advantages
    spread = -np.where(steps.legal, shares * logs, 0.0).sum(axis=1)
    loss = -np.minimum(plain, clipped).mean() - entropy * spread.mean()
    loss -= prior * logs[rows, steps.guided].mean()
    pull = np.where(plain <= clipped, plain, 0.0)  # no slope where the clip holds
    chosen = np.zeros_like(logits)
    chosen[rows, steps.actions] = 1.0
    slope = -pull[:, None] * (chosen - shares)
    slope += entropy * np.where(steps.legal, shares * (logs + spread[:, None]), 0.0)
    wanted = np.zeros_like(logits)
    wanted[rows, steps.guided] = 1.0
    slope -= prior * (wanted - shares)
    return slope / len(rows), float(loss), float(spread.mean())


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where training stands after an update.

    Attributes:
        update: From 1.
        earned: Mean reward of the sampled walks, without discount.
        entropy: Mean entropy of the choices, in nats.
        loss: Of the policy.
    """

    update: int
    earned: float
    entropy: float
    loss: float


@dataclass(frozen=True, kw_only=True)
class Learner:
    """A policy that learns in an environment.

    Attributes:
        mean: Of each column over the states.
        spread: Standard deviation of each column over the states.
        guide: What the rules would choose in each state.
    """

    environment: Environment
    training: Training
    mean: Vector
    spread: Vector
    actor: Network
    critic: Network
    guide: Places
    rng: np.random.Generator

    @classmethod
    def of(cls, environment: Environment, training: Training) -> "Learner":
        """One that knows nothing yet."""
        rng = np.random.default_rng(training.seed)
        inputs = environment.inputs
        sizes = (inputs.shape[1], *training.hidden)
        return cls(
            environment=environment,
            training=training,
            mean=inputs.mean(axis=0),
            spread=np.maximum(inputs.std(axis=0), 0.05),
            actor=Network.made((*sizes, len(environment.actions)), 0.01, rng),
            critic=Network.made((*sizes, 1), 1.0, rng),
            guide=environment.choices(RulePolicy()),
            rng=rng,
        )

    def choices(self, environment: Environment) -> Places:
        """The likeliest legal action in every state of an environment."""
        logits, _ = self.actor.forward((environment.inputs - self.mean) / self.spread)
        logs = np.round(log_probabilities(logits, environment.legal), 9)
        return np.asarray(np.argmax(logs, axis=1), dtype=np.int64)

    def learn(self) -> Iterator[Progress]:
        """Train, and say after each update where it stands."""
        own = self.training
        arrays = [*self.actor.arrays(), *self.critic.arrays()]
        adam = Adam(arrays, own.decay)
        for update in range(own.updates):
            rate = own.rate * (1 - update / own.updates)
            steps, earned = self._sampled()
            loss = spread = 0.0
            for _ in range(own.epochs):
                for places in self._batches(len(steps.actions)):
                    gradients, loss, spread = self._gradients(steps.rows(places))
                    adam.update(_shortened(gradients, own.norm), rate)
            yield Progress(update=update + 1, earned=earned, entropy=spread, loss=loss)

    def _sampled(self) -> tuple[Steps, float]:
        """Walks by the policy as it is, with the mean of what they earned."""
        world, own = self.environment, self.training
        episodes, longest = own.episodes, world.most + 1
        shape = (longest, episodes)
        now = self.rng.choice(world.starts, size=episodes)
        running = np.zeros(shape, dtype=bool)
        states, actions = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        rewards, values, discounts, logs = (np.zeros(shape) for _ in range(4))
        inputs = np.zeros((*shape, world.inputs.shape[1]))
        for turn in range(longest):
            on = now != END
            here = np.where(on, now, 0)
            seen = (world.inputs[here] - self.mean) / self.spread
            seen = seen + own.noise * self.rng.normal(size=seen.shape)
            likely = log_probabilities(self.actor.forward(seen)[0], world.legal[here])
            drawn = -np.log(-np.log(self.rng.uniform(_SMALL, 1 - _SMALL, size=likely.shape)))
            chosen = np.argmax(np.where(world.legal[here], likely + drawn, -np.inf), axis=1)
            ahead = world.after[here, chosen]
            running[turn], states[turn], actions[turn], inputs[turn] = on, here, chosen, seen
            logs[turn] = likely[np.arange(episodes), chosen]
            values[turn] = np.where(on, self.critic.forward(seen)[0][:, 0], 0.0)
            rewards[turn] = np.where(on, world.rewards[here, chosen], 0.0)
            lasts = world.reward.gamma ** world.turns[here, chosen]
            discounts[turn] = np.where(on & (ahead != END), lasts, 0.0)
            now = np.where(on, ahead, END)
        advantages = gae(rewards, values, discounts, lam=own.lam)
        returns = (advantages + values)[running]
        flat = advantages[running]
        flat = (flat - flat.mean()) / (flat.std() + _SMALL)
        steps = Steps(
            inputs[running],
            world.legal[states[running]],
            actions[running],
            logs[running],
            flat,
            returns,
            self.guide[states[running]],
        )
        return steps, float(rewards.sum(axis=0).mean())

    def _batches(self, count: int) -> Iterator[Places]:
        order = self.rng.permutation(count)
        for start in range(0, count, self.training.minibatch):
            yield order[start : start + self.training.minibatch]

    def _gradients(self, steps: Steps) -> tuple[list[Vector], float, float]:
        own = self.training
        logits, given = self.actor.forward(steps.inputs)
        slope, loss, spread = policy_slope(
            logits, steps, clip=own.clip, entropy=own.entropy, prior=own.prior
        )
        judged, seen = self.critic.forward(steps.inputs)
        miss = (judged[:, 0] - steps.returns) / len(steps.returns)
        gradients = self.actor.backward(given, slope)
        gradients += self.critic.backward(seen, own.value * 2 * miss[:, None])
        return gradients, loss, spread


def _shortened(gradients: list[Vector], longest: float) -> list[Vector]:
    length = float(np.sqrt(sum((each**2).sum() for each in gradients)))
    return [each * min(1.0, longest / (length + _SMALL)) for each in gradients]
