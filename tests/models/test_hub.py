import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from fathom.errors import ModelError
from fathom.models.embedder import load_embedder
from fathom.models.hub import load_hub_embedder

WORDS = ["[UNK]", "<s>", "</s>", "red", "blue"]
TABLE = np.array([[0, 0, 1], [2, 0, 0], [0, 2, 0], [4, 0, 0], [0, 4, 0]], dtype=np.float32)


def write_model(path: Path) -> None:
    """Write a model that computes last_hidden_state = TABLE[input_ids] * attention_mask."""
    ids = [helper.make_tensor_value_info(n, TensorProto.INT64, ["b", "t"]) for n in INPUTS]
    out = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["b", "t", 3])
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "last"], ["column"]),
        helper.make_node("Mul", ["rows", "column"], ["last_hidden_state"]),
    ]
    constants = [
        numpy_helper.from_array(TABLE, "table"),
        numpy_helper.from_array(np.array([-1]), "last"),
    ]
    graph = helper.make_graph(nodes, "tiny", ids, [out], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.parent.mkdir(parents=True)
    onnx.save(model, path)


INPUTS = ("input_ids", "attention_mask")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_model(tmp_path / "onnx" / "model.onnx")
    ids = {word: number for number, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    marks = [("<s>", 1), ("</s>", 2)]
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A </s>", special_tokens=marks)
    tokenizer.enable_padding(length=16)  # as many models' files ask for; it must not matter
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    return tmp_path


def pool(folder: Path, mode: str) -> None:
    (folder / "1_Pooling").mkdir()
    config = {"word_embedding_dimension": 3, f"pooling_mode_{mode}": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(config))


def test_mean_pooling_is_as_computed_by_hand(folder: Path) -> None:
    embedder = load_embedder(str(folder), offline=True)

    # <s> red </s>: the mean of (2,0,0), (4,0,0), (0,2,0) points to (6, 2, 0).
    expected = np.array([6, 2, 0]) / np.sqrt(40)
    np.testing.assert_allclose(embedder.embed(["red"])[0], expected, rtol=1e-6)
    assert embedder.dimension == 3
    assert embedder.count("red blue green") == 3


def test_cls_pooling_is_as_computed_by_hand(folder: Path) -> None:
    pool(folder, "cls_token")

    vectors = load_hub_embedder(str(folder)).embed(["blue", "red"])

    np.testing.assert_array_equal(vectors, [[1, 0, 0], [1, 0, 0]])


def test_a_batch_gives_the_bytes_of_each_alone(folder: Path) -> None:
    embedder = load_hub_embedder(str(folder))
    texts = ["red", "blue red", "red blue", "", "green", "blue blue blue", "red"]

    alone = [embedder.embed([text]).tobytes() for text in texts]

    assert [row.tobytes() for row in embedder.embed(texts)] == alone


def test_texts_are_cut_at_the_models_limit_and_counted_whole(folder: Path) -> None:
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 4}')
    embedder = load_hub_embedder(str(folder))

    cut, short = embedder.embed(["red blue blue blue blue", "red blue"])

    assert cut.tobytes() == short.tobytes()
    assert embedder.count("red blue blue blue blue") == 5


def test_half_of_a_surrogate_pair_is_another_character(folder: Path) -> None:
    embedder = load_hub_embedder(str(folder))
    assert embedder.embed(["a \ud83d"]).tolist() == embedder.embed(["a ?"]).tolist()
    assert embedder.count("a \ud83d") == embedder.count("a ?")


def test_equal_files_have_equal_digests_and_others_differ(folder: Path) -> None:
    before = load_hub_embedder(str(folder)).identity
    model = folder / "onnx" / "model.onnx"
    changed = onnx.load(model)
    changed.doc_string = "another"
    onnx.save(changed, model)

    after = load_hub_embedder(str(folder)).identity

    assert before["model"] == after["model"] == str(folder)
    assert before["sha256"] != after["sha256"]


def test_other_pooling_is_refused(folder: Path) -> None:
    pool(folder, "max_tokens")

    with pytest.raises(ModelError, match="pooling_mode_max_tokens"):
        load_hub_embedder(str(folder))


def test_other_stages_are_refused(folder: Path) -> None:
    stages = [{"type": "sentence_transformers.models.Dense"}]
    (folder / "modules.json").write_text(json.dumps(stages))

    with pytest.raises(ModelError, match="Dense"):
        load_hub_embedder(str(folder))


@pytest.mark.parametrize("name", ["onnx/model.onnx", "tokenizer.json"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()

    with pytest.raises(ModelError, match=name):
        load_hub_embedder(str(folder))


@pytest.mark.parametrize("name", ["tokenizer.json", "modules.json"])
def test_a_broken_file_is_named(folder: Path, name: str) -> None:
    (folder / name).write_text("{")

    with pytest.raises(ModelError, match=name):
        load_hub_embedder(str(folder))


def run_refused(script: str, home: Path, **environment: str) -> str:
    """Return the output of a child process that asks for a model that is not installed."""
    run = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "HF_HOME": str(home), **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return run.stdout


ASK = """
import sys
from fathom.errors import ModelError
from fathom.models.embedder import load_embedder
{before}
try:
    load_embedder("someone/some-model", offline={offline})
except ModelError as error:
    print(error)
"""
NO_SOCKET = """
def no_socket(event, arguments):
    if event.startswith("socket."):
        sys.exit(f"{event} {arguments}")
sys.addaudithook(no_socket)
"""


def test_offline_mode_says_so_and_opens_no_socket(tmp_path: Path) -> None:
    output = run_refused(ASK.format(before=NO_SOCKET, offline=True), tmp_path)

    assert "'someone/some-model' is not on this machine and offline is set" in output
    assert output.count("\n") == 1


def test_a_missing_network_is_reported_in_one_line(tmp_path: Path) -> None:
    script = ASK.format(before="", offline=False)

    output = run_refused(script, tmp_path, HF_ENDPOINT="http://127.0.0.1:9", NO_PROXY="127.0.0.1")

    assert "'someone/some-model' cannot be downloaded" in output
    assert output.count("\n") == 1


def test_the_missing_extra_is_named(tmp_path: Path) -> None:
    script = ASK.format(before="sys.modules['huggingface_hub'] = None", offline=True)

    assert "pip install 'fathom-qa[hub]'" in run_refused(script, tmp_path)
