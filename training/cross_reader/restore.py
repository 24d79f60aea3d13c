"""A checkpoint made of an exported cross-reader, to train it further where its own is lost.

    python -m training.cross_reader.restore --model FOLDER --out RUN/shipped.pt

The weights are those of the file, rounded as they are stored; exported again with `--precision
int8`, they give the same bytes.
"""

import argparse
from pathlib import Path

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import numpy_helper

Array = NDArray[np.generic]

_EMBEDDINGS = {
    "positions": "position_embeddings.weight",
    "kinds": "token_type_embeddings.weight",
    "embedded.weight": "LayerNorm.weight",
    "embedded.bias": "LayerNorm.bias",
}
_PRODUCTS = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "attention.output": "attention.output.dense",
    "wide": "intermediate.dense",
    "output": "output.dense",
}
_NORMED = ("attention.output", "output")
_HEADS = ("dense", "scores", "span")


def weights_of(model: onnx.ModelProto) -> dict[str, Array]:
    """The weights that `export.build` made a model of with 8 bits, by name.

    Raises:
        KeyError: If the model is of another precision.
    """
    stored = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}

    def wide(name: str) -> Array:
        return (stored[f"{name}.int8"] * stored[f"{name}.step"]).astype(np.float32)

    table = "encoder.embeddings"
    found = {f"{table}.word_embeddings.weight": wide("words")}
    found |= {f"{table}.{name}": stored[here] for here, name in _EMBEDDINGS.items()}
    for number in range(sum(name.endswith(".query.int8") for name in stored)):
        here, layer = f"layer{number}", f"encoder.encoder.layer.{number}"
        for product, name in _PRODUCTS.items():
            shift = "shift" if product in _NORMED else "bias"
            found[f"{layer}.{name}.weight"] = wide(f"{here}.{product}").T
            found[f"{layer}.{name}.bias"] = stored[f"{here}.{product}.{shift}"]
        for block in _NORMED:
            for part in ("weight", "bias"):
                found[f"{layer}.{block}.LayerNorm.{part}"] = stored[f"{here}.{block}.{part}"]
    for head in _HEADS:
        found[f"{head}.weight"] = stored[f"{head}.matrix"].T
        found[f"{head}.bias"] = stored[f"{head}.bias"]
    return found


def main() -> None:
    """Read the arguments and write the checkpoint."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True, help="folder of an exported model")
    parser.add_argument("--out", type=Path, required=True)
    settings = parser.parse_args()
    weights = weights_of(onnx.load(settings.model / "cross-reader.onnx"))
    state = {name: torch.from_numpy(np.array(value)) for name, value in weights.items()}
    settings.out.parent.mkdir(parents=True, exist_ok=True)
    torch.save({"model": state}, settings.out)
    print(f"{len(state)} tensors, {settings.out}")


if __name__ == "__main__":
    main()
