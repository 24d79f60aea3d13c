"""The answers of an experiment are stored, shared, and not requested again."""

from dataclasses import replace
from pathlib import Path

import pytest
from experiments.lab.diary import Diary
from research.contamination import Manifest, fingerprint_all
from tests.experiments.toy import TOML, bench, experiment

from fathom.errors import UsageError


def test_every_arm_is_asked_and_stored(tmp_path: Path) -> None:
    results = bench(tmp_path).collect_results(experiment(tmp_path))
    assert [(cell.set, cell.arm.name) for cell in results.cells] == [
        ("toy", "naive"),
        ("toy", "k = 1"),
        ("toy", "k = 2"),
    ]
    assert [record.system for record in results.cells[1].records] == ["k = 1", "k = 1"]
    questions = [[record.question for record in cell.records] for cell in results.cells]
    assert questions[0] == questions[1] == questions[2]
    stored = {file.name: file.read_bytes() for file in (tmp_path / "work/records/toy").iterdir()}
    assert len(stored) == 3

    again = bench(tmp_path).collect_results(experiment(tmp_path))
    assert again.cells == results.cells
    assert stored == {
        file.name: file.read_bytes() for file in (tmp_path / "work/records/toy").iterdir()
    }


def test_experiments_share_records(tmp_path: Path) -> None:
    at = bench(tmp_path)
    at.collect_results(experiment(tmp_path))
    other = TOML.replace('name = "k = {}"', 'name = "{} candidates"').replace(
        "k = 1", "1 candidates"
    )
    results = at.collect_results(experiment(tmp_path, other))
    assert results.cells[1].arm.name == "1 candidates"
    assert len(list((tmp_path / "work" / "records" / "toy").iterdir())) == 3


def test_an_arm_may_use_some_data_sets_only(tmp_path: Path) -> None:
    only = TOML.replace('strategy = "rrf"', 'strategy = "rrf"\non = ["elsewhere"]')
    only = only.replace('[["k = 1", "naive"]]', "[]")
    results = bench(tmp_path).collect_results(experiment(tmp_path, only))
    assert [cell.arm.name for cell in results.cells] == ["naive"]


def test_missing_data_are_reported(tmp_path: Path) -> None:
    away = experiment(tmp_path, TOML.replace('set = "toy"', 'set = "away"'))
    with pytest.raises(UsageError, match="no data set 'away'; set SHARED_DATA to the folder"):
        bench(tmp_path).check(away)


def test_the_log_names_questions_and_code(tmp_path: Path) -> None:
    first = replace(bench(tmp_path), commit="aaa")
    few = TOML.replace("queries = 2", "queries = 1")
    assert first.collect_results(experiment(tmp_path, few)).commits == ("aaa",)
    second = replace(bench(tmp_path), commit="bbb")
    assert second.collect_results(experiment(tmp_path)).commits == ("aaa", "bbb")
    assert second.collect_results(experiment(tmp_path, few)).commits == ("aaa", "bbb")
    entries = Diary(tmp_path / "work" / "diary.jsonl").entries
    assert [(e.system, e.asked, e.commit) for e in entries] == [
        ("", 0, "aaa"),
        ("naive", 1, "aaa"),
        ("rrf", 1, "aaa"),
        ("rrf", 1, "aaa"),
        ("naive", 1, "bbb"),
        ("rrf", 1, "bbb"),
        ("rrf", 1, "bbb"),
    ]


GULDEN = fingerprint_all(["A mooring permit costs 50 gulden a year."])


def test_training_questions_are_not_asked(tmp_path: Path) -> None:
    learned = Manifest(what="learned", documents=GULDEN)
    results = replace(bench(tmp_path), manifests=(learned,)).collect_results(experiment(tmp_path))
    assert [[record.question for record in cell.records] for cell in results.cells] == [["q1"]] * 3
    all_ = TOML.replace("queries = 2", "queries = 2, clean = false")
    results = replace(bench(tmp_path), manifests=(learned,)).collect_results(
        experiment(tmp_path, all_)
    )
    assert {len(cell.records) for cell in results.cells} == {2}


def test_all_arms_are_asked_questions_that_none_was_trained_on(tmp_path: Path) -> None:
    chosen = Manifest(what="chosen", systems=frozenset({"rrf"}), questions=frozenset())
    other = replace(chosen, systems=frozenset({"mao"}), documents=GULDEN)
    results = replace(bench(tmp_path), manifests=(chosen, other)).collect_results(
        experiment(tmp_path)
    )
    assert {len(cell.records) for cell in results.cells} == {2}
    used = replace(chosen, documents=GULDEN)
    results = replace(bench(tmp_path), manifests=(used, other)).collect_results(
        experiment(tmp_path)
    )
    assert {len(cell.records) for cell in results.cells} == {1}


def test_a_data_set_without_a_clean_question_must_be_marked(tmp_path: Path) -> None:
    learned = Manifest(what="learned", articles=fingerprint_all(["fees"]))
    marked = replace(bench(tmp_path), manifests=(learned,))
    with pytest.raises(UsageError, match=r"toy: every question was .* or say clean = false"):
        marked.collect_results(experiment(tmp_path))


def test_the_code_of_each_arm_is_noted_when_it_is_asked(tmp_path: Path) -> None:
    first = bench(tmp_path).collect_results(experiment(tmp_path))
    naive, rrf, more = (cell.codes for cell in first.cells)
    assert naive
    assert rrf == more  # the same code with another setting
    assert rrf
    assert all(code.is_current for code in (*naive, *rrf))
    assert "strategies/naive.py" in naive[0].modules
    assert "strategies/rrf.py" not in naive[0].modules
    assert "retrieval/fusion.py" in rrf[0].modules

    # Answers of before keep the code of before.
    diary = tmp_path / "work" / "diary.jsonl"
    diary.write_text(diary.read_text().replace(naive[0].digest, "0"))
    (old,) = bench(tmp_path).collect_results(experiment(tmp_path)).cells[0].codes or ()
    assert (old.digest, old.is_current) == ("0", False)
