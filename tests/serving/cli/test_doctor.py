"""The doctor finds what `ask` would refuse."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from tests.serving.cli.test_app import Run, corpus, run  # noqa: F401 - fixtures

from fathom.models.query_encoder import SHA256

QUESTION = "How much does a mooring permit cost?"


def failures(run: Run, *arguments: str) -> dict[str, str]:  # noqa: F811
    ran = run("doctor", "--json", *arguments)
    found = {
        finding["name"]: finding["detail"] for finding in ran.json["findings"] if not finding["ok"]
    }
    assert ran.code == (5 if found else 0)
    return found


@pytest.mark.parametrize(
    ("arguments", "name", "part"),
    [
        (("--set", "models.embedder=./none"), "embedder", "./none"),
        (("--set", "roles.judge=llm"), "language model", "no model is named"),
        (("--set", "llm.model=nobody:x"), "language model", "provider:model"),
        (("--set", "ask.strategy=magic"), "strategy", "'magic'"),
        (("--set", "domain.file=none.toml"), "strategy", "none.toml"),
    ],
)
def test_what_ask_would_refuse(
    run: Run,  # noqa: F811
    corpus: Path,  # noqa: F811
    arguments: Sequence[str],
    name: str,
    part: str,
) -> None:
    run("ingest", str(corpus))
    assert failures(run) == {}
    assert part in failures(run, *arguments)[name]
    assert run("ask", QUESTION, *arguments).code in {2, 5}


def test_the_query_encoder_is_looked_at_where_it_is_not_the_embedder(
    run: Run,  # noqa: F811
    corpus: Path,  # noqa: F811
) -> None:
    run("ingest", str(corpus))
    for name, told in (("same", []), ("rounded", [SHA256["rounded"]])):
        ran = run("doctor", "--json", "--set", f"models.query_encoder={name}")
        findings = [
            finding for finding in ran.json["findings"] if finding["name"] == "query encoder"
        ]
        assert [finding["ok"] for finding in findings] == [True] * len(told)
        assert all(sha in each["detail"] for sha, each in zip(told, findings, strict=True))


def test_an_index_of_another_embedder(run: Run, corpus: Path, tmp_path: Path) -> None:  # noqa: F811
    run("ingest", str(corpus))
    with closing(sqlite3.connect(tmp_path / ".fathom" / "fathom.db")) as connection, connection:
        connection.execute("UPDATE meta SET value = 'other' WHERE key = 'identity.embedder.model'")
    assert "was made with embedder.model 'other'" in failures(run)["index"]
    assert run("ask", QUESTION).code == 2


def test_a_missing_cross_reader(
    run: Run,  # noqa: F811
    corpus: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()  # the real one is looked for
    monkeypatch.chdir(corpus.parent)
    arguments = ("--set", "models.cross_reader=./none")
    assert "none" in failures(run, *arguments)["cross-reader"]


def test_corrupt_traces(run: Run, corpus: Path, tmp_path: Path) -> None:  # noqa: F811
    run("ingest", str(corpus))
    run("ask", QUESTION)
    file = tmp_path / ".fathom" / "traces.db"
    assert failures(run) == {}
    data = bytearray(file.read_bytes())
    data[4096:8192] = bytes(4096)
    file.write_bytes(data)
    for log in file.parent.glob("traces.db-*"):
        log.unlink()
    assert "traces.db" in failures(run)["traces"]
    file.write_bytes(b"no database" * 1000)
    assert "delete the file: it holds nothing but traces and feedback" in failures(run)["traces"]


def test_a_trace_that_was_changed(run: Run, corpus: Path, tmp_path: Path) -> None:  # noqa: F811
    run("ingest", str(corpus))
    trace = run("ask", QUESTION, "--json").json["trace_id"]
    with closing(sqlite3.connect(tmp_path / ".fathom" / "traces.db")) as connection, connection:
        connection.execute("UPDATE traces SET data = x'00'")
    assert f"fathom trace --delete {trace}" in failures(run)["traces"]
