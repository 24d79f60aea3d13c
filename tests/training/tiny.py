"""A network small enough for tests, and its tokenizer: words of the tests, then single letters."""

import string
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from training.encoder import MARKS, build_tokenizer

from fathom.models.unigram import UnigramPairs

Weights = Mapping[str, NDArray[np.float32]]
LAYERS, WIDTH, WIDE, PLACES = 2, 48, 40, 64
_WORDS = "one two three four five six seven eight nine ten which river town lies on the Rhine it"
_LETTERS = string.ascii_letters + string.digits + "?.:,"
PIECES = [*MARKS, *(f"▁{word}" for word in _WORDS.split()), "▁", *_LETTERS]


def write_tokenizer(folder: Path) -> UnigramPairs:
    """Write a tokenizer into `folder` and return its token pairs."""
    scores = [-2.0 - 6.0 * (len(piece) == 1) for piece in PIECES]
    build_tokenizer(PIECES, scores).save(str(folder / "tokenizer.json"))
    return UnigramPairs(folder / "tokenizer.json")


def make_weights(layers: int = LAYERS, seed: int = 1) -> dict[str, NDArray[np.float32]]:
    """Return random weights under BERT's names, with norms near one."""
    draw = np.random.default_rng(seed)

    def draw_values(*shape: int, around: float = 0.0) -> NDArray[np.float32]:
        return (around + 0.2 * draw.standard_normal(shape)).astype(np.float32)

    tensors = {
        "embeddings.word_embeddings.weight": draw_values(len(PIECES), WIDTH),
        "embeddings.position_embeddings.weight": draw_values(PLACES, WIDTH),
        "embeddings.token_type_embeddings.weight": draw_values(2, WIDTH),
        "embeddings.LayerNorm.weight": draw_values(WIDTH, around=1.0),
        "embeddings.LayerNorm.bias": draw_values(WIDTH),
    }
    shapes = {
        **{f"attention.self.{part}": (WIDTH, WIDTH) for part in ("query", "key", "value")},
        "attention.output.dense": (WIDTH, WIDTH),
        "intermediate.dense": (WIDE, WIDTH),
        "output.dense": (WIDTH, WIDE),
    }
    for number in range(layers):
        prefix = f"encoder.layer.{number}"
        for name, shape in shapes.items():
            tensors[f"{prefix}.{name}.weight"] = draw_values(*shape)
            tensors[f"{prefix}.{name}.bias"] = draw_values(shape[0])
        for name in ("attention.output", "output"):
            tensors[f"{prefix}.{name}.LayerNorm.weight"] = draw_values(WIDTH, around=1.0)
            tensors[f"{prefix}.{name}.LayerNorm.bias"] = draw_values(WIDTH)
    return tensors
