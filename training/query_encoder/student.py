"""The small network: some layers of the shipped encoder, with its table of words."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from training.cross_reader.model import Encoder

WORDS = "embeddings.word_embeddings.weight"
_LAYER = "encoder.layer."

Weights = Mapping[str, NDArray[np.float32]]


def select_layers(weights: Weights, layers: Sequence[int]) -> dict[str, NDArray[np.float32]]:
    """Return the weights of some layers of an encoder, renumbered, and its tables.

    The table of words is rounded as the shipped one is.
    """
    selected = {name: value for name, value in weights.items() if name.startswith("embeddings.")}
    steps = np.abs(selected[WORDS]).max(axis=1, keepdims=True) / 127
    selected[WORDS] = (np.rint(selected[WORDS] / steps) * steps).astype(np.float32)
    for number, layer in enumerate(layers):
        old = f"{_LAYER}{layer}."
        for name, value in weights.items():
            if name.startswith(old):
                selected[f"{_LAYER}{number}.{name.removeprefix(old)}"] = value
    return selected


class Student(nn.Module):
    """Maps rows of equal length to vectors of their tokens, with frozen tables."""

    def __init__(self, weights: Weights) -> None:
        super().__init__()
        self.encoder = Encoder(weights, 0.0)
        for parameter in self.encoder.embeddings.parameters():
            parameter.requires_grad_(requires_grad=False)

    def forward(self, ids: Tensor) -> Tensor:
        """Map (rows, tokens) to (rows, tokens, width)."""
        mask = torch.ones_like(ids, dtype=torch.bool)
        hidden: Tensor = self.encoder(ids, torch.zeros_like(ids), mask)
        return hidden
