"""Which questions the shipped calibration is learned from."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from research.contamination import fingerprint_all, locate_manifest, read_manifest
from training.fit_calibration import CARD, chosen
from training.manifest import MANIFESTS

from training import fit_calibration

ASKED = [f"what is the fee for boat {n}?" for n in range(6)]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data set that the list of choices names, whole."""
    folder = tmp_path / "toy"
    folder.mkdir()
    write(folder / "corpus.jsonl", [{"_id": "d", "text": "A fee of 3 crowns."}])
    rows = ({"_id": f"q{n}", "text": text} for n, text in enumerate(ASKED))
    write(folder / "queries.jsonl", rows)
    grades = "".join(f"q{n}\td\t1\n" for n in range(len(ASKED)))
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + grades)
    (tmp_path / "chosen.toml").write_text('[calibration.sets]\ntoy = "all"\n')
    monkeypatch.setattr(fit_calibration, "CHOSEN", tmp_path / "chosen.toml")
    return tmp_path


def write(file: Path, rows: Iterable[object]) -> None:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_no_question_that_the_reader_learned_from_is_asked(data: Path) -> None:
    known = fingerprint_all([ASKED[1].upper(), ASKED[4]])

    ((dataset, most),) = chosen(data, 100, known)

    assert [question.text for question in dataset.questions] == [ASKED[n] for n in (0, 2, 3, 5)]
    assert most == 4


def test_of_a_large_set_so_many_are_asked(data: Path) -> None:
    ((_, most),) = chosen(data, 3, frozenset())
    assert most == 3


def test_the_shipped_reader_has_a_manifest() -> None:
    assert read_manifest(locate_manifest(CARD, MANIFESTS)).questions
