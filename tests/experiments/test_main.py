"""One command asks, stores and publishes, and reproduces its figures."""

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.toy import bench, experiment

from experiments import __main__ as command


def make_repository(place: Path, patch: pytest.MonkeyPatch) -> Path:
    """Write a repository with one experiment and its data."""
    experiment(place / "experiments")
    bench(place)
    patch.setattr(command, "ROOT", place)
    patch.setenv("SHARED_DATA", str(place / "data"))
    return place


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return make_repository(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def finished_repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a read-only repository where the command has run."""
    with pytest.MonkeyPatch.context() as patch:
        place = make_repository(tmp_path_factory.mktemp("made"), patch)
        assert run_command(place) == 0
    return place


def run_command(place: Path, *more: str, name: str = "one") -> int:
    places = ("--work", str(place / name), "--out", str(place / name / "out"))
    return command.main([*more, *places])


def read_quality(file: Path) -> list[Any]:
    rows = json.loads(file.read_text())["rows"]
    return [{k: v for k, v in row.items() if k != "latency_s"} for row in rows]


def test_the_same_command_gives_the_same_figures(
    finished_repository: Path, repository: Path
) -> None:
    assert run_command(repository) == 0
    first, second = (
        read_quality(root / "one/out/toy/table.json") for root in (finished_repository, repository)
    )
    assert len(first) == 3
    for row in (*first, *second):
        assert row["usage"].pop("seconds", None) is None
    assert first == second


def test_a_page_shows_the_new_figures_beside_those_of_the_paper(finished_repository: Path) -> None:
    page = (finished_repository / "one" / "out" / "toy.md").read_text()
    assert '<a id="toy-table"></a>\n## Two systems' in page
    assert "*Toy, Table I.* `python -m experiments toy/table`" in page
    assert "| toy | naive | 2 | 0.800 [0.126, 0.968] | 1.000 | 1.0 |" in page
    assert "**The paper prints**\n\n| system | F1 |\n|---|---|\n| naive | 0.5 |" in page
    assert "Nothing differs." in page
    assert "As printed." in page
    contents = (finished_repository / "one" / "out" / "README.md").read_text()
    assert "| [Two systems](toy.md#toy-table) | Toy, Table I | 6 | yes |" in contents
    assert "at unknown, " in contents
    assert "seed 0" in contents


def test_no_text_of_the_data_sets_is_published(finished_repository: Path) -> None:
    files = [
        file for file in (finished_repository / "one" / "out").rglob("*.*") if file.suffix != ".gz"
    ]
    text = "".join(file.read_text() for file in files)
    packed = (finished_repository / "one" / "out" / "toy" / "table.scores.jsonl.gz").read_bytes()
    text += gzip.decompress(packed).decode()
    assert '"F1": ' in text
    assert not [word for word in ("mooring", "crowns", "Fees") if word in text]


def test_pages_are_rebuilt_from_published_results(
    finished_repository: Path, repository: Path
) -> None:
    shutil.copytree(finished_repository / "one" / "out", repository / "one" / "out")
    page = repository / "one" / "out" / "toy.md"
    before = page.read_text()
    page.unlink()
    assert run_command(repository, "--pages") == 0
    assert page.read_text() == before


def test_missing_data_are_reported_and_the_rest_is_published(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = (repository / "experiments/toy/table.toml").read_text().replace('"toy"', '"away"')
    (repository / "experiments/toy/absent.toml").write_text(other)
    assert run_command(repository) == 2
    output = capsys.readouterr().err
    assert "there is no data set 'away'; set SHARED_DATA" in output
    assert (repository / "one" / "out" / "toy" / "table.json").is_file()
    assert not (repository / "one" / "out" / "toy" / "absent.json").exists()


def test_without_any_data_one_line_says_so(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHARED_DATA", str(repository / "nowhere"))
    assert run_command(repository) == 2
    output = capsys.readouterr().err
    assert output.count("\n") == 1
    assert "nowhere: there are no data sets; set SHARED_DATA" in output


def test_an_unknown_name_is_refused(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(repository, "toy/tabel") == 2
    assert "no experiment 'toy/tabel'; there are toy/table" in capsys.readouterr().err


def test_experiments_can_be_listed(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(repository, "--list") == 0
    assert capsys.readouterr().out.split() == ["toy/table", "Toy,", "Table", "I:", "Two", "systems"]
