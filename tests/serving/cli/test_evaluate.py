"""`fathom eval`: the contract of its rows, resuming, comparing, and the choice of the index."""

import json
from pathlib import Path

import pytest
from tests.evaluation.test_datasets import write_dataset
from tests.serving.cli.test_app import CommandRunner, check_one_line, run

from fathom import engine as engine_module
from fathom.errors import ModelError, UsageError
from fathom.retrieval.keyword import KeywordRetriever
from fathom.serving.cli.evaluate import expand_variants

__all__ = ["run"]

CORPUS = (
    '{"_id": "d1", "title": "Fees", "text": "A mooring permit costs 40 crowns a year."}\n'
    '{"_id": "d2", "title": "Fees", "text": "A mooring permit costs 50 gulden a year."}\n'
)
QUESTION = "How much does a mooring permit cost?"
QUERIES = "".join(
    json.dumps(
        {"_id": q, "text": QUESTION, "answers": [gold], "metadata": {"documents": [document]}}
    )
    + "\n"
    for q, gold, document in (("q1", "40 crowns", "d1"), ("q2", "50 gulden", "d2"))
)
QRELS = "q1\td1\t1\nq2\td2\t1\n"
SURE = ("--set", "ask.min_confidence=0")


def test_a_setting_is_varied_once_and_each_value_tried_once() -> None:
    assert expand_variants(["rrf.k=1,2,1"]) == [{"rrf.k": "1"}, {"rrf.k": "2"}]
    with pytest.raises(UsageError, match=r"rrf\.k is varied twice: name all its values at once"):
        expand_variants(["rrf.k=1", "rrf.k=2"])


@pytest.fixture
def toy_dataset(tmp_path: Path) -> str:
    (tmp_path / "toy").mkdir()
    return str(write_dataset(tmp_path / "toy", CORPUS, QUERIES, QRELS))


def test_strategies_give_rows_of_answers(run: CommandRunner, toy_dataset: str) -> None:
    (row,) = run("eval", toy_dataset, "--strategy", "naive", *SURE, "--json").json["rows"]
    assert list(row) == [
        "dataset", "system", "queries", "measures", "intervals", "latency_s", "usage",
    ]  # fmt: skip
    assert (row["dataset"], row["system"], row["queries"]) == ("toy", "naive", 2)
    assert row["measures"]["R@5"] == row["measures"]["answered"] == 1.0
    assert set(row["intervals"]) <= set(row["measures"])
    assert row["usage"]["retrievals"] == 1
    assert set(row["latency_s"]) == {"p50", "p95"}


def test_each_question_may_use_only_its_own_documents(
    run: CommandRunner, toy_dataset: str, tmp_path: Path
) -> None:
    assert run("eval", toy_dataset, "--strategy", "naive", *SURE, "--records", "kept").code == 0
    lines = (tmp_path / "kept" / "toy" / "naive.jsonl").read_text().splitlines()
    evidence = {row["question"]: row["evidence"] for row in map(json.loads, lines)}
    assert evidence == {"q1": ["d1"], "q2": ["d2"]}


def test_a_folder_of_files_is_evaluated_in_its_own_index_or_one_that_contains_it(
    run: CommandRunner, tmp_path: Path
) -> None:
    corpus = tmp_path / "fees" / "corpus"
    corpus.mkdir(parents=True)
    (corpus / "moorings.md").write_text("# Fees\n\nA mooring permit costs 40 crowns a year.")
    (corpus / "broken.pdf").write_bytes(b"%PDF-1.7 and no more")
    query = {"answers": ["40 crowns"], "metadata": {"relevant": ["moorings.md"]}}
    (tmp_path / "fees" / "questions.jsonl").write_text(
        json.dumps({"_id": "q1", "text": QUESTION} | query)
    )
    ask = ("eval", str(tmp_path / "fees"), "--strategy", "naive", *SURE, "--json")
    (row,) = run(*ask).json["rows"]
    assert row["measures"]["R@5"] == row["measures"]["answered"] == 1.0
    assert (tmp_path / ".fathom" / "eval" / "fees").is_dir()

    assert run("ingest", str(corpus), "--index", "held").code == 6
    (held,) = run(*ask, "--index", "held").json["rows"]
    assert held["measures"] == row["measures"]
    assert not (tmp_path / "held" / "eval").exists()


def test_matching_records_are_continued_and_others_refused(
    run: CommandRunner, toy_dataset: str, tmp_path: Path
) -> None:
    ask = ("eval", toy_dataset, "--strategy", "naive", "--records", "kept", *SURE)
    run(*ask, "--queries", "1")
    file = tmp_path / "kept" / "toy" / "naive.jsonl"
    before = file.read_text()
    assert before.count("\n") == 1
    assert run(*ask, "--json").json["rows"][0]["queries"] == 2
    assert file.read_text().startswith(before)
    check_one_line(run(*ask, "--set", "ask.chunks=3"), 2, "naive.jsonl:1", "another index")


