"""The export of encoders with products of 8 bits, which share tables with the shipped one.

    python -m training.query_encoder.export rounded
    python -m training.query_encoder.export small --checkpoint RUN/last.pt

`rounded` is the embedder `all-MiniLM-L6-v2-int8` with the shipped one's own layers, `small` a
trained encoder of questions; products are of 8 bits in both. What has the same bytes in the shipped
file is read from there when the model is loaded, so that nothing is stored twice: the table of
words and the positions, and for `rounded` the layers, which are rounded then. The same input writes
the same bytes.
"""

import argparse
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from training.export_embedder import (
    NAME,
    RESOURCES,
    WIDTH,
    Graph,
    add_embeddings,
    add_pooling,
    count_layers,
    load_packaged,
)
from training.query_encoder.smoothing import load_factors
from typing_extensions import override

from training import export_embedder

FILES = {"rounded": f"{NAME}-int8.onnx", "small": "query-encoder-small.onnx"}
_LEAST = 64  # bytes; what is shorter is not worth a reference
_MOST_STEPS = 63
"""The largest rounded weight. Processors without VNNI add two products of bytes in 16 bits: with
larger weights sums would be cut there, and a text would have other vectors than elsewhere."""

Array = NDArray[np.generic]
Floats = NDArray[np.float32]


class SharedGraph(Graph):
    """A graph with products of 8 bits, and references to the bytes of another model's file."""

    def __init__(self, other: Path, factors: Mapping[str, Array]) -> None:
        """Take the other model's file, and the factors by which products are smoothed."""
        super().__init__("fp16+int8")
        self._factors = factors
        self._file = other.name
        self._known = dict(_locate_weights(other))

    def constant(self, name: str, value: Array) -> str:
        """Add a weight, or its place in the other file if that has its bytes."""
        stored = numpy_helper.from_array(np.ascontiguousarray(value), name)
        if len(stored.raw_data) >= _LEAST and stored.raw_data in self._known:
            place = {"location": self._file, "offset": self._known[stored.raw_data]}
            self._refer(stored, {**place, "length": len(stored.raw_data)})
        self.weights.append(stored)
        return name

    def matrix(self, name: str, value: Array) -> str:
        """Add a weight matrix of 8 bits with one step per column; return `name`."""
        half = value.astype(np.float16)
        factors = self._factors.get(name, np.ones(len(half), dtype=np.float32))
        smoothed = half.astype(np.float32) * factors[:, None]
        scale = self.constant(f"{name}.step", _compute_steps(smoothed))
        if np.ascontiguousarray(half).tobytes() not in self._known:
            rounded = np.rint(smoothed / numpy_helper.to_array(self.weights[-1]))
            return self.constant(name, rounded.astype(np.int8))
        # Rounding is many times faster where a step is that of a row; all is done while loading.
        turned = self.add("Transpose", [self.constant(f"{name}.fp16", half)], f"{name}.turned")
        wide = self.add("Cast", [turned], f"{name}.wide", to=TensorProto.FLOAT)
        sized = self.add("Mul", [wide, self.constant(f"{name}.factors", factors)], f"{name}.sized")
        narrow = self.add(
            "QuantizeLinear", [sized, scale], f"{name}.narrow", axis=0, output_dtype=3
        )
        return self.add("Transpose", [narrow], name)

    def product(self, value: str, name: str, matrix: Array, bias: Array | None = None) -> str:
        """Add `value` times `matrix`, plus `bias`; both sides are rounded."""
        shift = "" if bias is None else self.constant(f"{name}.bias", bias)
        return self._product(value, self.matrix(name, matrix), f"{name}.product", shift)

    @override
    def add_and_normalize(self, inputs: list[str], output: str) -> str:
        return self.add_three_and_normalize(inputs, output)

    def add_fused(self, op: str, inputs: list[str], output: str, **attributes: object) -> str:
        """Add a fused operator; attention's products are of 8 bits too."""
        if op != "Attention":
            return super().add_fused(op, inputs, output, **attributes)
        hidden, matrix, shift = inputs
        mixed = self._product(hidden, matrix, f"{matrix}.product")
        names = [f"{matrix}.{part}" for part in ("query", "key", "value")]
        self.nodes.append(helper.make_node("Split", [mixed], names, axis=-1, num_outputs=3))
        return super().add_fused("MultiHeadAttention", [*names, shift], output, **attributes)

    def _product(self, value: str, matrix: str, output: str, shift: str = "") -> str:
        if matrix in self._factors:
            shares = self.constant(f"{matrix}.shares", 1 / self._factors[matrix])
            value = self.add("Mul", [value, shares], f"{matrix}.smoothed")
        inputs = [value, matrix, f"{matrix}.step", "", shift]
        return super().add_fused("DynamicQuantizeMatMul", inputs, output)

    @staticmethod
    def _refer(stored: onnx.TensorProto, place: Mapping[str, object]) -> None:
        stored.ClearField("raw_data")
        stored.data_location = TensorProto.EXTERNAL
        for key, value in place.items():
            stored.external_data.add(key=key, value=str(value))


