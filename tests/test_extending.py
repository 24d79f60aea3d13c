"""The example package of docs/extending.md, installed and used as written there."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest
from tests.foreign_packages import add_to_path, install
from tests.test_docs import BLOCK, ROOT

from fathom.testing import make_engine

PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
FILES = {
    block[1].split("\n", 1)[0].removeprefix("# ").strip(): block[1]
    for block in BLOCK.finditer(PAGE)
}
TOML = PAGE.split("```toml\n", 1)[1].split("```", 1)[0]
PROJECT = tomllib.loads(TOML)["project"]
CUES = "1\n00:00:01,000 --> 00:00:04,000\nThe ferry sails at noon.\n"
QUESTION = "When does the ferry sail?"


@pytest.fixture(
    scope="module", params=["site-packages", pytest.param("src", marks=pytest.mark.slow)]
)
def site_folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install it among the libraries, and in a folder of the author (`pip install -e`)."""
    return install(
        tmp_path_factory.mktemp("site") / str(request.param),
        name="fathom_harbour",
        version=PROJECT["version"],
        groups=PROJECT["entry-points"],
        files={name: text for name, text in FILES.items() if not name.startswith("test_")},
    )


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "talk.srt").write_text(CUES)
    (folder / "plain.md").write_text("# Ferry\n\nA ticket costs 3 crowns.\n")
    return folder


def test_the_page_and_the_package_have_the_same_files() -> None:
    named = {
        target.split(":")[0] for g in PROJECT["entry-points"].values() for target in g.values()
    }
    assert {f"{module}.py" for module in named} <= set(FILES)


def test_pip_builds_the_package_of_the_page(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text(TOML)
    for name, text in FILES.items():
        (project / name).write_text(text)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--no-index"]
    built = subprocess.run(
        [*pip, "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path), str(project)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr[-3000:]
    (wheel,) = tmp_path.glob("*.whl")
    modules = {name for name in ZipFile(wheel).namelist() if name.endswith(".py")}
    assert modules == {name for name in FILES if not name.startswith("test_")}


def test_the_conformance_suites_of_the_page_pass(site_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "test_harbour.py").write_text(FILES["test_harbour.py"])
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        env={
            **os.environ,
            "PYTHONPATH": str(site_folder),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-3000:]


def test_the_extension_works_from_python(
    site_folder: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_to_path(site_folder, monkeypatch)
    with make_engine(tmp_path / "index", {"extensions.twice.chunks": 3}) as engine:
        report = engine.ingest(corpus)
        assert (report.new, report.failed) == (2, 0)
        hits = engine.search("ferry", retriever="titles")
        assert [hit.retriever for hit in hits] == ["titles", "titles"]
        assert hits[0].chunk.path.endswith("plain.md")  # its title is Ferry
        answer = engine.ask(QUESTION, strategy="twice")
        assert answer.strategy == "twice"
        assert answer.citations[0].quote == "The ferry sails at noon."
        trace = engine.trace(str(answer.trace_id))
        # With the defaults that were not given, so that the answer is had again when they change.
        options = {"chunks": 3, "enough": 0.8}
        assert trace.origin.settings["extensions"]["twice"] == options
        assert engine.replay(trace.id).same
        other = engine.replay(trace.id, assignments=["extensions.twice.chunks=4"])
        assert not other.same
        assert other.missing


def test_the_extension_works_from_settings(
    site_folder: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_to_path(site_folder, monkeypatch)
    chosen = {"rrf.retrievers": ["titles", "keyword"], "extensions.titles.weight": 2.0}
    with make_engine(tmp_path / "index", chosen) as engine:
        engine.ingest(corpus)
        answer = engine.ask(QUESTION, strategy="rrf")
        assert engine.replay(str(answer.trace_id)).same
        # A ranking depends on the weight: the record has none for another.
        other = engine.replay(str(answer.trace_id), assignments=["extensions.titles.weight=0"])
        assert other.missing


def test_the_extension_works_from_the_command_line(
    site_folder: Path, corpus: Path, tmp_path: Path
) -> None:
    def fathom(*arguments: str) -> tuple[int, str, str]:
        ran = subprocess.run(
            [sys.executable, "-m", "fathom", *arguments],
            env={**os.environ, "PYTHONPATH": str(site_folder)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        return ran.returncode, ran.stdout, ran.stderr

    assert fathom("ingest", str(corpus / "talk.srt"))[0] == 0
    code, out, _ = fathom("search", "ferry", "--retriever", "titles", "--json")
    assert code == 0
    assert json.loads(out)["hits"][0]["path"].endswith("talk.srt")
    code, out, _ = fathom("ask", QUESTION, "--strategy", "twice", "--json")
    assert code == 0
    assert json.loads(out)["strategy"] == "twice"
    code, out, err = fathom(
        "ask", QUESTION, "--strategy", "twice", "--set", "extensions.twice.chunk=1"
    )
    assert (code, out) == (2, "")
    assert "extensions.twice.chunk" in err
    code, out, _ = fathom("doctor", "--json")
    listed = {
        finding["detail"]
        for finding in json.loads(out)["findings"]
        if finding["name"] == "extension"
    }
    assert listed == {f"{kind} of fathom_harbour 0.1.0" for kind in (
        "strategy 'twice'", "retriever 'titles'", "format 'srt'")}  # fmt: skip
