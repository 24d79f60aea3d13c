"""The factors that make the inputs of products easier to round to 8 bits.

    python -m training.query_encoder.smoothing

A few channels of a product's input are ten times as large as the rest, and all share one step of
rounding. So each channel is divided by a factor, and its row of the matrix is multiplied by it, as
in SmoothQuant (Xiao et al. 2023, equation 4). The factors come from the texts of
`training/written/`. They are powers of the fourth root of two, so that another processor finds the
same ones.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper
from training.cross_reader.rows import OWN_FOLDER, read_rows
from training.export_embedder import (
    LIMIT,
    RESOURCES,
    Array,
    Graph,
    add_embeddings,
    add_layer,
    count_layers,
    load_packaged,
)
from typing_extensions import override

from fathom.models.tokens import WordPiece

FILE = Path(__file__).with_name("smoothing.npz")
TEXTS = 400
_SHARE = 0.8
"""The share of a channel's size that moves to the matrix (the paper's alpha), chosen on 200 texts
of squad-retrieval among 0.5, 0.7, 0.8, 0.9 and 1."""
_STEPS = 4  # factors between two powers of two
_LEAST = 1e-5

Floats = NDArray[np.float32]
Exponents = NDArray[np.int8]


class ObservedGraph(Graph):
    """A graph that notes the input and the matrix of each of its products."""

    def __init__(self) -> None:
        super().__init__("fp32")
        self.products: dict[str, tuple[str, Array]] = {}
        self._matrices: dict[str, Array] = {}

    @override
    def matrix(self, name: str, value: Array) -> str:
        self._matrices[name] = value
        return super().matrix(name, value)

    @override
    def product(self, value: str, name: str, matrix: Array, bias: Array | None = None) -> str:
        self.products[name] = value, matrix
        return super().product(value, name, matrix, bias)

    @override
    def add_fused(self, op: str, inputs: list[str], output: str, **attributes: object) -> str:
        if op == "Attention":
            self.products[inputs[1]] = inputs[0], self._matrices[inputs[1]]
        return super().add_fused(op, inputs, output, **attributes)


def measure_channels(graph: ObservedGraph, rows: Sequence[Sequence[int]]) -> dict[str, Floats]:
    """Return the largest value of each channel of each product's input, by the matrix's name."""
    values = list(dict.fromkeys(value for value, _ in graph.products.values()))
    outputs = [helper.make_tensor_value_info(value, TensorProto.FLOAT, None) for value in values]
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, "tokens"])
    observed = helper.make_graph(graph.nodes, "observed", [ids], outputs, graph.weights)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(observed, opset_imports=opsets, ir_version=9)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    largest: dict[str, Floats] = {}
    for row in rows:
        results = session.run(values, {"input_ids": np.asarray([row], dtype=np.int64)})
        for value, result in zip(values, results, strict=True):
            sizes = np.abs(result[0]).max(axis=0)
            largest[value] = np.maximum(largest.get(value, sizes), sizes)
    return {name: largest[value] for name, (value, _) in graph.products.items()}


def choose_exponents(channels: Floats, matrix: Array) -> Exponents:
    """Return the factor of each channel, as its exponent of the fourth root of two."""
    rows = np.abs(matrix.astype(np.float64)).max(axis=1)
    sizes = _SHARE * np.log2(np.maximum(channels, _LEAST))
    sizes -= (1 - _SHARE) * np.log2(np.maximum(rows, _LEAST))
    return np.rint(_STEPS * (sizes - sizes.mean())).astype(np.int8)


def load_factors(file: Path = FILE) -> Mapping[str, Floats]:
    """Return the factor of each channel of each product's input, by the matrix's name."""
    with np.load(file) as exponents:
        return {
            name: np.exp2(exponents[name].astype(np.float64) / _STEPS).astype(np.float32)
            for name in exponents.files
        }


def list_texts(number: int) -> Iterator[str]:
    """Yield contexts and questions of our own rows, spread over all of them."""
    rows = list(read_rows(OWN_FOLDER))
    for row in rows[:: max(1, 2 * len(rows) // number)]:
        yield row.text
        yield row.question


def main() -> None:
    """Read the arguments and write the factors."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=FILE)
    arguments = parser.parse_args()
    weights = load_packaged()
    graph = ObservedGraph()
    hidden = add_embeddings(graph, weights)
    for number in range(count_layers(weights)):
        hidden = add_layer(graph, weights, hidden, number)
    tokens = WordPiece.read(RESOURCES / "vocab.txt")
    channels = measure_channels(graph, [tokens.encode(text, LIMIT) for text in list_texts(TEXTS)])
    exponents = {
        name: choose_exponents(channels[name], matrix)
        for name, (_, matrix) in graph.products.items()
    }
    np.savez_compressed(arguments.out, allow_pickle=False, **exponents)
    print(f"{arguments.out}: {', '.join(exponents)}")


if __name__ == "__main__":
    main()
