"""One command asks, keeps and publishes; the same command gives the same figures."""

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.toy import bench, experiment

from experiments import __main__ as command


def repository(place: Path, patch: pytest.MonkeyPatch) -> Path:
    """One with one experiment, and its data."""
    experiment(place / "experiments")
    bench(place)
    patch.setattr(command, "ROOT", place)
    patch.setenv("SHARED_DATA", str(place / "data"))
    return place


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return repository(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository where the command has run; to be read only."""
    with pytest.MonkeyPatch.context() as patch:
        place = repository(tmp_path_factory.mktemp("made"), patch)
        assert run(place) == 0
    return place


def run(place: Path, *more: str, name: str = "one") -> int:
    places = ("--work", str(place / name), "--out", str(place / name / "out"))
    return command.main([*more, *places])


def quality(file: Path) -> list[Any]:
    rows = json.loads(file.read_text())["rows"]
    return [{k: v for k, v in row.items() if k != "latency_s"} for row in rows]


def test_the_same_command_gives_the_same_figures(made: Path, place: Path) -> None:
    assert run(place) == 0
    first, second = (quality(each / "one/out/toy/table.json") for each in (made, place))
    assert len(first) == 3
    for row in (*first, *second):
        assert row["usage"].pop("seconds", None) is None
    assert first == second


def test_a_page_shows_our_figures_beside_the_papers(made: Path) -> None:
    page = (made / "one" / "out" / "toy.md").read_text()
    assert '<a id="toy-table"></a>\n## Two systems' in page
    assert "*Toy, Table I.* `python -m experiments toy/table`" in page
    assert "| toy | naive | 2 | 0.800 [0.126, 0.968] | 1.000 | 1.0 |" in page
    assert "**The paper prints**\n\n| system | F1 |\n|---|---|\n| naive | 0.5 |" in page
    assert "Nothing differs." in page
    assert "As printed." in page
    contents = (made / "one" / "out" / "README.md").read_text()
    assert "| [Two systems](toy.md#toy-table) | Toy, Table I | 6 | yes |" in contents
    assert "at unknown, " in contents
    assert "seed 0" in contents


def test_nothing_of_the_data_sets_is_published(made: Path) -> None:
    files = [file for file in (made / "one" / "out").rglob("*.*") if file.suffix != ".gz"]
    text = "".join(file.read_text() for file in files)
    packed = (made / "one" / "out" / "toy" / "table.scores.jsonl.gz").read_bytes()
    text += gzip.decompress(packed).decode()
    assert '"F1": ' in text
    assert not [word for word in ("mooring", "crowns", "Fees") if word in text]


def test_pages_are_made_anew_from_what_was_published(made: Path, place: Path) -> None:
    shutil.copytree(made / "one" / "out", place / "one" / "out")
    page = place / "one" / "out" / "toy.md"
    before = page.read_text()
    page.unlink()
    assert run(place, "--pages") == 0
    assert page.read_text() == before


def test_absent_data_are_told_and_the_rest_is_made(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = (place / "experiments/toy/table.toml").read_text().replace('"toy"', '"away"')
    (place / "experiments/toy/absent.toml").write_text(other)
    assert run(place) == 2
    told = capsys.readouterr().err
    assert "there is no data set 'away'; set SHARED_DATA" in told
    assert (place / "one" / "out" / "toy" / "table.json").is_file()
    assert not (place / "one" / "out" / "toy" / "absent.json").exists()


def test_where_there_are_no_data_at_all_one_line_says_so(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHARED_DATA", str(place / "nowhere"))
    assert run(place) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "nowhere: there are no data sets; set SHARED_DATA" in told


def test_an_unknown_name_is_refused(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(place, "toy/tabel") == 2
    assert "no experiment 'toy/tabel'; there are toy/table" in capsys.readouterr().err


def test_a_list_of_what_there_is(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(place, "--list") == 0
    assert capsys.readouterr().out.split() == ["toy/table", "Toy,", "Table", "I:", "Two", "systems"]
