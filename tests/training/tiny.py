"""A network small enough for tests, and its tokenizer: words of the tests, then single letters."""

import string
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from training.encoder import MARKS, tokenizer

from fathom.models.unigram import UnigramPairs

Weights = Mapping[str, NDArray[np.float32]]
LAYERS, WIDTH, WIDE, PLACES = 2, 48, 40, 64
_WORDS = "one two three four five six seven eight nine ten which river town lies on the Rhine it"
_LETTERS = string.ascii_letters + string.digits + "?.:,"
PIECES = [*MARKS, *(f"▁{word}" for word in _WORDS.split()), "▁", *_LETTERS]


def pairs(folder: Path) -> UnigramPairs:
    """Tokens; the tokenizer's file is left in `folder`."""
    scores = [-2.0 - 6.0 * (len(piece) == 1) for piece in PIECES]
    tokenizer(PIECES, scores).save(str(folder / "tokenizer.json"))
    return UnigramPairs(folder / "tokenizer.json")


def weights(layers: int = LAYERS, seed: int = 1) -> dict[str, NDArray[np.float32]]:
    """Under BERT's names, at random; norms near one."""
    draw = np.random.default_rng(seed)

    def some(*shape: int, around: float = 0.0) -> NDArray[np.float32]:
        return (around + 0.2 * draw.standard_normal(shape)).astype(np.float32)

    made = {
        "embeddings.word_embeddings.weight": some(len(PIECES), WIDTH),
        "embeddings.position_embeddings.weight": some(PLACES, WIDTH),
        "embeddings.token_type_embeddings.weight": some(2, WIDTH),
        "embeddings.LayerNorm.weight": some(WIDTH, around=1.0),
        "embeddings.LayerNorm.bias": some(WIDTH),
    }
    shapes = {
        **{f"attention.self.{part}": (WIDTH, WIDTH) for part in ("query", "key", "value")},
        "attention.output.dense": (WIDTH, WIDTH),
        "intermediate.dense": (WIDE, WIDTH),
        "output.dense": (WIDTH, WIDE),
    }
    for number in range(layers):
        here = f"encoder.layer.{number}"
        for name, shape in shapes.items():
            made[f"{here}.{name}.weight"] = some(*shape)
            made[f"{here}.{name}.bias"] = some(shape[0])
        for name in ("attention.output", "output"):
            made[f"{here}.{name}.LayerNorm.weight"] = some(WIDTH, around=1.0)
            made[f"{here}.{name}.LayerNorm.bias"] = some(WIDTH)
    return made
