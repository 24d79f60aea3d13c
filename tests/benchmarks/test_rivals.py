"""The part of the comparison with rivals that needs none of their environments."""

import csv
import gzip
import importlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.rivals import __main__ as runner
from benchmarks.rivals.corpus import CHARS, load
from benchmarks.rivals.embedder import Table, TimedEmbedder
from benchmarks.rivals.environments import PINS, list_versions, prepare_python
from benchmarks.rivals.report import END, NAMES, START, format_results, read_files, rewrite_page

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "rivals" / "results"
PAGE = ROOT / "docs" / "speed.md"


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    folder = tmp_path / "beir"
    folder.mkdir()
    rows = [
        {"_id": f"d{number}", "title": f"Title {number}", "text": "word " * 60}
        for number in range(50)
    ]
    rows.append(rows[0] | {"_id": "twin"})
    write_rows(folder / "corpus.jsonl.gz", rows)
    write_rows(
        folder / "queries.jsonl.gz", [{"_id": f"q{n}", "text": f"ask {n}"} for n in range(9)]
    )
    with (folder / "qrels.tsv").open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, delimiter="\t")
        lines.writerow(["query-id", "corpus-id", "score"])
        lines.writerows([f"q{number}", f"d{40 + number}", 1 + number % 2] for number in range(9))
        lines.writerow(["q0", "d1", 0])
    return folder


def write_rows(path: Path, rows: list[dict[str, str]]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def test_the_cut_contains_the_relevant_documents_and_is_reproducible(dataset: Path) -> None:
    corpus = load(dataset, 20, 5)
    assert len(corpus.documents) == 20
    assert len(corpus.questions) == 5
    for grades in corpus.relevant.values():
        assert grades.keys() <= corpus.documents.keys()
        assert 0 not in grades.values()
    assert load(dataset, 20, 5) == corpus


def test_a_larger_cut_begins_with_the_smaller_one(dataset: Path) -> None:
    small, large = load(dataset, 20, 5), load(dataset, 40, 5)
    assert list(large.documents)[:20] == list(small.documents)
    assert large.questions == small.questions


def test_texts_are_short_and_distinct(dataset: Path) -> None:
    texts = list(load(dataset, 100, 5).documents.values())
    assert len(texts) == len(set(texts)) == 50
    assert max(map(len, texts)) <= CHARS


def test_the_table_is_continued_and_equals_the_embedder(tmp_path: Path) -> None:
    texts = ["a ferry", "a harbour", "a permit"]
    first = Table(tmp_path, texts)
    assert not first.fill(0.0)  # no time
    assert first.fill(float("inf"))
    again = Table(tmp_path, texts)
    assert (again.done, again.seconds) == (3, first.seconds)
    looked_up = TimedEmbedder(again)
    assert (looked_up.embed(texts[1:]) == first.matrix[1:]).all()
    assert looked_up.seconds == 0
    mixed = looked_up.embed(["another", "a permit"])
    assert (mixed[1] == first.matrix[2]).all()
    assert mixed[0] == pytest.approx(TimedEmbedder().embed(["another"])[0], abs=1e-5)
    assert looked_up.seconds > 0


def test_a_table_of_other_texts_is_rebuilt(tmp_path: Path) -> None:
    Table(tmp_path, ["a ferry"]).fill(float("inf"))
    assert Table(tmp_path, ["a train"]).done == 0


def test_every_system_has_versions_a_name_and_a_class() -> None:
    systems = importlib.import_module("benchmarks.rivals.systems").SYSTEMS
    assert list(PINS) == list(NAMES) == list(systems)
    for name, pins in PINS.items():
        assert list_versions(name)["fathom"]
        assert name == "fathom" or {"numpy", "onnxruntime", "tokenizers"} < pins.keys()


def test_the_environment_of_fathom_is_the_running_one(tmp_path: Path) -> None:
    assert prepare_python("fathom", tmp_path).exists()
    assert list(tmp_path.iterdir()) == []


def test_a_small_run_publishes_nothing(tmp_path: Path) -> None:
    small = runner.parse_plan(["--small", "--work", str(tmp_path)])
    assert (small.sizes, small.results) == ([300], tmp_path / "small")
    whole = runner.parse_plan(["--documents", "2000", "100000", "--rounds", "3"])
    assert (whole.sizes, whole.rounds, whole.results) == ([2000, 100_000], 3, RESULTS)


def test_only_missing_or_stale_measurements_are_run(dataset: Path, tmp_path: Path) -> None:
    arguments = [
        "--small",
        "--systems",
        "fathom",
        "--work",
        str(tmp_path),
        "--dataset",
        str(dataset),
    ]
    plan = replace(runner.parse_plan(arguments), rounds=1)
    file = tmp_path / "small" / "fathom-50.json"
    file.parent.mkdir()
    file.write_text(json.dumps(make_result("fathom", 1, 1.0)), encoding="utf-8")  # of another cut
    runner.run(plan)
    before = file.read_text(encoding="utf-8")
    (first_round,) = json.loads(before)["rounds"]
    assert 0 <= first_round["ndcg"] <= 1 < first_round["search_mb"]
    assert (
        first_round["unforeseen_embedding_s"] == 0
    )  # the vectors were made before, if of fewer documents
    assert 0 < first_round["own_p50_ms"] < first_round["p50_ms"] <= first_round["p95_ms"]
    assert first_round["answer_p50_ms"] > first_round["p50_ms"]
    assert first_round["answers_a_second"] > 0
    assert 0 <= first_round["said"] <= 5
    runner.run(plan)
    assert file.read_text(encoding="utf-8") == before


def test_a_missing_data_set_is_reported_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"no data set at .*--dataset"):
        runner.run(runner.parse_plan(["--dataset", str(tmp_path / "none")]))


