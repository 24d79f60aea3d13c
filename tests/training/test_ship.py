import hashlib
import json
from pathlib import Path

import pytest
from experiments.lab.clean import find_models_without_manifest
from research.contamination import Manifest, write_manifest
from training.cross_reader.ship import ship

LAW = {"relevance": [1.0, 0.5], "answerable": [1.0, 0.0, 0.0], "support": 1.0}
FIGURES = {"calibration": LAW, "squad-fresh": {"rows": 3}}


def write_export(folder: Path, *, sha256: str = hashlib.sha256(b"weights").hexdigest()) -> None:
    folder.mkdir()
    (folder / "cross-reader.onnx").write_bytes(b"weights")
    (folder / "tokenizer.json").write_text("tokens")
    about = {"sha256": sha256, "tokenizer": "tokenizer.json", "limit": 288, "alone": True}
    (folder / "cross-reader.json").write_text(json.dumps(about | {"calibration": {}}))


def test_the_card_belongs_to_the_model(tmp_path: Path) -> None:
    model, figures, into = tmp_path / "model", tmp_path / "f.json", tmp_path / "into"
    into.mkdir()
    write_export(model)
    figures.write_text(json.dumps(FIGURES), encoding="utf-8")

    with pytest.raises(FileNotFoundError, match=r"learned\.json\.gz"):
        ship(model, figures, into, tmp_path)
    assert not any(into.iterdir())
    write_manifest(model / "learned.json.gz", Manifest(what="learned"))

    ship(model, figures, into, tmp_path)

    about = json.loads((into / "cross-reader.json").read_text(encoding="utf-8"))
    assert (into / "cross-reader.onnx").read_bytes() == b"weights"
    assert (into / "tokenizer.json").read_text() == "tokens"
    assert about["sha256"] == hashlib.sha256(b"weights").hexdigest()
    assert (about["tokenizer"], about["limit"], about["alone"]) == ("tokenizer.json", 288, True)
    assert about["calibration"] == LAW
    assert [*find_models_without_manifest(into, tmp_path)] == []
    assert about["learned_from"]["squad-dev"] == "CC BY-SA 4.0"
    assert not any("BY-NC" in licence for licence in about["learned_from"].values())


def test_a_card_of_another_model_is_refused(tmp_path: Path) -> None:
    write_export(tmp_path / "model", sha256="0" * 64)
    (tmp_path / "f.json").write_text(json.dumps(FIGURES), encoding="utf-8")

    with pytest.raises(ValueError, match="another model: export again"):
        ship(tmp_path / "model", tmp_path / "f.json", tmp_path, tmp_path)
