"""The examples of the documentation run as they stand there, one after another."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples(page: Path) -> Iterator[tuple[int, str]]:
    """The Python of a page, each with the line where it begins."""
    text = page.read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        yield text.count("\n", 0, block.start(1)) + 1, block[1]


@pytest.mark.parametrize("name", ["docs/python.md", "docs/langchain.md"])
def test_the_examples_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    monkeypatch.chdir(tmp_path)
    known: dict[str, object] = {"__name__": "example"}
    found = list(examples(ROOT / name))
    assert found
    for line, code in found:
        exec(compile("\n" * (line - 1) + code, name, "exec"), known)
    assert capsys.readouterr().out


def configurations(page: Path) -> list[dict[str, Any]]:
    """The servers that the configurations of a page name."""
    blocks = re.findall(r"^```json\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)
    found = [json.loads(block) for block in blocks]
    return [(each.get("mcpServers") or each["servers"])["fathom"] for each in found]


def test_the_configurations_for_clients_name_what_fathom_mcp_takes() -> None:
    from fathom.serving.cli.app import app

    command = typer.main.get_command(app).commands["mcp"]  # type: ignore[attr-defined]
    servers = configurations(ROOT / "docs" / "mcp.md")
    started = [server["args"] for server in servers if server.get("command") == "fathom"]
    assert len(started) == 2
    for name, *arguments in started:
        assert name == "mcp"
        command.make_context("mcp", arguments)
    reached = [server for server in servers if "url" in server]
    assert len(reached) == 2
    for each in reached:
        assert each["url"] == "http://127.0.0.1:8001/mcp"  # the default port and path
        assert each["headers"]["Authorization"].startswith("Bearer ")


def commands(group: Any, name: str = "fathom") -> Iterator[tuple[str, Any]]:
    """All commands below a group, each by its whole name."""
    for each, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{name} {each}")
        else:
            yield f"{name} {each}", command


def test_every_command_and_option_stands_in_the_docs() -> None:
    from fathom.serving.cli.app import app

    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md")]
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    words = frozenset(re.findall(r"--?[a-z][a-z-]*", "\n".join(pages)))
    listed = re.findall(r"^\| `(fathom [^`]+)`", page, re.MULTILINE)
    lost = []
    for name, command in commands(typer.main.get_command(app)):
        *group, own = name.split()
        heads = [line.split() for line in listed if line.startswith(" ".join(group))]
        if not any(own in line[len(group)].replace("\\", "").split("|") for line in heads):
            lost.append(name)
        named = (param.opts for param in command.params if param.param_type_name == "option")
        lost += [f"{name} {opts[0]}" for opts in named if not words.intersection(opts)]
    assert not lost
