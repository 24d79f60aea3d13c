"""A checkpoint restored from an exported cross-reader, to train it further without its own.

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


def restore_weights(model: onnx.ModelProto) -> dict[str, Array]:
    """Return by name the weights from which `export.build_model` made an 8-bit model.

    Raises:
        KeyError: If the model is of another precision.
    """
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}

    def widen(name: str) -> Array:
        return (stored[f"{name}.int8"] * stored[f"{name}.step"]).astype(np.float32)

    table = "encoder.embeddings"
    weights = {f"{table}.word_embeddings.weight": widen("words")}
    weights |= {f"{table}.{name}": stored[prefix] for prefix, name in _EMBEDDINGS.items()}
    for number in range(sum(name.endswith(".query.int8") for name in stored)):
        prefix, layer = f"layer{number}", f"encoder.encoder.layer.{number}"
        for product, name in _PRODUCTS.items():
            shift = "shift" if product in _NORMED else "bias"
            weights[f"{layer}.{name}.weight"] = widen(f"{prefix}.{product}").T
            weights[f"{layer}.{name}.bias"] = stored[f"{prefix}.{product}.{shift}"]
        for block in _NORMED:
            for part in ("weight", "bias"):
                weights[f"{layer}.{block}.LayerNorm.{part}"] = stored[f"{prefix}.{block}.{part}"]
    for head in _HEADS:
        weights[f"{head}.weight"] = stored[f"{head}.matrix"].T
        weights[f"{head}.bias"] = stored[f"{head}.bias"]
    return weights


def main() -> None:
    """Read the arguments and write the checkpoint."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True, help="folder of an exported model")
    parser.add_argument("--out", type=Path, required=True)
    settings = parser.parse_args()
    weights = restore_weights(onnx.load(settings.model / "cross-reader.onnx"))
    state = {name: torch.from_numpy(np.array(value)) for name, value in weights.items()}
    settings.out.parent.mkdir(parents=True, exist_ok=True)
    torch.save({"model": state}, settings.out)
    print(f"{len(state)} tensors, {settings.out}")


if __name__ == "__main__":
    main()
