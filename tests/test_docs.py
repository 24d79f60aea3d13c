"""The examples of the documentation, run in order."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from fathom import Engine

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def read_examples(page: Path) -> Iterator[tuple[int, str]]:
    """Return the Python examples of a page, each with the line where it begins."""
    text = page.read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        yield text.count("\n", 0, block.start(1)) + 1, block[1]


@pytest.mark.parametrize("name", ["docs/python.md", "docs/langchain.md", "docs/tables.md"])
def test_the_examples_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "example"}
    snippets = list(read_examples(ROOT / name))
    assert snippets
    for line, code in snippets:
        exec(compile("\n" * (line - 1) + code, name, "exec"), names)
    assert capsys.readouterr().out


@pytest.mark.parametrize("part", ["traces", "documents", "calibration"])
def test_the_methods_that_the_page_names_exist(part: str, tmp_path: Path) -> None:
    paragraphs = (ROOT / "docs" / "python.md").read_text(encoding="utf-8").split("\n\n")
    (paragraph,) = (text for text in paragraphs if text.startswith(f"`engine.{part}` "))
    named = re.findall(rf"`(?:engine\.{part}\.)?(\w+)(?:\(\w*\))?`", paragraph)
    assert named
    with Engine.open(tmp_path / "index") as engine:
        for name in named:
            assert callable(getattr(getattr(engine, part), name, None)), name


def test_the_example_of_the_readme_shows_what_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from fathom.serving import cli

    (tmp_path / "samples").symlink_to(ROOT / "samples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    example = readme.partition("## An example\n")[2].partition("\nThe same from Python")[0]
    _, *commands = re.split(r"^ *\$ fathom ", example, flags=re.MULTILINE)
    assert len(commands) == 3
    for command in commands:
        line, _, printed = command.partition("\n")
        monkeypatch.setattr("sys.argv", ["fathom", *shlex.split(line)])
        with pytest.raises(SystemExit):
            cli.main()
        # Another processor may round the last digit of a confidence otherwise.
        wanted, _, _ = " ".join(printed.split()).partition("confidence")
        assert " ".join(capsys.readouterr().out.split()).startswith(wanted)


def read_configurations(page: Path) -> list[dict[str, Any]]:
    """Return the server configurations that a page shows."""
    blocks = re.findall(r"^```json\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)
    configurations = [json.loads(block) for block in blocks]
    return [
        (configuration.get("mcpServers") or configuration["servers"])["fathom"]
        for configuration in configurations
    ]


def test_client_configurations_use_real_options_of_fathom_mcp() -> None:
    from fathom.serving.cli.app import app

    command = typer.main.get_command(app).commands["mcp"]  # type: ignore[attr-defined]
    servers = read_configurations(ROOT / "docs" / "mcp.md")
    started = [server["args"] for server in servers if server.get("command") == "fathom"]
    assert len(started) == 2
    for name, *arguments in started:
        assert name == "mcp"
        command.make_context("mcp", arguments)
    reached = [server for server in servers if "url" in server]
    assert len(reached) == 2
    for entry in reached:
        assert entry["url"] == "http://127.0.0.1:8001/mcp"  # the default port and path
        assert entry["headers"]["Authorization"].startswith("Bearer ")


def list_commands(group: Any, name: str = "fathom") -> Iterator[tuple[str, Any]]:
    """Yield all commands below a group, each with its full name."""
    for key, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from list_commands(command, f"{name} {key}")
        else:
            yield f"{name} {key}", command


def test_every_command_and_option_is_documented() -> None:
    from fathom.serving.cli.app import app

    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md")]
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    words = frozenset(re.findall(r"--?[a-z][a-z0-9-]*", "\n".join(pages)))
    listed = re.findall(r"^\| `(fathom [^`]+)`", page, re.MULTILINE)
    lost = []
    for name, command in list_commands(typer.main.get_command(app)):
        *group, command_name = name.split()
        heads = [line.split() for line in listed if line.startswith(" ".join(group))]
        if not any(command_name in line[len(group)].replace("\\", "").split("|") for line in heads):
            lost.append(name)
        named = (param.opts for param in command.params if param.param_type_name == "option")
        lost += [f"{name} {opts[0]}" for opts in named if not words.intersection(opts)]
    assert not lost


def list_shown_keys(page: Path) -> Iterator[str]:
    """Yield the keys of the TOML tables that a page shows, those in comments too."""
    blocks = re.findall(r"^```toml\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)
    for block in blocks:
        table = ""
        for line in block.splitlines():
            if head := re.match(r"\[(\w+)\]", line):
                table = head[1]
            elif key := re.match(r"(?:# )?(\w+) = ", line):
                yield f"{table}.{key[1]}"


def test_pages_show_no_constant_as_a_setting() -> None:
    from fathom.settings import Settings
    from fathom.settings.section import iterate_keys

    refusals = dict(iterate_keys(Settings))
    pages = (ROOT / "docs").rglob("*.md")
    shown = {(page.name, key) for page in pages for key in list_shown_keys(page)}
    assert ("web.md", "web.provider") in shown
    assert not [(page, key) for page, key in shown if refusals.get(key)]
