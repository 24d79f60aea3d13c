"""The table of query encoders with costs and losses."""

import gzip
import json
from pathlib import Path

import pytest
from benchmarks.query_encoder import load_embedders, measure_losses, measure_times, read_questions
from tests.factories import disable_sandbox

from benchmarks import embedder_loss
from fathom.engine import Engine
from fathom.models.embedder import SHIPPED_INT8
from fathom.settings import Settings

DOCUMENTS = {"d1": "A mooring permit costs 40 crowns.", "d2": "The ferry sails at noon."}
QUESTIONS = {"q1": ("What does mooring cost?", "d1"), "q2": ("When does the ferry leave?", "d2")}


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    folder = tmp_path / "harbour"
    folder.mkdir()
    corpus = [{"_id": name, "title": name, "text": text} for name, text in DOCUMENTS.items()]
    queries = [{"_id": name, "text": text} for name, (text, _) in QUESTIONS.items()]
    for name, records in (("corpus", corpus), ("queries", queries)):
        lines = "\n".join(map(json.dumps, records))
        (folder / f"{name}.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    rows = [f"{name}\t{document}\t1" for name, (_, document) in QUESTIONS.items()]
    (folder / "qrels.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows]) + "\n")
    return folder


def test_costs_are_ratios_of_the_same_round(dataset: Path) -> None:
    rows = {
        row["query_encoder"]: row
        for row in measure_times(read_questions(dataset, 9), 2, load_embedders(None))
    }

    assert rows["same"]["of_same"] == rows["same"]["cosine_mean"] == 1
    assert rows["same, one thread"]["cosine_p1"] == pytest.approx(1, abs=1e-6)
    cosine = rows["rounded"]["cosine_mean"]
    assert isinstance(cosine, float)
    assert 0.98 < cosine < 1


def test_losses_are_reported_question_by_question(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disable_sandbox(monkeypatch)
    index = tmp_path / "index"
    encoders = load_embedders(None)
    settings = Settings.model_validate({"index": {"directory": index}})
    with Engine(settings, embedder=encoders["same"]) as engine:
        engine.ingest([dataset])

    rows = list(measure_losses(dataset, index, 9, encoders))

    assert [(row["encoder"], row["system"]) for row in rows] == [
        ("rounded", "vector"),
        ("rounded", "hybrid"),
    ]
    assert all((row["questions"], row["difference"]) == (2, 0) for row in rows)


def test_an_embedder_of_texts_is_compared_over_an_index_of_its_own(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disable_sandbox(monkeypatch)

    rows = list(embedder_loss.measure_losses(dataset, tmp_path, SHIPPED_INT8, 9))

    assert [(row["encoder"], row["system"]) for row in rows] == [
        (SHIPPED_INT8, "vector"),
        (SHIPPED_INT8, "hybrid"),
    ]
    assert {row["questions"] for row in rows} == {2}
    assert (tmp_path / SHIPPED_INT8 / dataset.name).is_dir()
