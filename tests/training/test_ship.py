import hashlib
import json
from pathlib import Path

import pytest
from experiments.lab.clean import without_manifest
from training.cross_reader.ship import ship
from training.manifest import Manifest, write


def test_the_card_belongs_to_the_model(tmp_path: Path) -> None:
    model, figures, folder = tmp_path / "a.onnx", tmp_path / "f.json", tmp_path / "into"
    folder.mkdir()
    model.write_bytes(b"weights")
    law = {"relevance": [1.0, 0.0], "answerable": [1.0, 0.0, 0.0], "support": 1.0}
    figures.write_text(json.dumps({"calibration": law, "reading": {}}), encoding="utf-8")

    with pytest.raises(FileNotFoundError, match=r"learned\.json\.gz"):
        ship(model, figures, folder, tmp_path)
    assert not any(folder.iterdir())
    write(tmp_path / "learned.json.gz", Manifest(what="learned"))

    ship(model, figures, folder, tmp_path)

    about = json.loads((folder / "cross-reader.json").read_text(encoding="utf-8"))
    assert (folder / "cross-reader.onnx").read_bytes() == b"weights"
    assert about["sha256"] == hashlib.sha256(b"weights").hexdigest()
    assert about["calibration"] == law
    assert [*without_manifest(folder, tmp_path)] == []
    assert about["learned_from"]["squad-dev"] == "CC BY-SA 4.0"
    assert not any("BY-NC" in licence for licence in about["learned_from"].values())
