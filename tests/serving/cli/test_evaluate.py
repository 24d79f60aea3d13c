"""`fathom eval`: the contract of its rows, resuming, comparing, and which index is used."""

import json
from pathlib import Path

import pytest
from tests.evaluation.test_datasets import write
from tests.serving.cli.test_app import Run, one_line, run

from fathom import engine as engine_module
from fathom.errors import ModelError
from fathom.retrieval.keyword import KeywordRetriever

__all__ = ["run"]

CORPUS = (
    '{"_id": "d1", "title": "Fees", "text": "A mooring permit costs 40 crowns a year."}\n'
    '{"_id": "d2", "title": "Fees", "text": "A mooring permit costs 50 gulden a year."}\n'
)
QUESTION = "How much does a mooring permit cost?"
QUERIES = "".join(
    json.dumps({"_id": q, "text": QUESTION, "answers": [gold], "metadata": {"documents": [own]}})
    + "\n"
    for q, gold, own in (("q1", "40 crowns", "d1"), ("q2", "50 gulden", "d2"))
)
QRELS = "q1\td1\t1\nq2\td2\t1\n"
SURE = ("--set", "ask.min_confidence=0")


@pytest.fixture
def toy(tmp_path: Path) -> str:
    (tmp_path / "toy").mkdir()
    return str(write(tmp_path / "toy", CORPUS, QUERIES, QRELS))


def test_strategies_give_rows_of_answers(run: Run, toy: str) -> None:
    (row,) = run("eval", toy, "--strategy", "naive", *SURE, "--json").json["rows"]
    assert list(row) == [
        "dataset", "system", "queries", "measures", "intervals", "latency_s", "usage",
    ]  # fmt: skip
    assert (row["dataset"], row["system"], row["queries"]) == ("toy", "naive", 2)
    assert row["measures"]["R@5"] == row["measures"]["answered"] == 1.0
    assert set(row["intervals"]) <= set(row["measures"])
    assert row["usage"]["retrievals"] == 1
    assert set(row["latency_s"]) == {"p50", "p95"}


def test_each_question_is_held_to_its_own_documents(run: Run, toy: str, tmp_path: Path) -> None:
    assert run("eval", toy, "--strategy", "naive", *SURE, "--records", "kept").code == 0
    lines = (tmp_path / "kept" / "toy" / "naive.jsonl").read_text().splitlines()
    found = {row["question"]: row["evidence"] for row in map(json.loads, lines)}
    assert found == {"q1": ["d1"], "q2": ["d2"]}


def test_a_folder_of_files_is_evaluated_in_its_own_index_or_one_that_holds_it(
    run: Run, tmp_path: Path
) -> None:
    corpus = tmp_path / "fees" / "corpus"
    corpus.mkdir(parents=True)
    (corpus / "moorings.md").write_text("# Fees\n\nA mooring permit costs 40 crowns a year.")
    (corpus / "broken.pdf").write_bytes(b"%PDF-1.7 and no more")
    asked = {"answers": ["40 crowns"], "metadata": {"relevant": ["moorings.md"]}}
    (tmp_path / "fees" / "questions.jsonl").write_text(
        json.dumps({"_id": "q1", "text": QUESTION} | asked)
    )
    ask = ("eval", str(tmp_path / "fees"), "--strategy", "naive", *SURE, "--json")
    (own,) = run(*ask).json["rows"]
    assert own["measures"]["R@5"] == own["measures"]["answered"] == 1.0
    assert (tmp_path / ".fathom" / "eval" / "fees").is_dir()

    assert run("ingest", str(corpus), "--index", "held").code == 6
    (held,) = run(*ask, "--index", "held").json["rows"]
    assert held["measures"] == own["measures"]
    assert not (tmp_path / "held" / "eval").exists()


def test_records_are_gone_on_with_and_others_refused(run: Run, toy: str, tmp_path: Path) -> None:
    ask = ("eval", toy, "--strategy", "naive", "--records", "kept", *SURE)
    run(*ask, "--queries", "1")
    file = tmp_path / "kept" / "toy" / "naive.jsonl"
    before = file.read_text()
    assert before.count("\n") == 1
    assert run(*ask, "--json").json["rows"][0]["queries"] == 2
    assert file.read_text().startswith(before)
    one_line(run(*ask, "--set", "ask.chunks=3"), 2, "naive.jsonl:1", "another index")


def test_a_comparison_is_said_in_a_sentence(run: Run, toy: str) -> None:
    shown = run("eval", toy, "--compare", "naive", "naive", *SURE)
    assert "cannot be told apart" in shown.out
    assert "naive and naive cannot be told apart in F1 on toy: +0.000" in shown.out
    told = run("eval", toy, "--compare", "naive", "naive", *SURE, "--json").json["comparisons"]
    assert {"measure", "difference", "interval", "p", "p_holm", "sentence"} <= set(told[0])


def test_two_retrievers_are_compared_in_measures_of_rankings(run: Run, toy: str) -> None:
    ask = ("eval", toy, "--retriever", "hybrid,keyword", "--compare", "hybrid", "keyword")
    found = run(*ask, "--json").json
    assert [row["system"] for row in found["rows"]] == ["hybrid", "keyword"]
    assert [comparison["measure"] for comparison in found["comparisons"]] == [
        "nDCG@10", "R@10", "RR@10", "Hit@10", "F1@10",
    ]  # fmt: skip
    assert "hybrid and keyword cannot be told apart in nDCG@10 on toy" in run(*ask).out


