"""The export of a trained cross-reader as a folder that Fathom reads.

    python -m training.cross_reader.export --checkpoint RUN/last.pt --start START --out FOLDER

The folder holds `cross-reader.onnx`, the `tokenizer.json` of `START`, a card whose calibration does
nothing yet, and the run's `learned.json.gz`. The same checkpoint gives the same bytes.

The graph has no padding mask: Fathom only batches rows of equal length, so that a reading never
depends on what was read beside it. Its one output is (rows, 8 + 3 * tokens): the scores of the
pair, then of every token how likely an answer starts there, ends there, and rests on the text that
it is of.
"""

import argparse
import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper
from training.export_embedder import PRECISIONS, Graph, add_layer, add_pooling, count_layers

from fathom.models.reading import ReadingCalibration

TOKENIZER = "tokenizer.json"
LEARNED = "learned.json.gz"

Array = NDArray[np.generic]
Weights = Mapping[str, Array]


def build_model(weights: Weights, precision: str) -> onnx.ModelProto:
    """Build `input_ids`, `token_type_ids` (rows, tokens) int64 -> `read` (rows, 8 + 3 * tokens)."""
    encoder = {
        name.removeprefix("encoder."): value
        for name, value in weights.items()
        if name.startswith("encoder.")
    }
    graph = Graph(precision)
    hidden = add_embeddings(graph, encoder)
    for number in range(count_layers(encoder)):
        hidden = add_layer(graph, encoder, hidden, number)
    scores = add_pair_scores(graph, weights, hidden)
    graph.add("Concat", [scores, add_span_scores(graph, weights, hidden)], "read", axis=1)
    rows = ["rows", "tokens"]
    proto = helper.make_graph(
        graph.nodes,
        "cross-reader",
        [
            helper.make_tensor_value_info("input_ids", TensorProto.INT64, rows),
            helper.make_tensor_value_info("token_type_ids", TensorProto.INT64, rows),
        ],
        [helper.make_tensor_value_info("read", TensorProto.FLOAT, ["rows", "scores"])],
        graph.weights,
    )
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(proto, opset_imports=opsets, ir_version=9, producer_name="fathom")


def add_embeddings(graph: Graph, weights: Weights) -> str:
    """Add the sum of word, position and kind vectors, normalised."""
    words = graph.rows("words", weights["embeddings.word_embeddings.weight"], "input_ids")
    kinds = graph.constant("kinds", weights["embeddings.token_type_embeddings.weight"])
    kind = graph.add("Gather", [kinds, "token_type_ids"], "kind", axis=0)
    length = graph.add("Shape", ["input_ids"], "length", start=1, end=2)
    table = graph.constant("positions", weights["embeddings.position_embeddings.weight"])
    zero = graph.constant("zero", make_integers(0))
    places = graph.add("Slice", [table, zero, length, zero], "places")
    placed = graph.add("Add", [words, places], "placed")
    whole = graph.add("Add", [placed, kind], "embedded")
    norm = [
        graph.constant(f"embedded.{part}", weights[f"embeddings.LayerNorm.{part}"])
        for part in ("weight", "bias")
    ]
    return graph.add("LayerNormalization", [whole, *norm], "hidden", axis=-1, epsilon=1e-12)


def add_pair_scores(graph: Graph, weights: Weights, hidden: str) -> str:
    """Add the scores of the pair, from `[CLS]` and the mean of all tokens."""
    mean = add_pooling(graph, hidden)
    marks = graph.add("Slice", [hidden, "zero", "one", "one"], "first.row")
    first = graph.add("Squeeze", [marks, "one"], "first")
    pair = graph.add("Concat", [first, mean], "pair", axis=1)
    dense = add_dense_layer(graph, weights, "dense", pair)
    return add_dense_layer(graph, weights, "scores", graph.add("Gelu", [dense], "gelu"))


def add_span_scores(graph: Graph, weights: Weights, hidden: str) -> str:
    """Add the start scores of all tokens, then their end scores, then their evidence scores."""
    both = add_dense_layer(graph, weights, "span", hidden)
    return graph.add("Flatten", [graph.add("Transpose", [both], "turned", perm=[0, 2, 1])], "spans")


def add_dense_layer(graph: Graph, weights: Weights, name: str, value: str) -> str:
    """Add `value` times the weights called `name`, plus their bias; always stored in full."""
    matrix = graph.constant(f"{name}.matrix", weights[f"{name}.weight"].T)
    product = graph.add("MatMul", [value, matrix], f"{name}.product")
    bias = graph.constant(f"{name}.bias", weights[f"{name}.bias"])
    return graph.add("Add", [product, bias], f"{name}.out")


def make_integers(*values: int) -> Array:
    """Return a vector of whole numbers."""
    return np.asarray(values, dtype=np.int64)


def read_weights(checkpoint: Path) -> dict[str, Array]:
    """Return the weights of a checkpoint, by name."""
    state = torch.load(checkpoint, weights_only=True, map_location="cpu")["model"]
    return {name: value.float().numpy() for name, value in state.items()}


def make_card(data: bytes, precision: str, limit: int) -> dict[str, object]:
    """Return the model's description for Fathom, with a calibration that changes nothing."""
    return {
        "sha256": hashlib.sha256(data).hexdigest(),
        "tokenizer": TOKENIZER,
        "limit": limit,
        "alone": precision == "int8",
        "calibration": asdict(ReadingCalibration()),
    }


def main() -> None:
    """Read the arguments and write the folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--precision", choices=PRECISIONS, default="fp16+int8")
    parser.add_argument("--start", type=Path, required=True, help="folder of training/encoder.py")
    parser.add_argument("--limit", type=int, default=288, help="tokens it reads at a time")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    model = build_model(read_weights(arguments.checkpoint), arguments.precision)
    data = model.SerializeToString(deterministic=True)
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "cross-reader.onnx").write_bytes(data)
    shutil.copyfile(arguments.start / TOKENIZER, arguments.out / TOKENIZER)
    learned = arguments.checkpoint.with_name(LEARNED)
    if learned.exists():
        shutil.copyfile(learned, arguments.out / LEARNED)
    about = make_card(data, arguments.precision, arguments.limit)
    (arguments.out / "cross-reader.json").write_text(json.dumps(about, indent=1) + "\n")
    print(f"{about['sha256']}  {len(data)}  {arguments.out}")


if __name__ == "__main__":
    main()
