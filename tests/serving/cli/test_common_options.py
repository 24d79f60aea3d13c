"""Every command takes the common options, or refuses them in one plain line."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.serving.cli.test_app import CommandRunner, run  # noqa: F401

from fathom import Engine
from fathom.serving.cli.app import app

OPTIONS = ("--index", "--json", "--offline")
REFUSED = {
    "serve": {"--json"},
    "mcp": {"--json"},
    "skill": {"--index", "--json", "--offline"},
    "copy": {"--index"},
    "config prompts": {"--index"},
    "models list": {"--index", "--offline"},
    "models pull": {"--index"},
    "models remove": {"--index", "--offline"},
    "models recommend": {"--index", "--offline"},
    "audit": {"--offline"},
    "keys add": {"--offline"},
    "keys list": {"--offline"},
    "keys revoke": {"--json", "--offline"},
    "keys open": {"--json", "--offline"},
}
"""The common options that a command has no use for."""


def iterate_commands(command: Any, name: str = "") -> Iterator[tuple[str, set[str]]]:
    """Yield the name of each command with its options."""
    children = getattr(command, "commands", None)
    if children is None:
        yield name, {option for param in command.params for option in param.opts}
    for child, below in (children or {}).items():
        yield from iterate_commands(below, f"{name} {child}".strip())


COMMANDS = dict(iterate_commands(typer.main.get_command(app)))


def test_the_table_of_refused_options_is_that_of_the_commands() -> None:
    refused = {name: missing for name, taken in COMMANDS.items() if (missing := {*OPTIONS} - taken)}
    assert refused == REFUSED


@pytest.mark.parametrize(
    ("command", "option"),
    [(command, option) for command, refused in REFUSED.items() for option in sorted(refused)],
)
def test_an_option_without_a_use_is_refused_in_one_line(
    run: CommandRunner,  # noqa: F811
    command: str,
    option: str,
) -> None:
    ran = run(*command.split(), option)
    assert ran.code == 2
    assert option in ran.err
    assert ran.err.count("\n") == 1


ARGUMENTS = {
    "ingest": "@corpus",
    "ask": "cost?",
    "search": "permit",
    "status": "",
    "trace": "",
    "replay": "none",
    "feedback": "none --right",
    "serve": "--host 0.0.0.0",
    "mcp": "--http --host 0.0.0.0",
    "skill": "",
    "calibrate": "@questions.jsonl",
    "eval": "@questions.jsonl --strategy naive",
    "tune": "@questions.jsonl --strategies naive",
    "doctor": "",
    "copy": ".fathom copied",
    "backup": "saved",
    "docs list": "",
    "docs show": "@corpus/fees.md",
    "docs outline": "@corpus/fees.md",
    "docs grep": "nowhere",
    "docs rm": "@corpus/hours.txt",
    "config show": "",
    "config prompts": "",
    "source add": "@corpus",
    "source list": "",
    "source sync": "",
    "source pause": "none",
    "source remove": "none",
    "vectors list": "",
    "vectors drop": "none",
    "models list": "",
    "models pull": "none",
    "models remove": "none",
    "models recommend": "",
    "questions make": "--number 1",
    "train planner": "@questions.jsonl --updates 1 --no-measure",
    "train weights": "@questions.jsonl",
    "audit": "",
    "keys add": "ana",
    "keys list": "",
    "keys revoke": "none",
    "keys open": "",
}
"""Arguments of each command that end soon; a server is asked for an address that it refuses."""
GOOD_CODES = {0, 3, 8}
"""The exit codes of commands that did their work: also if nothing was found, or not for sure."""
QUESTION = {"question": "What does a mooring permit cost?", "answers": ["40 crowns"]}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with documents, questions and an index."""
    place = tmp_path_factory.mktemp("options")
    (place / "corpus").mkdir()
    (place / "corpus" / "fees.md").write_text("# Fees\n\nA mooring permit costs 40 crowns.\n")
    (place / "corpus" / "hours.txt").write_text("The library opens at nine.\n")
    (place / "@questions.jsonl").write_text(json.dumps(QUESTION) + "\n")
    with Engine.open(place / ".fathom", {"offline": True}) as engine:
        engine.ingest(place / "corpus")
    return place


def list_cases() -> Iterator[tuple[str, bool, tuple[str, ...]]]:
    """Yield each command with no, each and all common options, and with all without an index."""
    for command, options in COMMANDS.items():
        accepted = tuple(option for option in OPTIONS if option in options)
        for chosen in sorted({(), *((option,) for option in accepted), accepted}):
            yield command, True, chosen
        yield command, False, accepted


@pytest.mark.parametrize(("command", "has_index", "options"), list(list_cases()))
def test_every_command_prints_an_outcome_or_an_error_in_one_line(
    run: CommandRunner,  # noqa: F811
    place: Path,
    tmp_path: Path,
    command: str,
    has_index: bool,
    options: tuple[str, ...],
) -> None:
    if has_index:
        shutil.copytree(place / ".fathom", tmp_path / ".fathom")
    arguments = [word.replace("@", f"{place}/") for word in ARGUMENTS[command].split()]
    named = ["--index=.fathom" if option == "--index" else option for option in options]
    ran = run(*command.split(), *arguments, *named)
    assert ran.out.strip() or ran.err.strip()
    if "--json" in options:
        json.loads(ran.out)
    if ran.code not in GOOD_CODES:
        assert [line for line in ran.err.splitlines() if line.startswith("fathom: ")]
        assert ran.code == 2


def test_a_server_of_tools_that_nobody_uses_says_so(place: Path) -> None:
    pytest.importorskip("mcp.server", reason="its SDK imports fcntl outside of Windows")
    command = [sys.executable, "-m", "fathom", "mcp", f"--index={place}/.fathom"]
    ran = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    )
    assert ran.stdout == ""
    assert ran.stderr == "fathom: tools for the client on stdin and stdout (Ctrl-C ends it)\n"