def test_retrievers_are_swept(run: Run, toy: str, tmp_path: Path) -> None:
    ask = ("eval", toy, "--vary", "retrieval.vector_weight=0.1,0.9", "--records", "kept", "--json")
    rows = run(*ask).json["rows"]
    assert [row["system"] for row in rows] == [
        "hybrid (retrieval.vector_weight=0.1)", "hybrid (retrieval.vector_weight=0.9)",
    ]  # fmt: skip
    assert len(list((tmp_path / "kept" / "toy").iterdir())) == 2


def test_an_index_of_the_data_set_is_used_as_it_stands(run: Run, toy: str, tmp_path: Path) -> None:
    run("ingest", toy, "--index", "mine")
    assert run("eval", toy, "--index", "mine", "--strategy", "naive").code == 0
    assert not (tmp_path / "mine" / "eval").exists()


def test_an_index_of_other_documents_is_left_alone(run: Run, toy: str, tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("Something else.\n")
    run("ingest", str(tmp_path / "other.md"))
    assert run("eval", toy, "--strategy", "naive").code == 0
    assert (tmp_path / ".fathom" / "eval" / "toy" / "fathom.db").exists()
    assert run("status", "--json").json["documents"] == 1


def test_retrievers_have_rows_and_records_too(run: Run, toy: str, tmp_path: Path) -> None:
    ask = ("eval", toy, "--retriever", "keyword,vector", "--records", "kept")
    rows = run(*ask, "--json").json["rows"]
    assert [row["system"] for row in rows] == ["keyword", "vector"]
    assert "nDCG@10" in rows[0]["measures"]
    assert list(rows[0]) == [
        "dataset", "system", "queries", "measures", "intervals", "latency_s", "usage",
    ]  # fmt: skip
    kept = tmp_path / "kept" / "toy" / "keyword.ranked.jsonl"
    before = kept.read_text()
    found = {row["question"]: row["evidence"] for row in map(json.loads, before.splitlines())}
    assert found == {"q1": ["d1"], "q2": ["d2"]}
    again = run(*ask, "--json").json["rows"]
    assert (again, kept.read_text()) == (rows, before)


def test_retrievers_stand_beside_strategies(run: Run, toy: str) -> None:
    both = run("eval", toy, "--retriever", "keyword", "--strategy", "naive")
    assert "nDCG@10" in both.out
    assert "wrong-on-answerable" in both.out
    assert run("eval", toy, "--json").json["rows"][0]["system"] == "hybrid"


def test_mistakes_are_one_line(run: Run, toy: str) -> None:
    one_line(run("eval", toy, "--strategy", "magic"), 2, "strategy 'magic'", "naive")
    one_line(run("eval", toy, "--compare", "naive", "magic"), 2, "strategy 'magic'")
    one_line(run("eval", toy, "--strategy", "naive", "-m", "nonsense"), 2)


def test_failures_are_told_and_when_all_fail_the_code_says_so(
    run: Run, toy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: object, **__: object) -> None:
        raise ModelError("no such weights")

    monkeypatch.setattr(engine_module.Engine, "arun", breaks)
    ran = run("eval", toy, "--strategy", "naive", "--deadline", "5", "--json")
    assert (ran.code, ran.json["rows"][0]["measures"]["failed"]) == (5, 1.0)
    assert "toy naive: 2 of 2 questions failed; the first, q" in ran.err
    assert "ModelError: no such weights" in ran.err


def test_a_ranking_that_breaks_counts_and_is_told(
    run: Run, toy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: object, **__: object) -> None:
        raise ModelError("no such weights")

    run("eval", toy, "--retriever", "keyword")
    monkeypatch.setattr(KeywordRetriever, "retrieve", breaks)
    ran = run("eval", toy, "--retriever", "keyword", "--json")
    measures = ran.json["rows"][0]["measures"]
    assert (ran.code, measures["failed"], measures["nDCG@10"]) == (5, 1.0, 0.0)
    assert "toy keyword: 2 of 2 questions failed; the first, q" in ran.err


def test_where_no_question_is_judged_there_is_no_ranking(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bare").mkdir()
    bare = write(tmp_path / "bare", CORPUS, QUERIES, "")
    one_line(run("eval", str(bare), "--retriever", "keyword"), 2, "bare: no judged question")


def test_a_file_of_questions_is_asked_of_the_index_itself(run: Run, tmp_path: Path) -> None:
    corpus = tmp_path / "notes"
    corpus.mkdir()
    (corpus / "moorings.md").write_text("# Fees\n\nA mooring permit costs 40 crowns a year.")
    (corpus / "ferry.md").write_text("# Ferry\n\nThe ferry to Sandholm leaves at 9:15.")
    run("ingest", str(corpus))
    asked = {"_id": "q", "text": "How much does a mooring permit cost?", "answers": ["40 crowns"]}
    rows = [
        {**asked, "metadata": {"relevant": ["moorings.md"]}},
        {**asked, "_id": "w", "answers": [],
         "metadata": {"answerable": False, "without": ["moorings.md"]}},
    ]  # fmt: skip
    Path("mine.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    found = run("eval", "mine.jsonl", "--strategy", "naive", "--records", "kept", "--json")
    (row,) = found.json["rows"]
    assert (row["dataset"], row["queries"]) == ("mine", 2)
    lines = Path("kept/mine/naive.jsonl").read_text().splitlines()
    seen = {each["question"]: each["evidence"] for each in map(json.loads, lines)}
    held = {Path(d["path"]).name: d["id"] for d in run("docs", "list", "--json").json["documents"]}
    assert held["moorings.md"] in seen["q"]
    assert seen["w"] == [held["ferry.md"]]  # asked as if the other one were not there
    assert not Path(".fathom/eval").exists()
