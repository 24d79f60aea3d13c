"""The policies of `adaptive`: written rules, a fixed sequence, and a learned network."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from fathom.errors import SettingsError, UsageError
from fathom.planner.actions import ACTIONS, END_ACTIONS, MAX_EXECUTORS, Action, is_legal_sequence
from fathom.planner.observation import COLUMNS, Observation, Vector, build_features

MAX_POLICY_BYTES = 200_000
"""The largest size of an exported policy, in bytes."""
FORMAT = 1
"""The version of the file format of exported policies."""
SHIPPED_POLICY = Path(__file__).parent / "resources" / "policy.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The choice of a policy.

    Attributes:
        action: One of the legal actions.
        probabilities: The probability of each legal action; they add up to 1.
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
        """Choose one of the legal actions, which are never none and hold an end.

        Equal observations give equal decisions.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RulePolicy:
    """The rules: work on the questions that the first look left open, and on nothing else.

    A conflict is debated and the sides of a comparison are looked up however sure the reader is, as
    its confidence takes no account of the other side. So is a chain of questions, as one reading
    often takes the answer to its first question for the last, unless a model will read. Everything
    else is tried only where no answer would be shown otherwise. Reading again with the same reader
    is not one of these steps: where it became sure after all, it was wrong four times out of five
    (docs/strategies/adaptive.md).

    Attributes:
        min_confidence: The least confidence of a draft that is shown; the default is that of
            `ask.min_confidence`.
        coverage: Below this share of the question's terms in the best hit, bridges are followed.
    """

    min_confidence: float = 0.5
    coverage: float = 0.5
    name: str = "rules"

    def choose(self, observation: Observation, legal: Sequence[Action]) -> Decision:
        """Choose the first applicable rule whose action is legal; abstain if there is none."""
        for action, reason in self._propose_actions(observation, has_model="model" in legal):
            if action in legal:
                return Decision(action=action, probabilities={action: 1.0}, reason=reason)
        return Decision(action="abstain", probabilities={"abstain": 1.0}, reason="nothing holds")

    def _propose_actions(
        self, observation: Observation, *, has_model: bool
    ) -> list[tuple[Action, str]]:
        """Return the actions that the rules propose, in order of priority, with reasons."""
        draft, situation = observation.draft, observation.situation
        share = f"{draft.confidence:.0%} sure"
        in_a_row = f"{situation.serial:.0f} questions in a row"
        has_uncovered_hops = situation.serial > 1 and situation.coverage < self.coverage
        # A model can combine what several searches find, and reading it takes far longer.
        has_hops_for_model = has_model and max(situation.names, situation.serial) > 1
        # In order of priority: the first legal one is chosen.
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
    """The policy that always runs the same executors, then `stop`: a baseline for planners."""

    actions: tuple[Action, ...] = ()

    @property
    def name(self) -> str:
        """The actions, joined by commas."""
        return ",".join((*self.actions, "stop"))

    def choose(self, observation: Observation, legal: Sequence[Action]) -> Decision:
        """Choose the first executor of the sequence that has not worked yet; else `stop`."""
        rest = [action for action in self.actions if action not in observation.tried]
        action: Action = rest[0] if rest and rest[0] in legal else "stop"
        return Decision(action=action, probabilities={action: 1.0}, reason="always")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFallbackPolicy:
    """A policy that ends with a draft of the local reader if it is certain, else asks the model.

    Attributes:
        policy: The policy that decides everything else.
        min_certainty: The least confidence at which the local reader's draft may be final.
    """

    policy: Policy
    min_certainty: float

    @property
    def name(self) -> str:
        """The name of the inner policy."""
        return self.policy.name

    def choose(self, observation: Observation, legal: Sequence[Action]) -> Decision:
        """Choose as the inner policy does, but `model` in place of an uncertain end."""
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
class Layer:
    """One layer of a network: `values @ weights + offset`."""

    weights: Vector
    offset: Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedPolicy:
    """A small network: standardised columns, hidden layers with tanh, one output per action.

    The likeliest legal action is taken. The policy never chooses an action that its training data
    could not show, such as a language model; but where it would abstain and a model is there, the
    model is asked.

    Attributes:
        columns: Names of the inputs, each one of `COLUMNS`.
        mean: Mean of each column in the training data.
        spread: Standard deviation of each column there, at least a little above 0.
        layers: The layers from the inputs to the actions; the last has as many outputs as
            `actions`.
        actions: The actions that the policy learned about.
        most: The largest number of executors in a row in the training data.
        origin: The data it was trained on, the commit, the seed and the settings of training.
    """

    columns: tuple[str, ...]
    mean: Vector
    spread: Vector
    layers: tuple[Layer, ...]
    actions: tuple[Action, ...]
    most: int
    origin: Mapping[str, Any] = field(default_factory=dict)
    name: str = "learned"

    def __post_init__(self) -> None:
        sizes = [len(self.columns), *(layer.offset.size for layer in self.layers)]
        shapes = [layer.weights.shape for layer in self.layers]
        fits_inputs = self.mean.size == self.spread.size == len(self.columns)
        if not fits_inputs or shapes != list(pairwise(sizes)) or sizes[-1] != len(self.actions):
            raise ValueError(f"layers of {shapes} between {self.columns} and {self.actions}")

    def choose(self, observation: Observation, legal: Sequence[Action]) -> Decision:
        """Choose the likeliest legal action; `model` in place of an abstention."""
        is_full = len(observation.tried) >= self.most
        candidates = [
            action
            for action in self.actions
            if action in legal and (action in END_ACTIONS or not is_full)
        ]
        probabilities = self.compute_probabilities(observation, candidates)
        # Rounded, so that machines with other arithmetic choose alike; ties go to the first action.
        action = max(
            candidates,
            key=lambda candidate: (round(probabilities[candidate], 9), -ACTIONS.index(candidate)),
        )
        if action == "abstain" and "model" in legal:
            return Decision(
                action="model", probabilities={"model": 1.0}, reason="the model in place of nobody"
            )
        return Decision(
            action=action,
            probabilities=probabilities,
            reason=f"{probabilities[action]:.0%} likely the best",
        )

    def compute_probabilities(
        self, observation: Observation, actions: Sequence[Action]
    ) -> dict[Action, float]:
        """Return the probability of each of these actions, in their order."""
        logits = self.compute_logits(build_features(observation)[self._locate_columns()])
        selected = np.array([logits[self.actions.index(action)] for action in actions])
        # Without the largest logit, which cancels out, exp() could overflow.
        powers = np.exp(selected - selected.max())
        shares = powers / powers.sum()
        return {
            action: round(float(share), 6) for action, share in zip(actions, shares, strict=True)
        }

    def compute_logits(self, values: Vector) -> Vector:
        """Return one number for each of `actions`, from the values of `columns`."""
        hidden = (values - self.mean) / self.spread
        for layer in self.layers[:-1]:
            hidden = np.tanh(hidden @ layer.weights + layer.offset)
        last = self.layers[-1]
        return np.asarray(hidden @ last.weights + last.offset, dtype=np.float64)

    def _locate_columns(self) -> list[int]:
        """Return the places of the policy's columns in `COLUMNS`."""
        names = list(COLUMNS)
        return [names.index(name) for name in self.columns]

    def to_json(self) -> str:
        """Return the policy as the text of a file, with its origin.

        Raises:
            ValueError: If the text would be larger than `MAX_POLICY_BYTES`.
        """
        text = json.dumps(
            {
                "format": FORMAT,
                "origin": dict(self.origin),
                "actions": self.actions,
                "most": self.most,
                "columns": self.columns,
                "mean": _round_values(self.mean),
                "spread": _round_values(self.spread),
                "layers": [
                    {"weights": _round_values(layer.weights), "offset": _round_values(layer.offset)}
                    for layer in self.layers
                ],
            },
            ensure_ascii=False,
        )
        if len(text.encode()) > MAX_POLICY_BYTES:
            raise ValueError(f"a policy of {len(text.encode())} bytes; {MAX_POLICY_BYTES} at most")
        return text + "\n"

    @classmethod
    def from_json(cls, text: str, *, name: str = "learned") -> Self:
        """Build the policy from the text of a file.

        Raises:
            UsageError: If it is no policy, or one of a version with other columns or actions.
        """
        try:
            fields = json.loads(text)
            if fields["format"] != FORMAT:
                raise UsageError(f"{name}: a policy of format {fields['format']}; train it again")
            unknown = [column for column in fields["columns"] if column not in COLUMNS]
            unknown += [action for action in fields["actions"] if action not in ACTIONS]
            if unknown:
                raise UsageError(f"{name}: unknown {', '.join(unknown)}; train the policy again")
            return cls(
                columns=tuple(fields["columns"]),
                mean=np.array(fields["mean"], dtype=np.float64),
                spread=np.array(fields["spread"], dtype=np.float64),
                layers=tuple(
                    Layer(weights=np.array(layer["weights"]), offset=np.array(layer["offset"]))
                    for layer in fields["layers"]
                ),
                actions=tuple(fields["actions"]),
                most=int(fields["most"]),
                origin=fields["origin"],
                name=name,
            )
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{name}: not a policy ({error}); train it again") from error