def test_a_comparison_is_stated_in_a_sentence(run: CommandRunner, toy_dataset: str) -> None:
    ask = ("eval", toy_dataset, "--compare", "naive", "rrf", *SURE)
    assert "naive and rrf cannot be told apart in F1 on toy: " in run(*ask).out
    comparisons = run(*ask, "--json").json["comparisons"]
    assert {"measure", "difference", "interval", "p", "p_holm", "sentence"} <= set(comparisons[0])


def test_a_system_is_not_compared_with_itself(run: CommandRunner, toy_dataset: str) -> None:
    message = "naive cannot be compared with itself"
    check_one_line(run("eval", toy_dataset, "--compare", "naive", "naive"), 2, message)


def test_everything_is_refused_before_the_first_question(
    run: CommandRunner, toy_dataset: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = ("eval", toy_dataset, "--strategy", "rrf")
    varied = (*ask, "--retriever", "keyword", "--vary", "rrf.k=1,2")
    run(*ask, "--save-baseline", "one.json")
    run(*varied, "--save-baseline", "varied.json")
    assert run(*varied, "--gate", "varied.json").code == 0

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("a question was asked")

    monkeypatch.setattr(engine_module.Engine, "arun", fail)
    monkeypatch.setattr(KeywordRetriever, "retrieve", fail)
    check_one_line(run(*ask, "--vary", "rrf.k=1,much"), 2, "rrf.k = 'much'")
    check_one_line(run(*varied, "--gate", "one.json"), 2, "keyword (rrf.k=1) on toy is not in one")
    check_one_line(run(*ask, "--queries", "1", "--gate", "one.json"), 2, "differs from that in one")
    queries = tmp_path / "toy" / "queries.jsonl"
    queries.write_text(queries.read_text().replace("How much does", "What does"))
    check_one_line(run(*ask, "--gate", "one.json"), 2, "q1 of toy differs from that in one")


def test_each_paper_has_an_index_of_its_own(
    run: CommandRunner, toy_dataset: str, tmp_path: Path
) -> None:
    ask = ("eval", toy_dataset, "--strategy", "naive", "--paper", "maf", "--json")
    rows = run(*ask).json["rows"]
    assert [row["system"] for row in rows] == ["naive", "maf (ask.paper=maf)"]
    assert {item.name for item in (tmp_path / ".fathom" / "eval").iterdir()} == {"toy", "toy@maf"}


def test_two_retrievers_are_compared_by_ranking_measures(
    run: CommandRunner, toy_dataset: str
) -> None:
    ask = ("eval", toy_dataset, "--retriever", "hybrid,keyword", "--compare", "hybrid", "keyword")
    rows = run(*ask, "--json").json
    assert [row["system"] for row in rows["rows"]] == ["hybrid", "keyword"]
    assert [comparison["measure"] for comparison in rows["comparisons"]] == [
        "nDCG@10", "R@10", "RR@10", "Hit@10", "F1@10",
    ]  # fmt: skip
    assert "hybrid and keyword cannot be told apart in nDCG@10 on toy" in run(*ask).out


def test_retrievers_are_swept(run: CommandRunner, toy_dataset: str, tmp_path: Path) -> None:
    ask = (
        "eval",
        toy_dataset,
        "--vary",
        "retrieval.vector_weight=0.1,0.9",
        "--records",
        "kept",
        "--json",
    )
    rows = run(*ask).json["rows"]
    assert [row["system"] for row in rows] == [
        "hybrid (retrieval.vector_weight=0.1)", "hybrid (retrieval.vector_weight=0.9)",
    ]  # fmt: skip
    assert len(list((tmp_path / "kept" / "toy").iterdir())) == 2


def test_an_index_of_the_data_set_is_used_unchanged(
    run: CommandRunner, toy_dataset: str, tmp_path: Path
) -> None:
    run("ingest", toy_dataset, "--index", "mine")
    assert run("eval", toy_dataset, "--index", "mine", "--strategy", "naive").code == 0
    assert not (tmp_path / "mine" / "eval").exists()


def test_an_index_of_other_documents_is_left_alone(
    run: CommandRunner, toy_dataset: str, tmp_path: Path
) -> None:
    (tmp_path / "other.md").write_text("Something else.\n")
    run("ingest", str(tmp_path / "other.md"))
    assert run("eval", toy_dataset, "--strategy", "naive").code == 0
    assert (tmp_path / ".fathom" / "eval" / "toy" / "fathom.db").exists()
    assert run("status", "--json").json["documents"] == 1


def test_retrievers_have_rows_and_records_too(
    run: CommandRunner, toy_dataset: str, tmp_path: Path
) -> None:
    ask = ("eval", toy_dataset, "--retriever", "keyword,vector", "--records", "kept")
    rows = run(*ask, "--json").json["rows"]
    assert [row["system"] for row in rows] == ["keyword", "vector"]
    assert "nDCG@10" in rows[0]["measures"]
    assert list(rows[0]) == [
        "dataset", "system", "queries", "measures", "intervals", "latency_s", "usage",
    ]  # fmt: skip
    records_file = tmp_path / "kept" / "toy" / "keyword.ranked.jsonl"
    before = records_file.read_text()
    evidence = {row["question"]: row["evidence"] for row in map(json.loads, before.splitlines())}
    assert evidence == {"q1": ["d1"], "q2": ["d2"]}
    again = run(*ask, "--json").json["rows"]
    assert (again, records_file.read_text()) == (rows, before)


def test_retrievers_are_listed_beside_strategies(run: CommandRunner, toy_dataset: str) -> None:
    both = run("eval", toy_dataset, "--retriever", "keyword", "--strategy", "naive")
    assert "nDCG@10" in both.out
    assert "wrong-on-answerable" in both.out
    assert run("eval", toy_dataset, "--json").json["rows"][0]["system"] == "hybrid"


def test_mistakes_are_one_line(run: CommandRunner, toy_dataset: str) -> None:
    check_one_line(run("eval", toy_dataset, "--strategy", "magic"), 2, "strategy 'magic'", "naive")
    check_one_line(run("eval", toy_dataset, "--compare", "naive", "magic"), 2, "strategy 'magic'")
    check_one_line(run("eval", toy_dataset, "--strategy", "naive", "-m", "nonsense"), 2)


def test_failures_are_reported_and_if_all_fail_the_exit_code_says_so(
    run: CommandRunner, toy_dataset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ModelError("no such weights")

    monkeypatch.setattr(engine_module.Engine, "arun", fail)
    ran = run("eval", toy_dataset, "--strategy", "naive", "--deadline", "5", "--json")
    assert (ran.code, ran.json["rows"][0]["measures"]["failed"]) == (5, 1.0)
    assert "toy naive: 2 of 2 questions failed; the first, q" in ran.err
    assert "ModelError: no such weights" in ran.err


def test_a_failed_ranking_counts_and_is_reported(
    run: CommandRunner, toy_dataset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ModelError("no such weights")

    run("eval", toy_dataset, "--retriever", "keyword")
    monkeypatch.setattr(KeywordRetriever, "retrieve", fail)
    ran = run("eval", toy_dataset, "--retriever", "keyword", "--json")
    measures = ran.json["rows"][0]["measures"]
    assert (ran.code, measures["failed"], measures["nDCG@10"]) == (5, 1.0, 0.0)
    assert "toy keyword: 2 of 2 questions failed; the first, q" in ran.err


def test_without_judged_questions_there_is_no_ranking(run: CommandRunner, tmp_path: Path) -> None:
    (tmp_path / "bare").mkdir()
    bare = write_dataset(tmp_path / "bare", CORPUS, QUERIES, "")
    check_one_line(run("eval", str(bare), "--retriever", "keyword"), 2, "bare: no judged question")


def test_a_file_of_questions_is_asked_of_the_current_index(
    run: CommandRunner, tmp_path: Path
) -> None:
    corpus = tmp_path / "notes"
    corpus.mkdir()
    (corpus / "moorings.md").write_text("# Fees\n\nA mooring permit costs 40 crowns a year.")
    (corpus / "ferry.md").write_text("# Ferry\n\nThe ferry to Sandholm leaves at 9:15.")
    run("ingest", str(corpus))
    query = {"_id": "q", "text": "How much does a mooring permit cost?", "answers": ["40 crowns"]}
    rows = [
        {**query, "metadata": {"relevant": ["moorings.md"]}},
        {**query, "_id": "w", "answers": [],
         "metadata": {"answerable": False, "without": ["moorings.md"]}},
    ]  # fmt: skip
    Path("mine.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    evaluated = run("eval", "mine.jsonl", "--strategy", "naive", "--records", "kept", "--json")
    (row,) = evaluated.json["rows"]
    assert (row["dataset"], row["queries"]) == ("mine", 2)
    lines = Path("kept/mine/naive.jsonl").read_text().splitlines()
    evidence = {row["question"]: row["evidence"] for row in map(json.loads, lines)}
    held = {Path(d["path"]).name: d["id"] for d in run("docs", "list", "--json").json["documents"]}
    assert held["moorings.md"] in evidence["q"]
    assert evidence["w"] == [held["ferry.md"]]  # asked as if the other one were not there
    assert not Path(".fathom/eval").exists()