def _locate_weights(file: Path) -> Iterator[tuple[bytes, int]]:
    """Return the bytes of a model's weights, and their offsets in its file."""
    data = file.read_bytes()
    end = 0
    for weight in onnx.load_model_from_string(data).graph.initializer:
        end = data.index(weight.raw_data, end)
        yield weight.raw_data, end
        end += len(weight.raw_data)


def _compute_steps(matrix: Floats) -> Floats:
    """Return the step of each column, such that no weight exceeds `_MOST_STEPS`."""
    exact = np.abs(matrix).max(axis=0) / _MOST_STEPS
    return np.maximum(np.nextafter(exact, np.float32(1)), np.finfo(np.float32).tiny)


def build_model(
    weights: Mapping[str, Array], shipped: Path, factors: Mapping[str, Array]
) -> onnx.ModelProto:
    """Build `input_ids` (1, tokens) int64 -> `embedding` (1, 384), unit length.

    The values of a run share their steps, so rows of a batch would touch each other.
    """
    graph = SharedGraph(shipped, factors)
    hidden = add_embeddings(graph, weights)
    for number in range(count_layers(weights)):
        hidden = export_embedder.add_layer(graph, weights, hidden, number)
    graph.add("LpNormalization", [add_pooling(graph, hidden)], "embedding", axis=-1, p=2)
    model_graph = helper.make_graph(
        graph.nodes,
        NAME,
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, "tokens"])],
        [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, [1, WIDTH])],
        graph.weights,
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(
        model_graph, opset_imports=opsets, ir_version=10, producer_name="fathom"
    )


def load_weights(checkpoint: Path) -> dict[str, Array]:
    """Return the weights of a trained student."""
    import torch

    state = torch.load(checkpoint, weights_only=True, map_location="cpu")["student"]
    return {name.removeprefix("encoder."): value.numpy() for name, value in state.items()}


def main() -> None:
    """Read the arguments, write the model, and print its size and digest."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=FILES)
    parser.add_argument("--checkpoint", type=Path, help="of `small`")
    parser.add_argument("--shipped", type=Path, default=RESOURCES / f"{NAME}.onnx")
    parser.add_argument("--out", type=Path, default=RESOURCES)
    arguments = parser.parse_args()
    if (arguments.kind == "small") != (arguments.checkpoint is not None):
        parser.error("`small` needs --checkpoint, `rounded` takes none")
    tables = load_packaged()
    weights = load_weights(arguments.checkpoint) if arguments.checkpoint else tables
    # The student's tables are frozen copies; the shipped ones were rounded from these.
    weights |= {name: value for name, value in tables.items() if name.startswith("embeddings.")}
    factors = {} if arguments.checkpoint else load_factors()
    data = build_model(weights, arguments.shipped, factors).SerializeToString(deterministic=True)
    file = arguments.out / FILES[arguments.kind]
    file.write_bytes(data)
    print(f"{hashlib.sha256(data).hexdigest()}  {len(data):>9}  {file.name}")


if __name__ == "__main__":
    main()
