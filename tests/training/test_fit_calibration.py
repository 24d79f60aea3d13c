"""The questions from which the shipped calibration is learned."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from research.contamination import fingerprint_all, locate_manifest, read_manifest
from training.fit_calibration import CARD, load_chosen, measure_transfer
from training.manifest import MANIFESTS

from fathom.calibration.law import LabelledAnswer
from training import fit_calibration

QUESTIONS = [f"what is the fee for boat {n}?" for n in range(6)]


@pytest.fixture
def dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a data set that the list of choices names, whole."""
    folder = tmp_path / "toy"
    folder.mkdir()
    write_rows(folder / "corpus.jsonl", [{"_id": "d", "text": "A fee of 3 crowns."}])
    rows = ({"_id": f"q{n}", "text": text} for n, text in enumerate(QUESTIONS))
    write_rows(folder / "queries.jsonl", rows)
    grades = "".join(f"q{n}\td\t1\n" for n in range(len(QUESTIONS)))
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + grades)
    (tmp_path / "chosen.toml").write_text('[calibration.sets]\ntoy = "all"\n')
    monkeypatch.setattr(fit_calibration, "CHOSEN", tmp_path / "chosen.toml")
    return tmp_path


def write_rows(file: Path, rows: Iterable[object]) -> None:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_no_training_question_of_the_reader_is_asked(dataset: Path) -> None:
    fingerprints = fingerprint_all([QUESTIONS[1].upper(), QUESTIONS[4]])

    ((sample, most),) = load_chosen(dataset, 100, fingerprints)

    assert [question.text for question in sample.questions] == [QUESTIONS[n] for n in (0, 2, 3, 5)]
    assert most == 4


def test_a_limited_number_of_a_large_set_is_asked(dataset: Path) -> None:
    ((_, most),) = load_chosen(dataset, 3, frozenset())
    assert most == 3


def test_a_kind_is_judged_by_a_law_that_has_not_seen_it() -> None:
    # In one kind being sure means being right, in the other being wrong.
    answers = {
        kind: [
            LabelledAnswer({"sure": float(n % 4 - 1.5)}, (n % 4 > 1) != is_reversed)
            for n in range(40)
        ]
        for kind, is_reversed in (("news", False), ("manuals", True))
    }

    news, manuals = measure_transfer(answers)

    assert (news.kind, news.answers, news.right) == ("news", 40, 0.5)
    assert news.auroc < 0.5
    assert manuals.auroc < 0.5
    assert manuals.ece > 0.5


def test_the_shipped_reader_has_a_manifest() -> None:
    assert read_manifest(locate_manifest(CARD, MANIFESTS)).questions
