"""`fathom eval` writes reports and baselines, and its gate has its own exit code."""

import json
from pathlib import Path

import pytest
from tests.evaluation.factories import make_failure, make_ranking, make_record
from tests.evaluation.test_datasets import write_dataset
from tests.serving.cli.test_app import CommandRunner, check_one_line, run
from tests.serving.cli.test_evaluate import QUESTION, SURE, toy_dataset

from fathom.evaluation.gate import Baseline, compare_with_baseline
from fathom.evaluation.harness import Evaluation
from fathom.serving.cli.evaluate import choose_exit_code

__all__ = ["run", "toy_dataset"]


def test_one_command_writes_all_reports(
    run: CommandRunner, toy_dataset: str, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    files = ("--html", "r.html", "--markdown", "r.md", "--save-baseline", "b.json")
    ran = run("eval", toy_dataset, "--strategy", "naive", *SURE, *files)
    assert ran.code == 0
    page = (tmp_path / "r.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "naive answered 2 questions of toy." in page
    text = (tmp_path / "r.md").read_text()
    assert "| data set | system | queries |" in text
    assert "| toy | naive | 2 |" in text
    assert "|" not in ran.out
    assert "crowns" not in (tmp_path / "b.json").read_text()


def test_systems_are_shown_by_phase_and_kind(run: CommandRunner, toy_dataset: str) -> None:
    ran = run("eval", toy_dataset, "--strategy", "naive", *SURE, "--by", "kind,phase")
    assert "By phase: nothing differs." in ran.out
    evaluated = run(
        "eval", toy_dataset, "--strategy", "naive", *SURE, "--by", "phase", "--json"
    ).json
    assert evaluated["by"] == {"phase": []}
    check_one_line(
        run("eval", toy_dataset, "--by", "mood"), 2, "--by 'mood': expected phase or kind"
    )


def test_an_equal_run_passes_the_gate(run: CommandRunner, toy_dataset: str) -> None:
    ask = ("eval", toy_dataset, "--strategy", "naive", *SURE)
    run(*ask, "--save-baseline", "b.json")
    ran = run(*ask, "--gate", "b.json")
    assert ran.code == 0
    assert "Gate passed: none of 3 measures fell significantly below the baseline." in ran.out
    gate = run(*ask, "--gate", "b.json", "--json").json["gate"]
    assert gate["passed"] is True
    assert {"measure", "difference", "interval", "sentence"} <= set(gate["checks"][0])


def test_a_run_that_abstains_fails_the_gate(run: CommandRunner, tmp_path: Path) -> None:
    (tmp_path / "fees").mkdir()
    numbers = range(40, 52)
    corpus = [{"_id": f"d{n}", "text": f"Mooring permit cost: {n} crowns."} for n in numbers]
    queries = [
        {"_id": f"q{n}", "text": QUESTION, "answers": [str(n)],
         "metadata": {"documents": [f"d{n}"]}}
        for n in numbers
    ]  # fmt: skip
    first, second = ("".join(json.dumps(row) + "\n" for row in rows) for rows in (corpus, queries))
    ask = ("eval", str(write_dataset(tmp_path / "fees", first, second, "")), "--strategy", "naive")
    assert run(*ask, *SURE, "--save-baseline", "b.json").code == 0
    ran = run(*ask, "--set", "ask.min_confidence=1", "--gate", "b.json", "--markdown", "r.md")
    assert ran.code == 7
    assert "naive is worse than its baseline in F1 on fees" in ran.out
    assert "naive is worse than its baseline in F1 on fees" in (tmp_path / "r.md").read_text()


def test_the_gate_distinguishes_a_retriever_from_a_strategy_of_its_name(
    run: CommandRunner, toy_dataset: str
) -> None:
    ask = ("eval", toy_dataset, "--retriever", "hybrid", "--strategy", "hybrid")
    assert run(*ask, *SURE, "--save-baseline", "b.json").code == 0
    ran = run(*ask, *SURE, "--gate", "b.json", "--json")
    sides = {check["first"] for check in ran.json["gate"]["checks"]}
    assert (ran.code, sides) == (0, {"hybrid", "retriever hybrid"})
    check_one_line(run("eval", toy_dataset, "--gate", "b.json"), 2, "hybrid on toy was not run")


def test_a_run_with_other_questions_is_refused(run: CommandRunner, toy_dataset: str) -> None:
    ask = ("eval", toy_dataset, "--strategy", "naive", *SURE)
    run(*ask, "--save-baseline", "b.json")
    check_one_line(run(*ask, "--queries", "1", "--gate", "b.json"), 2, "question q", "b.json")


def test_mistakes_are_reported_before_the_work(
    run: CommandRunner, toy_dataset: str, tmp_path: Path
) -> None:
    ask = ("eval", toy_dataset, "--strategy", "naive")
    check_one_line(run(*ask, "--gate", "none.json"), 2, "none.json", "--save-baseline")
    check_one_line(run(*ask, "--html", "no/such/r.html"), 2, "r.html", "folder")
    check_one_line(run(*ask, "--vary", "ask.chunks"), 2, "--vary 'ask.chunks'", "a.b=1,2,3")
    check_one_line(
        run("eval", toy_dataset, toy_dataset, "--strategy", "naive"),
        2,
        "two data sets are called toy",
    )
    assert not (tmp_path / ".fathom").exists()


def test_without_the_library_a_report_names_its_install_command(
    run: CommandRunner, toy_dataset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    ran = run("eval", toy_dataset, "--strategy", "naive", "--html", "r.html")
    check_one_line(ran, 2, "pip install 'fathom-qa[eval]'")


def test_a_setting_is_swept(run: CommandRunner, toy_dataset: str, tmp_path: Path) -> None:
    ask = (
        "eval",
        toy_dataset,
        "--strategy",
        "naive",
        "--vary",
        "ask.chunks=1,3",
        "--records",
        "kept",
    )
    rows = run(*ask, *SURE, "--json").json["rows"]
    assert [row["system"] for row in rows] == ["naive (ask.chunks=1)", "naive (ask.chunks=3)"]
    names = sorted(file.name for file in (tmp_path / "kept" / "toy").iterdir())
    assert names == ["naive@ask.chunks=1.jsonl", "naive@ask.chunks=3.jsonl"]
    line = (tmp_path / "kept" / "toy" / names[0]).read_text().splitlines()[0]
    assert json.loads(line)["varied"] == {"ask.chunks": "1"}
    assert json.loads(line)["documents"] == 2


def test_the_exit_code_distinguishes_a_drop_from_a_failure() -> None:
    good = [make_record(f"q{n}") for n in range(30)]
    wrong = [make_record(f"q{n}", short_answer="5", answer="5") for n in range(30)]
    broken = [make_failure(f"q{n}") for n in range(30)]
    codes = [
        choose_exit_code(
            Evaluation(answered=[now], verdict=compare_with_baseline(Baseline.of([good]), [now]))
        )
        for now in (good, wrong, broken)
    ]
    assert codes == [0, 7, 5]


def test_the_verdict_is_in_tables_and_json() -> None:
    good = [make_record(f"q{n}") for n in range(30)]
    verdict = compare_with_baseline(Baseline.of([good]), [good])
    findings = Evaluation(answered=[good], verdict=verdict)
    assert "Gate passed" in findings.to_markdown()
    assert "- naive and its baseline cannot be told apart in F1 on toy" in findings.to_markdown()
    assert json.loads(json.dumps(findings.to_dict()))["gate"]["passed"] is True


def test_an_empty_evaluation_prints_nothing() -> None:
    assert Evaluation().to_markdown() == ""
    assert choose_exit_code(Evaluation()) == 0


def test_breakdowns_are_tables_of_rankings_and_of_answers() -> None:
    answered = [make_record("q1"), make_record("q2", phase="debate", kind="list")]
    rankings = [make_ranking("q1"), make_ranking("q2", kind="list")]
    findings = Evaluation(ranked=[rankings], answered=[answered])
    text = findings.to_markdown(("phase", "kind"))
    assert text.index("By phase") < text.index("naive: debate") < text.index("By kind")
    assert text.count("| nDCG@10") == 2
    assert "| naive: list | 1 | 1.000 |" in text
    breakdown = json.loads(json.dumps(findings.to_dict(("kind",))))["by"]
    assert [row["system"] for row in breakdown["kind"]] == [
        "keyword: -", "naive: -", "keyword: list", "naive: list",
    ]  # fmt: skip
    assert "by" not in findings.to_dict()
