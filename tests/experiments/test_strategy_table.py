"""The table of strategies is made by one command, resumes, and compares with the baseline."""

import sys
from pathlib import Path

import pytest
from tests.evaluation.test_datasets import write
from tests.serving.test_eval import CORPUS, QRELS, QUERIES

from experiments import strategy_table


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "toy").mkdir()
    write(tmp_path / "toy", CORPUS, QUERIES, QRELS)
    monkeypatch.setattr(strategy_table, "DATA", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def made(monkeypatch: pytest.MonkeyPatch, *options: str) -> None:
    asked = ["strategy_table.py", "--sets", "toy", "--strategies", "naive", "rrf", *options]
    monkeypatch.setattr(sys, "argv", asked)
    strategy_table.main()


def test_one_command_gives_tables_and_sentences(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made(monkeypatch, "--by", "phase", "--measures", "F1", "R@5")
    shown = capsys.readouterr().out
    assert "| data set | system | queries | F1 | R@5 | retrievals |" in shown
    assert "| toy | naive | 2 |" in shown
    assert "| toy | naive: read | 2 |" in shown
    assert "- rrf and naive cannot be told apart in F1 on toy" in shown
    assert "in EM" not in shown

    pytest.importorskip("matplotlib")
    made(monkeypatch, "--html", "r.html")
    assert "naive, rrf answered 2 questions of toy." in (data / "r.html").read_text()

    records = data / ".work" / "records" / "toy" / "naive.jsonl"
    before = records.read_bytes()
    made(monkeypatch)
    assert records.read_bytes() == before
    assert not (data / ".work" / "toy" / "traces.db").exists()
    made(monkeypatch, "--fresh", "--queries", "1")
    assert records.read_bytes().count(b"\n") == 1
