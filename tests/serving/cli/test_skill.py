"""Every command that the skill file names exists and works as described."""

import json
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fathom import __version__
from fathom.serving import cli
from fathom.serving.cli.app import app

SKILL = Path(cli.__file__).parent / "SKILL.md"
TEXT = SKILL.read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    (fathom .+)$", TEXT, re.MULTILINE)
CommandRunner = Callable[..., tuple[int, str]]


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> CommandRunner:
    """Run a command in this process, in an empty working directory; return its code and stdout."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))

    def runner(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["fathom", *arguments])
        with pytest.raises(SystemExit) as end:
            cli.main()
        return int(end.value.code or 0), capsys.readouterr().out

    return runner


def test_the_command_prints_the_file(run: CommandRunner) -> None:
    assert run("skill") == (0, TEXT)


def test_a_plugin_holds_its_manifest_and_the_skill(run: CommandRunner, tmp_path: Path) -> None:
    code, output = run("skill", "--plugin", "plugin")
    manifest, copied = (tmp_path / line for line in output.splitlines())
    assert (code, copied.read_text(encoding="utf-8")) == (0, TEXT)
    # A client looks for the skills of a plugin here, beside the folder of its manifest.
    assert copied.relative_to(manifest.parent.parent).as_posix() == "skills/fathom/SKILL.md"
    assert manifest.parent.name == ".claude-plugin"
    fields = json.loads(manifest.read_text(encoding="utf-8"))
    assert (fields["name"], fields["version"]) == ("fathom", __version__)
    assert run("skill", "--plugin", str(manifest))[0] == 2


def test_the_manifest_of_another_plugin_stays(run: CommandRunner, tmp_path: Path) -> None:
    manifest = tmp_path / ".claude-plugin" / "plugin.json"
    manifest.parent.mkdir()
    for content in ('{"name": "other"}', "no JSON"):
        manifest.write_text(content)
        assert run("skill", "--plugin", ".") == (2, "")
        assert manifest.read_text() == content
    manifest.write_text('{"name": "fathom"}')
    assert run("skill", "--plugin", ".")[0] == 0


def test_the_file_has_the_header_of_a_skill() -> None:
    head = re.match(r"---\nname: ([a-z0-9-]{1,64})\ndescription: (.{50,1024})\n---\n\n# ", TEXT)
    assert head
    assert head[1] == "fathom"
    assert "Use it when" in head[2]
    assert len(TEXT.splitlines()) < 500


def test_every_command_in_the_file_works_as_described(run: CommandRunner, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    fee = "A mooring permit costs 40 crowns a year. It is paid at the harbour office."
    (corpus / "fees.md").write_text(f"# Fees\n\n{fee}\n")
    meant = {"PATH": str(corpus), "QUESTION": "How much does a mooring permit cost?"}
    meant |= {"WORDS": "mooring permit", "PATTERN": "permit"}
    meant |= {"FILE": str(corpus / "fees.md"), "LINE": "3"}
    assert len(COMMANDS) >= 10
    for command in COMMANDS:
        line = re.sub(r"[A-Z]{4,}", lambda match: meant.get(match[0], match[0]), command)
        line = line.replace("START-END", meant.get("START-END", ""))
        code, out = run(*shlex.split(line)[1:])
        assert code == 0, command
        assert out, command
        if "--json" in command:
            remember_placeholders(meant, json.loads(out))


def remember_placeholders(meant: dict[str, str], output: dict[str, Any]) -> None:
    """Remember the values that later commands use."""
    if "citations" in output:
        (cited, *_) = output["citations"]
        assert output["status"] == "answered"
        meant["START-END"] = f"{cited['start']}-{cited['end']}"
        meant["DOCUMENT"] = cited["document"]
        meant["TRACE"] = output["trace_id"]


def test_options_and_exit_codes_are_those_of_the_command_line(run: CommandRunner) -> None:
    import typer.main

    command: Any = typer.main.get_command(app)
    commands = [command.commands["ask"], command.commands["search"]]
    commands += command.commands["docs"].commands.values()
    options = {name for named in commands for param in named.params for name in param.opts}
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", TEXT)) <= options
    code, out = run("ask", "Who won in 1789?", "--json")
    assert code == 2  # there is no index
    assert set(json.loads(out)["error"]) == {"kind", "message", "exit_code"}
    assert "`fathom mcp`" not in TEXT  # whoever reads it has a shell


def test_the_explained_fields_are_those_of_an_answer() -> None:
    from dataclasses import fields

    from fathom.types import AbstentionReason, Answer, Citation

    explained = TEXT.split("## How to read an answer")[1].split("## Rules")[0]
    names = set(re.findall(r"`([a-z_]+)`", explained))
    defined = {field.name for record_class in (Answer, Citation) for field in fields(record_class)}
    reasons = set(AbstentionReason.__args__)  # type: ignore[attr-defined]
    assert reasons <= names
    assert (
        names - defined - reasons - {"answered", "abstained", "failed", "refuted", "null"} == set()
    )
