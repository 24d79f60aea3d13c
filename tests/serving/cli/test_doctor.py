"""The doctor finds the same problems as `ask`."""

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from tests.real_model import RealModel
from tests.serving.cli.test_app import (  # noqa: F401 - fixtures
    CommandOutput,
    CommandRunner,
    corpus,
    run,
)

from fathom.models.query_encoder import SHA256

QUESTION = "How much does a mooring permit cost?"


def list_failures(run: CommandRunner, *arguments: str) -> dict[str, str]:  # noqa: F811
    ran = run("doctor", "--json", *arguments)
    problems = {
        finding["name"]: finding["detail"] for finding in ran.json["findings"] if not finding["ok"]
    }
    assert ran.code == (5 if problems else 0)
    return problems


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
def test_problems_of_ask_are_found(
    run: CommandRunner,  # noqa: F811
    corpus: Path,  # noqa: F811
    arguments: Sequence[str],
    name: str,
    part: str,
) -> None:
    run("ingest", str(corpus))
    assert list_failures(run) == {}
    assert part in list_failures(run, *arguments)[name]
    assert run("ask", QUESTION, *arguments).code in {2, 5}


def test_the_query_encoder_is_checked_unless_it_is_the_embedder(
    run: CommandRunner,  # noqa: F811
    corpus: Path,  # noqa: F811
) -> None:
    run("ingest", str(corpus))
    for name, checksums in (("same", []), ("rounded", [SHA256["rounded"]])):
        ran = run("doctor", "--json", "--set", f"models.query_encoder={name}")
        findings = [
            finding for finding in ran.json["findings"] if finding["name"] == "query encoder"
        ]
        assert [finding["ok"] for finding in findings] == [True] * len(checksums)
        assert all(
            sha in finding["detail"] for sha, finding in zip(checksums, findings, strict=True)
        )


def test_an_index_of_another_embedder_is_a_problem(
    run: CommandRunner,  # noqa: F811
    corpus: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    run("ingest", str(corpus))
    with closing(sqlite3.connect(tmp_path / ".fathom" / "fathom.db")) as connection, connection:
        connection.execute(
            "UPDATE meta SET value = 'other' WHERE key GLOB 'identity.embedder.[ms]*'"
        )
    assert "was made with embedder.model 'other'" in list_failures(run)["index"]
    assert run("ask", QUESTION).code == 2


def test_a_missing_cross_reader_is_a_problem(
    run: CommandRunner,  # noqa: F811
    corpus: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()  # the real one is looked for
    monkeypatch.chdir(corpus.parent)
    arguments = ("--set", "models.cross_reader=./none")
    assert "none" in list_failures(run, *arguments)["cross-reader"]


def test_corrupt_traces_are_a_problem(run: CommandRunner, corpus: Path, tmp_path: Path) -> None:  # noqa: F811
    run("ingest", str(corpus))
    run("ask", QUESTION)
    file = tmp_path / ".fathom" / "traces.db"
    assert list_failures(run) == {}
    data = bytearray(file.read_bytes())
    data[4096:8192] = bytes(4096)
    file.write_bytes(data)
    for log in file.parent.glob("traces.db-*"):
        log.unlink()
    assert "traces.db" in list_failures(run)["traces"]
    file.write_bytes(b"no database" * 1000)
    assert (
        "delete the file: it holds nothing but traces and feedback" in list_failures(run)["traces"]
    )


def test_a_changed_trace_is_a_problem(run: CommandRunner, corpus: Path, tmp_path: Path) -> None:  # noqa: F811
    run("ingest", str(corpus))
    trace = run("ask", QUESTION, "--json").json["trace_id"]
    with closing(sqlite3.connect(tmp_path / ".fathom" / "traces.db")) as connection, connection:
        connection.execute("UPDATE traces SET data = x'00'")
    assert f"fathom trace --delete {trace}" in list_failures(run)["traces"]


def test_the_doctor_says_what_auto_takes_and_how_fast_it_is(
    run: CommandRunner,  # noqa: F811
    corpus: Path,  # noqa: F811
    tmp_path: Path,
    real_model: RealModel,
) -> None:
    run("ingest", str(corpus))
    offline = ("--json", "--set", "offline=true")
    nothing = read_details(run("doctor", *offline))
    assert nothing["language model"] == "none; every question is answered locally"
    assert "Landlock" in nothing["sandbox"]
    assert nothing["-m auto"].startswith("none: --offline asks no Ollama, and no file is pulled; ")
    folder = tmp_path / ".local" / "share" / "fathom" / "models"
    folder.mkdir(parents=True)
    (folder / "smol.gguf").symlink_to(real_model.file)
    details = read_details(run("doctor", *offline, "--set", "llm.model=auto"))
    pattern = r"local:smol, [1-9]\d* tokens read and [1-9]\d* written a second"
    assert re.fullmatch(pattern, details["language model"])
    assert details["-m auto"].startswith("takes local:smol, the largest pulled file that fits")


def read_details(output: CommandOutput) -> dict[str, str]:
    """Return the details of the checks by name."""
    return {finding["name"]: finding["detail"] for finding in output.json["findings"]}
