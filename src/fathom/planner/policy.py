"""Policies: rules that are written down, and one that was learned."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from fathom.errors import SettingsError, UsageError
from fathom.planner.actions import ACTIONS, ENDING, MOST, Action, is_legal
from fathom.planner.features import COLUMNS, Observation, Vector, features

LARGEST = 200_000
"""Bytes that an exported policy may have."""
FORMAT = 1
SHIPPED = Path(__file__).parent / "resources" / "policy.json"
_MASKED = -1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a policy wants.

    Attributes:
        action: One of the legal ones.
        probabilities: Of each legal action; they add up to 1.
        reason: Why, in a few words.
    """

    action: Action
    probabilities: Mapping[Action, float]
    reason: str = ""


class Policy(Protocol):
    """Chooses the next action from numbers alone."""

    @property
    def name(self) -> str:
        """How tables call it."""
        ...

    def choose(self, observation: Observation, legal: Sequence[Action]) -> Decision:
        """What to do next; equal observations give equal decisions.

        Args:
            observation: What is known.
            legal: What may come next; never empty, with an end among it.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RulePolicy:
    """Works on what the first look left open, and on nothing else.

    A conflict is debated and a comparison looked up side by side however sure the reader is, as
    its confidence knows nothing of the other side. All else is tried only where nothing would be
    shown otherwise. A second look by the same reader is none of it: where it became sure of
    something after all, it was wrong four times out of five (docs/strategies/adaptive.md).

    Attributes:
        enough: From this confidence on a draft is shown; by default as `ask.min_confidence`.
        coverage: Below this share of the question's terms in the best hit, bridges are followed.
    """

    enough: float = 0.5
    coverage: float = 0.5
    name: str = "rules"

    def choose(self, observation: Observation, legal: Sequence[Action]) -> Decision:
        """See `Policy.choose`."""
        for action, reason in self._wanted(observation, has_model="model" in legal):
            if action in legal:
                return Decision(action=action, probabilities={action: 1.0}, reason=reason)
        return Decision(action="abstain", probabilities={"abstain": 1.0}, reason="nothing holds")

    def _wanted(self, seen: Observation, *, has_model: bool) -> list[tuple[Action, str]]:
        """What is wanted, most of all first."""
        draft, asked = seen.draft, seen.situation
        share = f"{draft.confidence:.0%} sure"
        # Several names are hops enough for a model, which can put together what it reads.
        hops = asked.serial > 1 or (has_model and asked.names > 1)
        wanted: list[tuple[Action, str, bool]] = [
            ("debate", "documents give other answers", draft.alternatives > 0),
            ("split", f"it compares {asked.parallel:.0f} things", asked.parallel > 1),
            ("stop", share, draft.confidence >= self.enough),
            ("split", f"{asked.serial:.0f} questions in a row", asked.serial > 1),
            ("bridge", f"only {share}, and several hops", hops and asked.coverage < self.coverage),
            ("model", f"only {share}", has_model),
        ]
        return [(action, reason) for action, reason, applies in wanted if applies]


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedSequence:
    """Always the same executors, then `stop`: what every planner must beat."""

    actions: tuple[Action, ...] = ()

    @property
    def name(self) -> str:
        """See `Policy.name`."""
        return ",".join((*self.actions, "stop"))

    def choose(self, observation: Observation, legal: Sequence[Action]) -> Decision:
        """See `Policy.choose`."""
        rest = [action for action in self.actions if action not in observation.tried]
        action: Action = rest[0] if rest and rest[0] in legal else "stop"
        return Decision(action=action, probabilities={action: 1.0}, reason="always")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelForTheRest:
    """Lets the local reader end only with what it is certain of; a model is asked for the rest.

    Attributes:
        policy: Decides everything else.
        certain: From this confidence on the local reader's draft may be the last word.
    """

    policy: Policy
    certain: float

    @property
    def name(self) -> str:
        """See `Policy.name`."""
        return self.policy.name

    def choose(self, observation: Observation, legal: Sequence[Action]) -> Decision:
        """See `Policy.choose`."""
        decision = self.policy.choose(observation, legal)
        sure = observation.draft.confidence
        if decision.action not in ENDING or "model" not in legal or sure >= self.certain:
            return decision
        return Decision(
            action="model",
            probabilities={"model": 1.0},
            reason=f"instead of {decision.action}: only {sure:.0%} sure",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One layer of a network: `values @ weights + offset`."""

    weights: Vector
    offset: Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedPolicy:
    """A small network: standardised columns, hidden layers with tanh, one number an action.

    The likeliest legal action is taken. What the training data could not show, such as a language
    model, is not chosen by it; where it would abstain and a model is there, the model is asked.

    Attributes:
        columns: Names of its inputs, each one of `COLUMNS`.
        mean: Of each column in the training data.
        spread: Standard deviation of each column there, at least a little above 0.
        layers: From the inputs to the actions; the last has as many outputs as `actions`.
        actions: What it learned about.
        most: So many executors it learned to put in a row.
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
        inputs = self.mean.size == self.spread.size == len(self.columns)
        if not inputs or shapes != list(pairwise(sizes)) or sizes[-1] != len(self.actions):
            raise ValueError(f"layers of {shapes} between {self.columns} and {self.actions}")

    def choose(self, observation: Observation, legal: Sequence[Action]) -> Decision:
        """See `Policy.choose`."""
        full = len(observation.tried) >= self.most
        open_ = [
            action for action in self.actions if action in legal and (action in ENDING or not full)
        ]
        likely = self.probabilities(observation, open_)
        action = max(open_, key=lambda each: (round(likely[each], 9), -ACTIONS.index(each)))
        if action == "abstain" and "model" in legal:
            return Decision(
                action="model", probabilities={"model": 1.0}, reason="the model in place of nobody"
            )
        return Decision(
            action=action, probabilities=likely, reason=f"{likely[action]:.0%} likely the best"
        )

    def probabilities(
        self, observation: Observation, among: Sequence[Action]
    ) -> dict[Action, float]:
        """How likely each of these actions is, in their order."""
        logits = self.logits(features(observation)[self._places()])
        kept = np.array([logits[self.actions.index(action)] for action in among])
        powers = np.exp(kept - kept.max())
        shares = powers / powers.sum()
        return {action: round(float(share), 6) for action, share in zip(among, shares, strict=True)}

    def logits(self, values: Vector) -> Vector:
        """One number for each of `actions`, from the values of `columns`."""
        inner = (values - self.mean) / self.spread
        for layer in self.layers[:-1]:
            inner = np.tanh(inner @ layer.weights + layer.offset)
        last = self.layers[-1]
        return np.asarray(inner @ last.weights + last.offset, dtype=np.float64)

    def _places(self) -> list[int]:
        known = list(COLUMNS)
        return [known.index(name) for name in self.columns]

    def to_json(self) -> str:
        """The policy as a file holds it, with its origin.

        Raises:
            ValueError: If it would be larger than `LARGEST`.
        """
        text = json.dumps(
            {
                "format": FORMAT,
                "origin": dict(self.origin),
                "actions": self.actions,
                "most": self.most,
                "columns": self.columns,
                "mean": _rounded(self.mean),
                "spread": _rounded(self.spread),
                "layers": [
                    {"weights": _rounded(layer.weights), "offset": _rounded(layer.offset)}
                    for layer in self.layers
                ],
            },
            ensure_ascii=False,
        )
        if len(text.encode()) > LARGEST:
            raise ValueError(f"a policy of {len(text.encode())} bytes; {LARGEST} at most")
        return text + "\n"

    @classmethod
    def from_json(cls, text: str, *, name: str = "learned") -> Self:
        """The policy that a file holds.

        Raises:
            UsageError: If it is none, or of a version with other columns or actions.
        """
        try:
            told = json.loads(text)
            if told["format"] != FORMAT:
                raise UsageError(f"{name}: a policy of format {told['format']}; train it again")
            strange = [each for each in told["columns"] if each not in COLUMNS]
            strange += [each for each in told["actions"] if each not in ACTIONS]
            if strange:
                raise UsageError(f"{name}: unknown {', '.join(strange)}; train the policy again")
            return cls(
                columns=tuple(told["columns"]),
                mean=np.array(told["mean"], dtype=np.float64),
                spread=np.array(told["spread"], dtype=np.float64),
                layers=tuple(
                    Layer(weights=np.array(each["weights"]), offset=np.array(each["offset"]))
                    for each in told["layers"]
                ),
                actions=tuple(told["actions"]),
                most=int(told["most"]),
                origin=told["origin"],
                name=name,
            )
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{name}: not a policy ({error}); train it again") from error


def chosen_policy(name: str, forced: Sequence[str] = (), *, enough: float = 0.5) -> Policy:
    """The policy that settings name.

    Args:
        name: `rules`, `learned` (the shipped one), or the path of an exported one.
        forced: Where there are any, these actions and then `stop`, whatever the name.
        enough: See `RulePolicy`.

    Raises:
        SettingsError: If there is no such file, or the forced actions are not legal.
        UsageError: If the file holds no policy; see `LearnedPolicy.from_json`.
    """
    if forced:
        if not is_legal(forced, has_model=True):
            raise SettingsError(
                f"adaptive.forced = {', '.join(forced)}: give at most {MOST} of "
                f"{', '.join(each for each in ACTIONS if each not in ENDING)}, each once"
            )
        return FixedSequence(actions=tuple(map(_action, forced)))
    if name == "rules":
        return RulePolicy(enough=enough)
    file = SHIPPED if name == "learned" else Path(name)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise SettingsError(
            f"adaptive.policy = {name!r}: no such file; give rules, learned, or what "
            "`fathom train planner` wrote"
        ) from None
    return LearnedPolicy.from_json(text, name=name)


def _action(name: str) -> Action:
    return next(action for action in ACTIONS if action == name)


def _rounded(values: Vector) -> Any:  # noqa: ANN401 - lists as deep as the array
    return np.round(values, 6).tolist()
