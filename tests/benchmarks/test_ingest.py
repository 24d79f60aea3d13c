"""The measurement of an ingestion without embedding needs only the data, and no model."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import ingest


def test_given_vectors_have_unit_length_and_depend_on_the_text() -> None:
    embedder = ingest.ConstantEmbedder()
    vectors = embedder.embed(["a", "bb", "a", ""])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert (vectors[0] == vectors[2]).all()
    assert embedder.embed([]).shape == (0, ingest.DIMENSION)


@pytest.mark.parametrize("kind", ["files", "records"])
def test_each_text_is_a_document_and_every_run_gives_the_same(
    kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    command = ["ingest", "--files", "12", "--vectors", "given", "--workers", "1", "--as", kind]
    monkeypatch.setattr(sys, "argv", [*command, "--repeat", "2"])
    ingest.main()
    payload = json.loads(capsys.readouterr().out)
    assert payload["same_content"]
    (run,) = payload["runs"]
    assert run["documents_per_s"] > 0
    assert run["first_found_s"] is None
