"""Discovery of extensions, and isolation of a broken one.

Covers fathom.settings.extensions, fathom.settings.retrievers.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.foreign_packages import EntryPoints, add_to_path, install

from fathom import extensions
from fathom.documents.discover import digest_content
from fathom.documents.formats.sniff import detect_format
from fathom.errors import SettingsError, UsageError
from fathom.evaluation.runner import hash_setup
from fathom.extensions import (
    Extension,
    find_entry,
    find_extension,
    iterate_extensions,
    list_names,
)
from fathom.registry import ENDINGS, FORMATS, RETRIEVERS, STRATEGIES
from fathom.testing import make_engine

SHOUT = """
from fathom.documents.base import Builder
def parse(data):
    builder = Builder()
    builder.add_paragraph(data.decode().{how}())
    return builder.build()
"""
PLAIN = """
from dataclasses import dataclass
from fathom.retrieval.keyword import KeywordRetriever
class Plain:
    @classmethod
    def of(cls, parts, index):
        return KeywordRetriever(index, "{name}")
"""
TEXT = "The ferry sails at noon."
QUESTION = "When does the ferry sail?"
Install = Callable[..., None]


@pytest.fixture
def install_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Return a function that installs a package for this process."""

    def put(
        groups: EntryPoints, files: dict[str, str], *, name: str = "other", version: str = "1.0"
    ) -> None:
        folder = tmp_path / "site-packages"
        install(folder, name=name, groups=groups, files=files, version=version)
        add_to_path(folder, monkeypatch)
        extensions._read_entry_points.cache_clear()

    yield put
    for name in [module for module in sys.modules if module.endswith("_x")]:
        del sys.modules[name]
    extensions._read_entry_points.cache_clear()


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "ferry.md").write_text(TEXT)
    return folder


def test_listed_names_can_be_built() -> None:
    assert list_names("retriever") == list(RETRIEVERS)
    assert list_names("strategy") == list(STRATEGIES)
    assert {
        "csv",
        "docx",
        "eml",
        "epub",
        "html",
        "json",
        "odt",
        "pdf",
        "pptx",
        "rtf",
    } <= ENDINGS.keys()
    for ending in ENDINGS:
        assert detect_format(b"Some words of a text.\n", f"a.{ending}").name in FORMATS


