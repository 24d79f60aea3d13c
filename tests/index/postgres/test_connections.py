"""A failed connection is reported in one line, with an exit code for the kind of mistake."""

import time
from pathlib import Path

import pytest
from tests.postgres_server import Server
from tests.serving.cli.test_app import CommandRunner, corpus, run  # noqa: F401 - fixtures

RIGHT = "right-secret"


def run_command(run: CommandRunner, url: str, command: str = "status") -> tuple[int, str]:  # noqa: F811
    """Return the exit code and the last line of a command."""
    ran = run(command, *(["question"] if command == "ask" else []), "--index", url)
    assert ran.out == ""
    assert "secret" not in ran.err
    [line] = ran.err.splitlines()
    return ran.code, line


def test_wrong_passwords_users_and_databases_are_reported(
    postgres: Server,
    run: CommandRunner,  # noqa: F811
    corpus: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = postgres.require_password("ada", RIGHT)
    deadline = time.monotonic() + 30  # until the server has read its rules anew
    while True:
        code, line = run_command(run, url)
        if "password" in line or time.monotonic() > deadline:
            break
    assert (code, "refuses" in line, "no password" in line) == (2, True, True)

    monkeypatch.setenv("PGPASSWORD", "wrong-secret")
    for command in ("status", "ask"):
        code, line = run_command(run, url, command)
        assert (code, "password authentication failed" in line) == (2, True)
    code, line = run_command(run, url.replace("ada@", "ada:also-wrong-secret@"))
    assert (code, "password authentication failed" in line) == (2, True)

    monkeypatch.setenv("PGPASSWORD", RIGHT)
    assert run("ingest", str(corpus), "--index", url).code == 0
    assert run("search", "permit", "--index", url).code == 0
    code, line = run_command(run, url.replace("ada@", "nobody@"))
    assert (code, '"nobody"' in line) == (2, True)
    code, line = run_command(run, url.replace("/d", "/no-d", 1))
    assert (code, "does not exist" in line) == (2, True)


def test_an_absent_server_is_reported(postgres: Server, run: CommandRunner) -> None:  # noqa: F811
    away = f"postgresql://ada:secret@/d1?host={postgres.folder}/none"
    for url in (away, "postgresql://ada:secret@127.0.0.1:9/d1"):
        code, line = run_command(run, url)
        assert (code, "cannot be reached" in line) == (5, True)
