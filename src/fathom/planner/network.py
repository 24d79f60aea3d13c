"""The network of a learned policy, and its file: numbers in, a probability for each choice out."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np

from fathom.errors import SettingsError, UsageError
from fathom.jsonable import hash_text
from fathom.planner.observation import Vector

MAX_POLICY_BYTES = 200_000
"""The largest size of an exported policy, in bytes."""
FORMAT = 1
"""The version of the file format of exported policies; files of another version are refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One layer of a network: `values @ weights + offset`.

    Attributes:
        weights: Inputs x outputs.
        offset: One number for each output.
    """

    weights: Vector
    offset: Vector

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Self:
        """Build the layer from its part of a file."""
        weights, offset = np.array(fields["weights"]), np.array(fields["offset"])
        # JSON does not tell the width of an array without rows; the offset has it.
        return cls(weights=weights if weights.size else np.zeros((0, offset.size)), offset=offset)


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkChoice:
    """The likeliest of some choices.

    Attributes:
        action: The likeliest choice.
        probabilities: The probability of each choice, in [0, 1]; they add up to 1.
    """

    action: str
    probabilities: Mapping[str, float]

    @property
    def reason(self) -> str:
        """The reason of the choice, in a few words."""
        return f"{self.probabilities[self.action]:.0%} likely the best"


@dataclass(frozen=True, kw_only=True)
class PolicyNetwork:
    """A small network: standardised columns, hidden layers with tanh, one output per choice.

    Attributes:
        columns: The names of the inputs.
        mean: The mean of each column in the training data.
        spread: The standard deviation of each column in the training data, above 0.
        layers: The layers from the inputs to the choices; the last has as many outputs as
            `actions`.
        actions: The choices that the network learned about.
        most: The largest number of choices before the last one in the training data.
        strategy: The strategy whose planner it is.
        origin: The training data, commit, seed and settings that the network comes from.
        name: The name by which the settings choose it: `learned`, or the path of its file.

    Raises:
        ValueError: If the sizes of columns, layers and actions do not fit together.
    """

    columns: tuple[str, ...]
    mean: Vector
    spread: Vector
    layers: tuple[Layer, ...]
    actions: tuple[str, ...]
    most: int
    strategy: str = "adaptive"
    origin: Mapping[str, Any] = field(default_factory=dict)
    name: str = "learned"

    def __post_init__(self) -> None:
        sizes = [len(self.columns), *(layer.offset.size for layer in self.layers)]
        shapes = [layer.weights.shape for layer in self.layers]
        fits_inputs = self.mean.size == self.spread.size == len(self.columns)
        if not fits_inputs or shapes != list(pairwise(sizes)) or sizes[-1] != len(self.actions):
            raise ValueError(f"layers of {shapes} between {self.columns} and {self.actions}")

    @cached_property
    def version(self) -> str:
        """The name with a short hash of the network without its origin; traces record it."""
        return f"{self.name} {hash_text(replace(self, origin={}).to_json())[:8]}"

    def choose(self, values: Mapping[str, float], legal: Sequence[str]) -> NetworkChoice:
        """Choose the likeliest of the legal choices that the network learned about.

        Args:
            values: The value of each column, by name; other values are ignored.
            legal: The legal choices; the network must know at least one of them.
        """
        candidates = [action for action in self.actions if action in legal]
        probabilities = self.compute_probabilities(values, candidates)
        # Probabilities are rounded, so that machines with other arithmetic choose alike. Ties go
        # to the first choice.
        action = max(
            candidates,
            key=lambda name: (round(probabilities[name], 9), -self.actions.index(name)),
        )
        return NetworkChoice(action=action, probabilities=probabilities)

    def compute_probabilities(
        self, values: Mapping[str, float], actions: Sequence[str]
    ) -> dict[str, float]:
        """Return the probability of each of these choices, in their order; they add up to 1."""
        logits = self.compute_logits(np.array([values[name] for name in self.columns]))
        selected = np.array([logits[self.actions.index(action)] for action in actions])
        # The largest logit cancels out; without subtracting it, exp() could overflow.
        powers = np.exp(selected - selected.max())
        shares = powers / powers.sum()
        return {
            action: round(float(share), 6) for action, share in zip(actions, shares, strict=True)
        }

    def compute_logits(self, inputs: Vector) -> Vector:
        """Return one logit for each of `actions`, from the values of `columns`, unscaled."""
        hidden = (inputs - self.mean) / self.spread
        for layer in self.layers[:-1]:
            hidden = np.tanh(hidden @ layer.weights + layer.offset)
        last = self.layers[-1]
        return np.asarray(hidden @ last.weights + last.offset, dtype=np.float64)

    def to_json(self) -> str:
        """Return the network as the text of a file, with its origin.

        Raises:
            ValueError: If the text would be larger than `MAX_POLICY_BYTES`.
        """
        text = json.dumps(
            {
                "format": FORMAT,
                "strategy": self.strategy,
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
        """Build the network from the text of a file.

        Raises:
            UsageError: If the text is no policy, or one of another format.
        """
        try:
            fields = json.loads(text)
            if fields["format"] != FORMAT:
                raise UsageError(f"{name}: a policy of format {fields['format']}; train it again")
            return cls(
                columns=tuple(fields["columns"]),
                mean=np.array(fields["mean"], dtype=np.float64),
                spread=np.array(fields["spread"], dtype=np.float64),
                layers=tuple(map(Layer.from_json, fields["layers"])),
                actions=tuple(fields["actions"]),
                most=int(fields["most"]),
                # Files from before `mao` had a learned planner do not name the strategy.
                strategy=fields.get("strategy", "adaptive"),
                origin=fields["origin"],
                name=name,
            )
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{name}: not a policy ({error}); train it again") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkKind:
    """The networks that the setting `policy` of a strategy can name.

    Attributes:
        strategy: The strategy.
        columns: The columns that may be inputs.
        actions: The choices that may be outputs.
        shipped: The files of the shipped networks, by the name that the setting gives.
        others: The other values of the setting, in words for an error message.
    """

    strategy: str
    columns: tuple[str, ...]
    actions: tuple[str, ...]
    shipped: Mapping[str, Path]
    others: str

    def read(self, name: str) -> PolicyNetwork:
        """Return the shipped network of this name, or the network in the file of this path.

        Raises:
            SettingsError: If there is no such file.
            UsageError: If the file holds no policy, or one of another strategy or version.
        """
        try:
            text = self.shipped.get(name, Path(name)).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            names = ", ".join([self.others, *self.shipped])
            raise SettingsError(
                f"{self.strategy}.policy = {name!r}: no such file; give {names}, or a file that "
                f"`fathom train planner --strategy {self.strategy}` wrote"
            ) from None
        network = PolicyNetwork.from_json(text, name=name)
        self._check(network)
        return network

    def _check(self, network: PolicyNetwork) -> None:
        """Refuse a network of another strategy, or one with unknown columns or actions."""
        if network.strategy != self.strategy:
            raise UsageError(
                f"{network.name}: a policy of {network.strategy}; train one of {self.strategy} "
                f"(`fathom train planner --strategy {self.strategy}`)"
            )
        unknown = [column for column in network.columns if column not in self.columns]
        unknown += [action for action in network.actions if action not in self.actions]
        if unknown:
            raise UsageError(
                f"{network.name}: unknown {', '.join(unknown)}; train the policy again"
            )


def _round_values(values: Vector) -> Any:  # noqa: ANN401 - lists as deep as the array
    """Return an array as nested lists of rounded numbers, for JSON."""
    return np.round(values, 6).tolist()