def test_help_lists_every_extension() -> None:
    built_in = (*RETRIEVERS, *STRATEGIES)
    helped = {"search": tuple(RETRIEVERS), "ask": tuple(STRATEGIES), "eval": built_in}
    for command, names in helped.items():
        output = subprocess.run(
            [sys.executable, "-m", "fathom", command, "--help"],
            env={**os.environ, "COLUMNS": "300"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for name in names:
            assert name in output


def test_extensions_are_looked_up_only_when_needed() -> None:
    code = (
        "import sys, fathom, fathom.serving.cli, fathom.engine, fathom.extensions as e;"
        "e.find_entry('strategy', 'naive'); e.find_entry('retriever', 'hybrid');"
        "from pathlib import Path; e.find_format(Path('a.pdf')); e.find_format(Path('README'));"
        "assert e._read_entry_points.cache_info().misses == 0; assert 'pytest' not in sys.modules;"
        "import fathom.testing; fathom.testing.HashingEmbedder; assert 'pytest' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_listing_extensions_does_not_import_them(install_package: Install) -> None:
    install_package({"fathom.strategies": {"never": "never_there:X"}}, {})
    assert find_extension("strategy", "never") == Extension(
        kind="strategy", name="never", target="never_there:X", package="other", version="1.0"
    )
    assert list_names("strategy")[-1] == "never"
    assert [str(extension) for extension in iterate_extensions()] == [
        "strategy 'never' of other 1.0"
    ]
    with pytest.raises(UsageError, match=r"strategy 'nevr': choose one of naive, .*, never$"):
        find_entry("strategy", "nevr")


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({}, "ModuleNotFoundError: No module named 'broken_x'"),
        ({"broken_x.py": "1 / 0"}, "ZeroDivisionError: division by zero"),
        ({"broken_x.py": "Y = 1"}, "AttributeError: module 'broken_x' has no attribute 'X'"),
        ({"broken_x.py": "X = 1"}, "AttributeError: 'int' object has no attribute 'of'"),
    ],
)
@pytest.mark.parametrize("kind", ["strategy", "retriever"])
def test_a_broken_extension_is_named_and_harms_no_other(
    install_package: Install,
    corpus: Path,
    tmp_path: Path,
    kind: str,
    files: dict[str, str],
    reason: str,
) -> None:
    group = {"strategy": "strategies", "retriever": "retrievers"}[kind]
    install_package({f"fathom.{group}": {"mine": "broken_x:X"}}, files)
    with make_engine(tmp_path / "index") as engine:
        engine.ingest(corpus)
        use_it: Callable[[], object] = {
            "strategy": lambda: engine.ask(QUESTION, strategy="mine"),
            "retriever": lambda: engine.search("ferry", retriever="mine"),
        }[kind]
        with pytest.raises(UsageError) as caught:
            use_it()
        assert str(caught.value) == f"{kind} 'mine' of other 1.0 cannot be used: {reason}; " + (
            "repair or uninstall it"
        )
        assert caught.value.exit_code == 2
        assert engine.ask(QUESTION).status == "answered"


def test_built_in_names_cannot_be_replaced(
    install_package: Install, corpus: Path, tmp_path: Path
) -> None:
    groups = {
        "fathom.strategies": {"naive": "broken_x:X"},
        "fathom.retrievers": {"keyword": "broken_x:X"},
        "fathom.formats": {"md": "broken_x:X"},
    }
    install_package(groups, {})
    assert all(extension.is_refused for extension in iterate_extensions())
    assert list_names("retriever").count("keyword") == 1
    with make_engine(tmp_path / "index") as engine:
        assert engine.ingest(corpus).failed == 0
        assert engine.ask(QUESTION, strategy="naive").status == "answered"
        assert engine.search("ferry", retriever="keyword")


def test_two_packages_with_one_name_are_refused(install_package: Install) -> None:
    install_package({"fathom.strategies": {"mine": "a:X"}}, {}, name="one")
    install_package({"fathom.strategies": {"mine": "b:X"}}, {}, name="two")
    with pytest.raises(UsageError, match=r"'mine' is brought by one 1.0 and two 1.0; uninstall"):
        find_extension("strategy", "mine")


def test_an_extension_with_a_wrong_name_is_refused(
    install_package: Install, corpus: Path, tmp_path: Path
) -> None:
    install_package(
        {"fathom.retrievers": {"mine": "plain_x:Plain"}},
        {"plain_x.py": PLAIN.format(name="other")},
    )
    with make_engine(tmp_path / "index") as engine:
        engine.ingest(corpus)
        with pytest.raises(UsageError, match="calls itself 'other'"):
            engine.search("ferry", retriever="mine")


def test_settings_of_an_unknown_extension_or_one_without_settings_are_refused(
    install_package: Install, corpus: Path, tmp_path: Path
) -> None:
    install_package(
        {"fathom.retrievers": {"mine": "plain_x:Plain"}}, {"plain_x.py": PLAIN.format(name="mine")}
    )
    with pytest.raises(SettingsError, match=r"no strategy or retriever .* is called 'yours'"):
        make_engine(tmp_path / "index", {"extensions.yours.weight": 1})
    with make_engine(tmp_path / "index", {"extensions.mine.weight": 1}) as engine:
        engine.ingest(corpus)
        with pytest.raises(SettingsError, match=r"extensions\.mine: it has no settings"):
            engine.search("ferry", retriever="mine")
        answer = engine.ask(QUESTION)
        install_package({}, {})  # it is uninstalled: what never used it replays
        assert engine.replay(str(answer.trace_id)).same


def test_another_version_of_a_format_reads_its_files_again(
    install_package: Install, corpus: Path, tmp_path: Path
) -> None:
    file = corpus / "ferry.shout"
    file.write_text(TEXT)
    plain = digest_content(file)
    groups = {"fathom.formats": {"shout": "shout_x:parse"}}
    with make_engine(tmp_path / "index") as engine:
        for version, how in (("1.0", "upper"), ("2.0", "lower")):
            install_package(groups, {"shout_x.py": SHOUT.format(how=how)}, version=version)
            report = engine.ingest(corpus)
            assert report.new + report.changed >= 1
            assert engine.documents.get(str(file)).text == getattr(TEXT, how)()
            again = engine.ingest(corpus)
            assert (again.new, again.changed, again.unchanged) == (0, 0, 2)
        install_package({}, {})
        assert digest_content(file) == plain
        assert engine.ingest(corpus).changed == 1
        assert engine.documents.get(str(file)).text == TEXT


def test_records_of_an_evaluation_hold_version_and_settings(
    install_package: Install, corpus: Path, tmp_path: Path
) -> None:
    files = {"plain_x.py": PLAIN.format(name="mine")}
    setups: dict[tuple[str, int | None], str] = {}
    for version in ("1.0", "2.0"):
        install_package({"fathom.retrievers": {"mine": "plain_x:Plain"}}, files, version=version)
        for weight in (1, 2):
            settings = {"extensions.mine.weight": weight}
            with make_engine(tmp_path / "index", settings) as engine:
                engine.ingest(corpus)
                setups[version, weight] = hash_setup(engine, "mine")
    with make_engine(tmp_path / "index") as engine:
        setups["2.0", None] = hash_setup(engine, "naive")
        install_package({}, {})
        assert hash_setup(engine, "naive") == setups["2.0", None]
    assert len(set(setups.values())) == 5


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("1 / 0", "format 'shout' of other 1.0 cannot be used: ZeroDivisionError"),
        ("def parse(data): return 'text'", "gave str instead of ParsedDocument"),
        ("def parse(data): return open('/etc/passwd').read()", "PermissionError"),
        ("def parse(data):\n import socket\n socket.socket()", "PermissionError"),
        ("def parse(data):\n while True: pass", "processor time"),
        ("def parse(data): return bytearray(1 << 40)", "memory"),
    ],
)
def test_a_format_is_read_in_the_sandbox_and_fails_alone(
    install_package: Install, corpus: Path, tmp_path: Path, body: str, reason: str
) -> None:
    (corpus / "a.shout").write_text(TEXT)
    install_package({"fathom.formats": {"shout": "shout_x:parse"}}, {"shout_x.py": body})
    with make_engine(tmp_path / "index", {"limits.cpu_s": 1}) as engine:
        report = engine.ingest(corpus)
    (failed,) = (file for file in report.files if file.outcome == "failed")
    assert reason in failed.reason
    assert report.new == 1
    assert "shout_x" not in sys.modules