def make_result(system: str, times: float, load: float) -> dict[str, Any]:
    first_round = {
        "ingest_s": 2.0 * times,
        "first_hit_s": 0.5 * times,
        "ingest_mb": 100 * times,
        "search_mb": 150 * times,
        "p50_ms": 8.0 * times,
        "p95_ms": 12.0 * times,
        "own_p50_ms": 2.0 * times,
        "ndcg": 0.5,
        "answers_a_second": 6.0 / times,
        "said": 4,
        "answer_mb": 300 * times,
        "load": load,
        "cores": 2,
    }
    slower = first_round | {"p50_ms": 16.0 * times}
    versions = {"fathom": "1.2.3"} if system == "fathom" else {"fathom": "1.2.3", "part": "4.5"}
    return {
        "system": system,
        "documents": 1000,
        "questions": 7,
        "versions": versions,
        "embedder": "an-embedder",
        "embedding_s": 8.0,
        "commit": "0a1b2c3d",
        "date": "2026-11-30",
        "machine": "Linux, 2 cores",
        "rounds": [first_round, slower | {"p50_ms": 12.0 * times}, slower],
    }


def test_the_page_shows_medians_and_ratios_within_rounds() -> None:
    page = format_results([make_result("txtai", 3, 1.0), make_result("fathom", 1, 1.5)])
    assert "### 1,000 documents\n\n7 questions, 3 rounds; load 1.0 to 1.5 on 2 cores. Emb" in page
    assert "with an-embedder took 8 s, once for all. 2026-11-30, 0a1b2c3d, Linux, 2 cores." in page
    ours = "| 100 | 2.0 | 0.50 | 100 | 150 | 12.0 | 12.0 | 2.0 | 0.500 | 6.0 | 4 | 300 |"
    assert f"| Fathom 1.2.3 {ours}" in page
    theirs = "| 71 | 6.0 | 1.50 | 300 | 450 | 36.0 | 36.0 | 6.0 | 0.500 | 2.0 | 4 | 900 |"
    assert f"| txtai 4.5 {theirs}" in page
    assert page.index("Fathom 1.2.3") < page.index("txtai 4.5")
    assert "| hybrid p50 | 3.00 (3.00 to 3.00) |" in page
    assert "| time to ingest | 1.40 (1.40 to 1.40) |" in page
    assert "| answers per second | 0.33 (0.33 to 0.33) |" in page


def test_the_page_reports_a_busy_machine() -> None:
    assert "busy" not in format_results([make_result("fathom", 1, 1.9)])
    assert "busy" in format_results([make_result("fathom", 1, 2.1)])


def test_the_page_is_rewritten_between_its_marks_only(tmp_path: Path) -> None:
    page, results = tmp_path / "page.md", tmp_path / "results"
    results.mkdir()
    (results / "fathom-1000.json").write_text(json.dumps(make_result("fathom", 1, 1.0)))
    page.write_text(f"before\n{START}\nold\n{END}\nafter\n", encoding="utf-8")
    rewrite_page(page, results)
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"before\n{START}\n### 1,000 documents")
    assert text.endswith(f"{END}\nafter\n")
    assert "old" not in text


def test_the_published_page_matches_the_result_files() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert f"{START}\n{format_results(read_files(RESULTS))}{END}" in text


def test_the_published_results_have_the_pinned_versions_and_looked_up_most_vectors() -> None:
    for entry in read_files(RESULTS):
        measured = {name: pin for name, pin in entry["versions"].items() if name != "fathom"}
        assert measured == PINS[entry["system"]]
        for measured_round in entry["rounds"]:
            assert measured_round["unforeseen_embedding_s"] < entry["embedding_s"] / 20
