"""Every command that a message or a page recommends works with the wheel, outside the checkout."""

import ast
import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageMetadata, distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from fathom.llm.endpoint import PROVIDERS

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "src").rglob("*.md")),
    ROOT / "compose.yaml",
    ROOT / "Dockerfile",
    ROOT / "deploy" / "fathom.service",
]
OURS = "fathom-qa"
VALUE = "0.1"
"""Stands where a message puts a value in."""
INSTALL = re.compile(r"pip install\s+((?:-\S+\s+)*)(?:['\"]([^'\"]+)['\"]|([^\s`;,)]+))")
QUOTED = re.compile(r"`fathom ([a-z][^`]*)`")
PLAIN = re.compile(r"\bfathom ((?!import\b|http:|[a-z]+ needs\b)[a-z][^\n]*)")
PARSE = """
import json, sys
import typer.main
from fathom.serving.cli.app import app

whole = typer.main.get_command(app)

def find_fault(arguments):
    command = whole
    while hasattr(command, "commands") and arguments:
        name, *arguments = arguments
        if name not in command.commands:
            return f"no command {name!r}"
        command = command.commands[name]
    if hasattr(command, "commands"):
        return None  # a group that is only mentioned
    try:
        command.make_context(command.name, arguments)
    except Exception as error:
        # A text may mention a command or an option without its values.
        mentioned = type(error).__name__ in {"MissingParameter", "BadOptionUsage"}
        return None if mentioned else str(error)

commands = json.load(sys.stdin)
json.dump([(line, fault) for line in commands if (fault := find_fault(line))], sys.stdout)
"""


def iterate_messages(source: str) -> Iterator[str]:
    """Yield the texts of a module, formatted ones with `VALUE` for each value."""
    pieces: set[int] = set()
    for node in ast.walk(ast.parse(source)):  # a formatted text comes before its pieces
        if isinstance(node, ast.JoinedStr):
            pieces |= set(map(id, node.values))
            yield "".join(
                str(piece.value) if isinstance(piece, ast.Constant) else VALUE
                for piece in node.values
            )
        elif isinstance(node, ast.Constant) and id(node) not in pieces:
            yield str(node.value)


@cache
def read_texts() -> list[str]:
    """Return the messages of the package and the pages about it."""
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    for file in sorted((ROOT / "src").rglob("*.py")):
        texts += iterate_messages(file.read_text(encoding="utf-8"))
    return [text.replace("\\\n", " ") for text in texts]


def split_command(line: str) -> list[str]:
    """Return the arguments of a command, without what a shell or a reader sees in the line."""
    lexer = shlex.shlex(re.sub(r"\\\|.*", "", line), posix=True, punctuation_chars="|>&;)")
    lexer.whitespace_split = True
    arguments: list[str] = []
    for word in lexer:
        if word[:1] in set("|>&;)"):
            break
        arguments.append(word)
    return arguments


def find_commands() -> list[list[str]]:
    """Return the arguments of each command line of Fathom in the texts."""
    lines = set()
    for text in read_texts():
        lines |= {" ".join(line.split()) for line in QUOTED.findall(text)}
        lines |= set(PLAIN.findall(QUOTED.sub("", text)))
    return sorted(split_command(line) for line in lines)


def find_installations() -> set[tuple[str, Requirement]]:
    """Return the option and the requirement of each command that installs a package."""
    matches = [match for text in read_texts() for match in INSTALL.finditer(text)]
    texts = {(match[1].strip(), match[2] or match[3]) for match in matches}
    # The messages that put the name of an extra in mean those of providers and of a runtime.
    extras = {provider.extra or name for name, provider in PROVIDERS.items()} | {"openvino"}
    texts |= {("", f"{OURS}[{extra}]") for extra in extras}
    return {
        (option, Requirement(re.sub(r"^\.(?=\[|$)", OURS, text)))
        for option, text in texts
        if f"[{VALUE}]" not in text
    }


@dataclass(frozen=True)
class Installation:
    """An environment of its own with the wheel, which sees the packages of the tests' one."""

    folder: Path
    wheels: Path

    def run(self, *command: str, given: str = "") -> str:
        """Run a command outside of the checkout and return what it prints."""
        done = subprocess.run(
            [self.folder / "bin" / command[0], *command[1:]],
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder)},
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    def install(self, *arguments: str) -> None:
        """Install with pip what the folder of wheels or the environment has."""
        pip = ("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        self.run(*pip, "--no-index", "--no-compile", f"--find-links={self.wheels}", *arguments)

    @property
    def packages(self) -> Path:
        """The folder of the installed packages."""
        (folder,) = self.folder.glob("lib/python*/site-packages")
        return folder

    @property
    def metadata(self) -> PackageMetadata:
        """The metadata of the wheel."""
        (installed,) = distributions(name=OURS, path=[str(self.packages)])
        return installed.metadata

    def has(self, need: Requirement) -> bool:
        """Return whether what a requirement asks for can be installed without an index."""
        if need.name != OURS:
            return any(distributions(name=need.name))
        lines = self.metadata.get_all("Requires-Dist", [])
        return all(
            self.has(part)
            for part in map(Requirement, lines)
            for extra in need.extras
            if part.marker and part.marker.evaluate({"extra": extra})
        )


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """The wheel of this checkout, built and installed."""
    installation = Installation(tmp_path_factory.mktemp("venv"), tmp_path_factory.mktemp("wheels"))
    build = [
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "-t",
        "wheel",
        "-d",
        str(installation.wheels),
    ]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    venv.create(installation.folder)
    environment = installation.packages / "environment.pth"
    environment.write_text(f"{sysconfig.get_path('purelib')}\n")
    installation.install("--no-deps", "--ignore-installed", OURS)
    return installation


def test_each_command_in_a_message_or_a_page_is_understood(installation: Installation) -> None:
    commands = find_commands()
    assert len(commands) > 100
    faults = installation.run("python", "-c", PARSE, given=json.dumps(commands))
    assert json.loads(faults) == []


def test_each_package_in_a_message_or_a_page_can_be_installed(installation: Installation) -> None:
    extras = set(installation.metadata.get_all("Provides-Extra", []))
    commands = find_installations()
    assert all(need.extras <= extras for _, need in commands if need.name == OURS)
    # What the environment of the tests lacks would have to come from an index.
    present = [(option, str(need)) for option, need in commands if installation.has(need)]
    assert len(present) > 15
    alone = [need for option, need in present if option == "--no-deps"]
    installation.install("--no-deps", OURS, *alone)
    installation.install(*(need for _, need in present if need not in alone))


def test_the_installed_command_reads_and_answers(installation: Installation) -> None:
    fees = installation.folder / "fees.md"
    fees.write_text("# Fees\n\nA mooring permit costs 40 crowns a year.\n")
    assert "1 new" in installation.run("fathom", "ingest", fees.name)
    answer = installation.run("fathom", "ask", "How much does a mooring permit cost?", "--json")
    assert json.loads(answer)["short_answer"] == "40 crowns a year"
