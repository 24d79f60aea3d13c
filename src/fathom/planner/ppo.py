"""Proximal policy optimisation (PPO) in numpy (Schulman et al., arXiv 1707.06347).

It is small on purpose: a network of a few thousand numbers, episodes of a few turns, float64, no
threads of its own. The same seed gives the same numbers on the same machine. Advantages are
generalised (GAE, arXiv 1506.02438), with a discount for each turn that an action takes (a
semi-Markov process, as in MAO-ARAG, section 3.1). An illegal action gets no probability and no
gradient (arXiv 2006.14171).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from fathom.planner.environment import END, Environment, Mask, Places
from fathom.planner.observation import Vector

_MASKED = -1e9
"""The logit of an illegal action, so low that its probability is exactly 0."""
_SMALL = 1e-8
"""A number that keeps divisors and the arguments of logarithms away from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """The hyperparameters of PPO, named as in the paper and in common implementations.

    Attributes:
        hidden: The sizes of the hidden layers, the same for actor and critic.
        updates: The number of updates, each of which samples episodes and learns from them.
        episodes: The number of episodes that an update samples.
        epochs: The number of passes over the steps of these episodes.
        minibatch: The number of steps for one gradient.
        rate: The first learning rate of Adam; it falls towards 0 in equal steps.
        clip: The distance from 1 beyond which a ratio of probabilities earns no more.
        entropy: The weight of the entropy of the choices.
        value: The weight of the critic's loss.
        lam: The lambda of GAE, in [0, 1].
        decay: The decay of the weights in each step, as a multiple of the rate.
        noise: The standard deviation of the noise that is added to each standardised column while
            learning, so that a slightly different question is treated alike.
        norm: The largest norm of a gradient.
        prior: The weight of imitating the rules, which decide if the outcomes say nothing.
        seed: The seed of all random numbers.
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
    """A network with tanh between its layers.

    Attributes:
        layers: The weights (inputs x outputs) and the offset of each layer.
    """

    layers: list[tuple[Vector, Vector]]

    @classmethod
    def from_sizes(cls, sizes: tuple[int, ...], last: float, rng: np.random.Generator) -> "Network":
        """Build a network of orthogonal weights and offsets of 0.

        Args:
            sizes: The number of inputs, then the number of outputs of each layer.
            last: The scale of the last layer's weights; it is the root of 2 for the others.
            rng: The source of random numbers.
        """
        layers = []
        for number, (rows, columns) in enumerate(pairwise(sizes)):
            scale = last if number == len(sizes) - 2 else np.sqrt(2)
            sample = rng.normal(size=(max(rows, columns), min(rows, columns)))
            basis, upper = np.linalg.qr(sample)
            # A QR decomposition is unique up to signs; this choice draws uniformly from all
            # orthogonal matrices.
            basis = basis * np.sign(np.diag(upper))
            weights = basis if rows >= columns else basis.T
            layers.append((scale * weights, np.zeros(columns)))
        return cls(layers)

    def forward(self, inputs: Vector) -> tuple[Vector, list[Vector]]:
        """Return the outputs, rows x outputs, and the input of each layer."""
        layer_inputs, hidden = [inputs], inputs
        for weights, offset in self.layers[:-1]:
            hidden = np.tanh(hidden @ weights + offset)
            layer_inputs.append(hidden)
        weights, offset = self.layers[-1]
        return hidden @ weights + offset, layer_inputs

    def backward(self, layer_inputs: list[Vector], gradient: Vector) -> list[Vector]:
        """Return the gradients of the arrays of `list_arrays`, in their order.

        Args:
            layer_inputs: The input of each layer, as `forward` returns it.
            gradient: The gradient of the outputs, rows x outputs.
        """
        gradients: list[Vector] = []
        for number in range(len(self.layers) - 1, -1, -1):
            weights, _ = self.layers[number]
            gradients = [layer_inputs[number].T @ gradient, gradient.sum(axis=0), *gradients]
            if number:
                gradient = (gradient @ weights.T) * (1 - layer_inputs[number] ** 2)
        return gradients

    def list_arrays(self) -> list[Vector]:
        """Return all arrays of the network, not copies: a change of them changes the network."""
        return [array for layer in self.layers for array in layer]


@dataclass(slots=True)
class Adam:
    """The optimiser Adam with decoupled weight decay (arXiv 1711.05101).

    Attributes:
        arrays: The arrays that it changes in place.
        decay: The decay of the weights in each step, as a multiple of the rate.
        step: The number of steps so far.
        means: The moving mean of the gradient of each array.
        squares: The moving mean of the squared gradient of each array.
    """

    arrays: list[Vector]
    decay: float
    step: int = 0
    means: list[Vector] = field(default_factory=list)
    squares: list[Vector] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.means = [np.zeros_like(array) for array in self.arrays]
        self.squares = [np.zeros_like(array) for array in self.arrays]

    def update(self, gradients: list[Vector], rate: float) -> None:
        """Take one step against the gradients."""
        self.step += 1
        first, second = 1 - 0.9**self.step, 1 - 0.999**self.step
        for place, gradient in enumerate(gradients):
            self.means[place] += 0.1 * (gradient - self.means[place])
            self.squares[place] += 0.001 * (gradient**2 - self.squares[place])
            scale = np.sqrt(self.squares[place] / second) + _SMALL
            self.arrays[place] -= rate * (self.means[place] / first) / scale
            # Only weights decay; offsets have one dimension.
            if gradient.ndim > 1:
                self.arrays[place] *= 1 - rate * self.decay


@dataclass(frozen=True, slots=True)
class SampledSteps:
    """The sampled steps, one row for each choice.

    Attributes:
        inputs: Rows x columns: the standardised columns with the noise.
        legal: Rows x actions: whether the action was legal.
        actions: The place of the chosen action.
        logs: The log probability of this action when it was sampled.
        advantages: The normalised advantage of this action.
        returns: The sum of advantage and value, which the critic learns.
        guided: The place of the action that the rules choose.
    """

    inputs: Vector
    legal: Mask
    actions: Places
    logs: Vector
    advantages: Vector
    returns: Vector
    guided: Places

    def select_rows(self, places: Places) -> "SampledSteps":
        """Return the steps at these places."""
        return SampledSteps(
            self.inputs[places],
            self.legal[places],
            self.actions[places],
            self.logs[places],
            self.advantages[places],
            self.returns[places],
            self.guided[places],
        )


def compute_log_probabilities(logits: Vector, legal: Mask) -> Vector:
    """Return the log probability of every action; that of an illegal one means exactly 0.

    Args:
        logits: Rows x actions.
        legal: Rows x actions: whether the action is legal.
    """
    masked = np.where(legal, logits, _MASKED)
    # The largest logit cancels out; without subtracting it, exp() could overflow.
    masked = masked - masked.max(axis=1, keepdims=True)
    return np.asarray(masked - np.log(np.exp(masked).sum(axis=1, keepdims=True)), dtype=np.float64)


def compute_advantages(rewards: Vector, values: Vector, discounts: Vector, *, lam: float) -> Vector:
    """Return the generalised advantages (GAE) of complete episodes.

    All arrays are choices x episodes, and 0 after the end of an episode.

    Args:
        rewards: The reward of each choice.
        values: The critic's value of the state of each choice.
        discounts: gamma to the power of the turns that the choice took; 0 if it ended the episode.
        lam: The weight of later differences, in [0, 1].
    """
    advantages = np.zeros_like(rewards)
    following = np.zeros(rewards.shape[1])
    next_value = np.zeros(rewards.shape[1])
    # The loop runs backwards, because each advantage includes the discounted one after it.
    for turn in range(len(rewards) - 1, -1, -1):
        delta = rewards[turn] + discounts[turn] * next_value - values[turn]
        following = delta + discounts[turn] * lam * following
        advantages[turn] = following
        next_value = values[turn]
    return advantages


def compute_policy_gradient(
    logits: Vector, steps: SampledSteps, *, clip: float, entropy: float, prior: float = 0.0
) -> tuple[Vector, float, float]:
    """Return the gradient of the policy's mean loss with respect to the logits.

    The loss is PPO's clipped loss, less `entropy` times the entropy of the choices, plus `prior`
    times the cross-entropy to the choices of the rules.

    Args:
        logits: Rows x actions.
        steps: The sampled steps, as many rows.
        clip: The distance from 1 beyond which a ratio of probabilities earns no more.
        entropy: The weight of the entropy.
        prior: The weight of the cross-entropy to the rules.

    Returns:
        The gradient, the mean loss, and the mean entropy in nats.
    """
    rows = np.arange(len(steps.actions))
    logs = compute_log_probabilities(logits, steps.legal)
    shares = np.exp(logs)
    ratio = np.exp(logs[rows, steps.actions] - steps.logs)
    unclipped, bounded = ratio * steps.advantages, np.clip(ratio, 1 - clip, 1 + clip)
    clipped = bounded * steps.advantages
    entropies = -np.where(steps.legal, shares * logs, 0.0).sum(axis=1)
    loss = -np.minimum(unclipped, clipped).mean() - entropy * entropies.mean()
    loss -= prior * logs[rows, steps.guided].mean()
    # A clipped term is constant, so it has no gradient.
    weights = np.where(unclipped <= clipped, unclipped, 0.0)
    chosen = np.zeros_like(logits)
    chosen[rows, steps.actions] = 1.0
    gradient = -weights[:, None] * (chosen - shares)
    gradient += entropy * np.where(steps.legal, shares * (logs + entropies[:, None]), 0.0)
    guided = np.zeros_like(logits)
    guided[rows, steps.guided] = 1.0
    gradient -= prior * (guided - shares)
    return gradient / len(rows), float(loss), float(entropies.mean())


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingProgress:
    """The state of training after an update.

    Attributes:
        update: The number of the update, from 1.
        earned: The mean reward of the sampled episodes, without discount.
        entropy: The mean entropy of the choices in the last minibatch, in nats.
        loss: The loss of the policy in the last minibatch.
    """

    update: int
    earned: float
    entropy: float
    loss: float


@dataclass(frozen=True, kw_only=True)
class Learner:
    """A policy that learns in an environment.

    Attributes:
        environment: The environment.
        training: The hyperparameters.
        mean: The mean of each column over the states.
        spread: The standard deviation of each column over the states, at least 0.05.
        actor: The network that gives a logit for each action.
        critic: The network that gives the value of a state.
        guide: The place of the rules' choice in each state.
        rng: The source of random numbers.
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
    def from_environment(cls, environment: Environment, training: Training) -> "Learner":
        """Build an untrained learner."""
        rng = np.random.default_rng(training.seed)
        inputs = environment.inputs
        sizes = (inputs.shape[1], *training.hidden)
        return cls(
            environment=environment,
            training=training,
            mean=inputs.mean(axis=0),
            # The floor keeps columns that hardly vary from dominating once they are divided by it.
            spread=np.maximum(inputs.std(axis=0), 0.05),
            # A small last layer makes the first policy nearly uniform.
            actor=Network.from_sizes((*sizes, len(environment.actions)), 0.01, rng),
            critic=Network.from_sizes((*sizes, 1), 1.0, rng),
            guide=environment.choose_by(environment.process.choose_by_rules),
            rng=rng,
        )

    def choose_actions(self, environment: Environment) -> Places:
        """Return the place of the likeliest legal action in every state of an environment."""
        logits, _ = self.actor.forward((environment.inputs - self.mean) / self.spread)
        logs = np.round(compute_log_probabilities(logits, environment.legal), 9)
        return np.asarray(np.argmax(logs, axis=1), dtype=np.int64)

    def learn(self) -> Iterator[TrainingProgress]:
        """Train the networks in place, and yield the progress after each update."""
        training = self.training
        arrays = [*self.actor.list_arrays(), *self.critic.list_arrays()]
        adam = Adam(arrays, training.decay)
        for update in range(training.updates):
            rate = training.rate * (1 - update / training.updates)
            steps, earned = self._sample_steps()
            loss = entropy = 0.0
            for _ in range(training.epochs):
                # New batches every epoch, so that no two steps always share a gradient.
                for places in self._iterate_batches(len(steps.actions)):
                    gradients, loss, entropy = self._compute_gradients(steps.select_rows(places))
                    adam.update(_clip_gradients(gradients, training.norm), rate)
            yield TrainingProgress(update=update + 1, earned=earned, entropy=entropy, loss=loss)

    def _sample_steps(self) -> tuple[SampledSteps, float]:
        """Sample episodes with the current policy; return their steps and their mean reward."""
        world, training = self.environment, self.training
        episodes, max_turns = training.episodes, world.most + 1
        shape = (max_turns, episodes)
        now = self.rng.choice(world.starts, size=episodes)
        running = np.zeros(shape, dtype=bool)
        states, actions = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        rewards, values, discounts, logs = (np.zeros(shape) for _ in range(4))
        inputs = np.zeros((*shape, world.inputs.shape[1]))
        for turn in range(max_turns):
            is_running = now != END
            # Ended episodes compute with state 0; `running` drops these rows below.
            state = np.where(is_running, now, 0)
            features = (world.inputs[state] - self.mean) / self.spread
            features = features + training.noise * self.rng.normal(size=features.shape)
            log_probs = compute_log_probabilities(
                self.actor.forward(features)[0], world.legal[state]
            )
            # The argmax of log probabilities plus Gumbel noise is a draw from these probabilities.
            gumbel = -np.log(-np.log(self.rng.uniform(_SMALL, 1 - _SMALL, size=log_probs.shape)))
            chosen = np.argmax(np.where(world.legal[state], log_probs + gumbel, -np.inf), axis=1)
            ahead = world.after[state, chosen]
            running[turn], states[turn], actions[turn], inputs[turn] = (
                is_running,
                state,
                chosen,
                features,
            )
            logs[turn] = log_probs[np.arange(episodes), chosen]
            values[turn] = np.where(is_running, self.critic.forward(features)[0][:, 0], 0.0)
            rewards[turn] = np.where(is_running, world.rewards[state, chosen], 0.0)
            discount = world.reward.gamma ** world.turns[state, chosen]
            discounts[turn] = np.where(is_running & (ahead != END), discount, 0.0)
            now = np.where(is_running, ahead, END)
        advantages = compute_advantages(rewards, values, discounts, lam=training.lam)
        returns = (advantages + values)[running]
        normalised = advantages[running]
        normalised = (normalised - normalised.mean()) / (normalised.std() + _SMALL)
        steps = SampledSteps(
            inputs[running],
            world.legal[states[running]],
            actions[running],
            logs[running],
            normalised,
            returns,
            self.guide[states[running]],
        )
        return steps, float(rewards.sum(axis=0).mean())

    def _iterate_batches(self, count: int) -> Iterator[Places]:
        """Yield random minibatches of the places below `count`, each place once."""
        order = self.rng.permutation(count)
        for start in range(0, count, self.training.minibatch):
            yield order[start : start + self.training.minibatch]

    def _compute_gradients(self, steps: SampledSteps) -> tuple[list[Vector], float, float]:
        """Return the gradients of actor and critic, the policy's loss and its mean entropy.

        The gradients are in the order of the actor's arrays, then the critic's.
        """
        training = self.training
        logits, actor_inputs = self.actor.forward(steps.inputs)
        gradient, loss, entropy = compute_policy_gradient(
            logits, steps, clip=training.clip, entropy=training.entropy, prior=training.prior
        )
        values, critic_inputs = self.critic.forward(steps.inputs)
        errors = (values[:, 0] - steps.returns) / len(steps.returns)
        gradients = self.actor.backward(actor_inputs, gradient)
        gradients += self.critic.backward(critic_inputs, training.value * 2 * errors[:, None])
        return gradients, loss, entropy


def _clip_gradients(gradients: list[Vector], max_norm: float) -> list[Vector]:
    """Return the gradients, scaled down to a joint norm of at most `max_norm`."""
    length = float(np.sqrt(sum((gradient**2).sum() for gradient in gradients)))
    return [gradient * min(1.0, max_norm / (length + _SMALL)) for gradient in gradients]