def load_policy(name: str, forced: Sequence[str] = (), *, min_confidence: float = 0.5) -> Policy:
    """Return the policy that the settings name.

    Args:
        name: `rules`, `learned` (the shipped one), or the path of an exported one.
        forced: Where there are any, these actions and then `stop`, whatever the name.
        min_confidence: The least confidence of a draft that the rules show.

    Raises:
        SettingsError: If there is no such file, or the forced actions are not legal.
        UsageError: If the file holds no policy, as `LearnedPolicy.from_json` finds.
    """
    if forced:
        if not is_legal_sequence(forced, has_model=True):
            raise SettingsError(
                f"adaptive.forced = {', '.join(forced)}: give at most {MAX_EXECUTORS} of "
                f"{', '.join(action for action in ACTIONS if action not in END_ACTIONS)}, each once"
            )
        return FixedSequence(actions=tuple(map(_parse_action, forced)))
    if name == "rules":
        return RulePolicy(min_confidence=min_confidence)
    file = SHIPPED_POLICY if name == "learned" else Path(name)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise SettingsError(
            f"adaptive.policy = {name!r}: no such file; give rules, learned, or a file "
            "that `fathom train planner` wrote"
        ) from None
    return LearnedPolicy.from_json(text, name=name)


def _parse_action(name: str) -> Action:
    """Return the action of this name."""
    return next(action for action in ACTIONS if action == name)


def _round_values(values: Vector) -> Any:  # noqa: ANN401 - lists as deep as the array
    """Return an array as nested lists of rounded numbers, for JSON."""
    return np.round(values, 6).tolist()
