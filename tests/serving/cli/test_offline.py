"""Forbidden servers are refused in one line before any socket is opened, as the system sees it."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.factories import QUESTION, engine_at, index_fees

PROGRAM = """
import contextlib, io, json, os, sys

def guard(event, arguments):
    if event.startswith("socket.") and event != "socket.__new__" or (
        event == "socket.__new__" and arguments[1] in (2, 10)  # IPv4, IPv6
    ):
        os._exit(99)

sys.addaudithook(guard)
from fathom.llm.endpoint import PROVIDERS, LLMProvider
from fathom.serving import cli

PROVIDERS["absent"] = LLMProvider(package="no_such", base_url="", key_env="")
for line in json.loads(sys.argv[1]):
    sys.argv = ["fathom", *line]
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        try:
            cli.main()
        except SystemExit as end:
            print(json.dumps([end.code, errors.getvalue()]))
"""
MINE = ("--set", "llm.base_url=http://127.0.0.1:9/v1")
REFUSED: dict[str, tuple[Sequence[str], str]] = {
    "offline": (("-m", "openai:m", "--offline"), "--offline allows none"),
    "offline, a server of one's own": (("-m", "openai:m", *MINE, "--offline"), "--offline"),
    "offline, this machine": (("-m", "ollama:m", "--offline"), "--offline"),
    "offline, in a role": (("--set", "roles.judge=openai:m", "--offline"), "openai:m needs a"),
    "offline by a setting": (("-m", "openai:m", "--set", "offline=true"), "--offline"),
    "no key": (("-m", "openai:m"), "run: export OPENAI_API_KEY=..."),
    "no key of one's own": (("-m", "openai:m", "--set", "llm.key_env=MINE"), "export MINE=..."),
    "no such provider": (("-m", "magic:m"), "unknown model 'magic:m'"),
    "no provider": (("-m", "m"), "write provider:model"),
    "no extra": (("-m", "absent:m"), "run: pip install 'fathom-qa[absent]'"),
    "no such model in a role": (("--set", "roles.reader=llm"), "add -m PROVIDER:MODEL"),
    "no address": (("-m", "openai:m", "--set", "llm.base_url=ftp://h"), "http://host:port/v1"),
}


@pytest.fixture(scope="module")
def index_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = index_fees(tmp_path_factory.mktemp("offline"))
    with engine_at(folder) as engine:
        engine.ask(QUESTION)
    return folder


def run_commands(place: Path, lines: Sequence[Sequence[str]]) -> list[tuple[int, str]]:
    """Return exit code and stderr of each command, run in a process that dies at its first
    socket.
    """
    clean = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY") and k != "MINE"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(lines)],
        capture_output=True,
        text=True,
        check=False,
        cwd=place,
        env=clean | {"HOME": str(place)},
    )
    assert done.returncode == 0, f"{done.returncode} {done.stdout} {done.stderr}"
    return [tuple(json.loads(line)) for line in done.stdout.splitlines() if line[:1] == "["]


def test_an_unusable_or_forbidden_model_is_refused_before_any_socket(
    index_folder: Path,
) -> None:
    # Without an index too: what is wrong with a model is known before anything is opened.
    for index in ("index", "nowhere"):
        lines = [["ask", QUESTION, "--index", index, *flags] for flags, _ in REFUSED.values()]
        for (code, output), (_, part) in zip(
            run_commands(index_folder, lines), REFUSED.values(), strict=True
        ):
            assert (code, output.count("\n")) == (2, 1), output
            assert output.startswith("fathom: ")
            assert part in output


def test_the_guard_detects_a_socket(index_folder: Path) -> None:
    code = f"{PROGRAM}\nimport socket; socket.socket()"
    done = subprocess.run([sys.executable, "-c", code, "[]"], capture_output=True, check=False)
    assert done.returncode == 99
