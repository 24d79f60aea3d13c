"""The policies of `adaptive`: written rules, a fixed sequence, and a learned network."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fathom.errors import SettingsError
from fathom.planner.actions import (
    ACTIONS,
    END_ACTIONS,
    MAX_EXECUTORS,
    Action,
    is_legal_sequence,
    parse_action,
)
from fathom.planner.network import NetworkKind, PolicyNetwork
from fathom.planner.observation import COLUMNS, Observation, build_features

SHIPPED_POLICY = Path(__file__).parent / "resources" / "policy.json"
NETWORKS = NetworkKind(
    strategy="adaptive",
    columns=tuple(COLUMNS),
    actions=ACTIONS,
    shipped={"learned": SHIPPED_POLICY},
    others="rules",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The choice of a policy.

    Attributes:
        action: The action, one of the legal ones.
        probabilities: The probability of each action that was considered; they add up to 1.
        reason: The reason, in a few words.
    """

    action: Action
    probabilities: Mapping[Action, float]
    reason: str = ""


class Policy(Protocol):
    """The protocol of policies, which choose the next action from numbers alone."""

    @property
    def name(self) -> str:
        """The name of the policy in tables."""
        ...

    def choose(self, observation: Observation, legal: Sequence[Action]) -> Decision:
        """Choose one of the legal actions; equal observations give equal decisions.

        Args:
            observation: The numbers about the work so far.
            legal: The legal actions; `stop` and `abstain` are among them.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RulePolicy:
    """The rules: work only on questions that the first look left open.

    - A conflict is debated and the sides of a comparison are looked up, however sure the reader is,
      because its confidence takes no account of the other side.
    - A chain of questions is split, however sure the reader is, unless a language model can read. A
      single reading often takes the answer to the first question for that to the last.
    - Everything else is tried only if no answer would be shown otherwise.
    - The rules never choose `deeper` or `expand`. If such a second look made the reader sure after
      all, its answer was right in 2 of 11 cases (docs/strategies/adaptive.md).

    Attributes:
        min_confidence: The least confidence of a draft that is shown, in [0, 1]; the default is
            that of `ask.min_confidence`.
        coverage: Bridges are followed for a chain of questions whose best hit holds less than this
            share of the question's terms.
    """

    min_confidence: float = 0.5
    coverage: float = 0.5
    name: str = "rules"

    def choose(self, observation: Observation, legal: Sequence[Action]) -> Decision:
        """Choose the action of the first rule that applies and is legal; `abstain` without any."""
        for action, reason in self._propose_actions(observation, has_model="model" in legal):
            if action in legal:
                return Decision(action=action, probabilities={action: 1.0}, reason=reason)
        return Decision(action="abstain", probabilities={"abstain": 1.0}, reason="nothing holds")

    def _propose_actions(
        self, observation: Observation, *, has_model: bool
    ) -> list[tuple[Action, str]]:
        """Return the actions that the rules propose, each with its reason, by priority."""
        draft, situation = observation.draft, observation.situation
        share = f"{draft.confidence:.0%} sure"
        in_a_row = f"{situation.serial:.0f} questions in a row"
        has_uncovered_hops = situation.serial > 1 and situation.coverage < self.coverage
        # A language model can combine what several searches find. Its call takes so long that a
        # further search before it hardly counts.
        has_hops_for_model = has_model and max(situation.names, situation.serial) > 1
        # By priority: `choose` takes the first legal one.
        rules: list[tuple[Action, str, bool]] = [
            ("split", in_a_row, situation.serial > 1 and not has_model),
            ("debate", "documents give other answers", draft.alternatives > 0),
            ("split", f"it compares {situation.parallel:.0f} things", situation.parallel > 1),
            ("stop", share, draft.confidence >= self.min_confidence),
            ("split", in_a_row, situation.serial > 1),
            (
                "bridge",
                f"only {share}, and several hops",
                has_uncovered_hops or has_hops_for_model,
            ),
            ("model", f"only {share}", has_model),
        ]
        return [(action, reason) for action, reason, applies in rules if applies]


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedSequence:
    """The policy that always runs the same executors, then `stop`; a baseline for planners."""

    actions: tuple[Action, ...] = ()

    @property
    def name(self) -> str:
        """The executors and `stop`, joined by commas."""
        return ",".join((*self.actions, "stop"))

    def choose(self, observation: Observation, legal: Sequence[Action]) -> Decision:
        """Choose the next executor of the sequence if it is legal, else `stop`."""
        rest = [action for action in self.actions if action not in observation.tried]
        action: Action = rest[0] if rest and rest[0] in legal else "stop"
        return Decision(action=action, probabilities={action: 1.0}, reason="always")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFallbackPolicy:
    """A policy that lets a language model read before an end with an uncertain draft.

    Attributes:
        policy: The inner policy, which decides everything else.
        min_certainty: The least confidence, in [0, 1], of a draft of the local reader that may end
            the work.
    """

    policy: Policy
    min_certainty: float

    @property
    def name(self) -> str:
        """The name of the inner policy."""
        return self.policy.name

    def choose(self, observation: Observation, legal: Sequence[Action]) -> Decision:
        """Choose as the inner policy does, but `model` in place of an end with an unsure draft."""
        decision = self.policy.choose(observation, legal)
        confidence = observation.draft.confidence
        if (
            decision.action not in END_ACTIONS
            or "model" not in legal
            or confidence >= self.min_certainty
        ):
            return decision
        return Decision(
            action="model",
            probabilities={"model": 1.0},
            reason=f"instead of {decision.action}: only {confidence:.0%} sure",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedPolicy:
    """The policy of a network, which takes the likeliest legal action.

    The network never chooses `model`, because its training data were recorded without a language
    model. If it would abstain and a language model can read, the policy chooses `model` instead.
    """

    network: PolicyNetwork

    @property
    def name(self) -> str:
        """The name of the network."""
        return self.network.name

    def choose(self, observation: Observation, legal: Sequence[Action]) -> Decision:
        """Choose the likeliest legal action; `model`, if it is legal, in place of `abstain`."""
        is_full = len(observation.tried) >= self.network.most
        candidates = [action for action in legal if action in END_ACTIONS or not is_full]
        values = dict(zip(COLUMNS, map(float, build_features(observation)), strict=True))
        choice = self.network.choose(values, candidates)
        if choice.action == "abstain" and "model" in legal:
            return Decision(
                action="model", probabilities={"model": 1.0}, reason="the model in place of nobody"
            )
        return Decision(
            action=parse_action(choice.action),
            probabilities={parse_action(name): p for name, p in choice.probabilities.items()},
            reason=choice.reason,
        )


def load_policy(name: str, forced: Sequence[str] = (), *, min_confidence: float = 0.5) -> Policy:
    """Return the policy of `adaptive` that the settings choose.

    Args:
        name: `rules`, `learned` (the shipped network), or the path of an exported network.
        forced: If not empty, the policy runs these executors and then `stop`, whatever the name.
        min_confidence: The least confidence of a draft that the rules show, in [0, 1].

    Raises:
        SettingsError: If there is no such file, or the forced executors are not legal.
        UsageError: If the file holds no policy, or one of another strategy or version.
    """
    if forced:
        if not is_legal_sequence(forced, has_model=True):
            raise SettingsError(
                f"adaptive.forced = {', '.join(forced)}: give at most {MAX_EXECUTORS} of "
                f"{', '.join(action for action in ACTIONS if action not in END_ACTIONS)}, each once"
            )
        return FixedSequence(actions=tuple(map(parse_action, forced)))
    if name == "rules":
        return RulePolicy(min_confidence=min_confidence)
    return LearnedPolicy(network=NETWORKS.read(name))
