"""`fathom audit` on the command line."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.serving.http.test_audit_log import LINE
from typer.testing import CliRunner

from fathom.engine import Engine
from fathom.errors import IndexMissing, UsageError
from fathom.index.engines import EmbeddedIndex
from fathom.serving.cli.app import app
from fathom.serving.cli.audit import FORMULA_MARKS
from fathom.serving.http.audit_log import create_audit_log
from fathom.settings import IndexSettings, Settings

RUNNER = CliRunner()


@pytest.fixture
def index(tmp_path: Path) -> list[str]:
    """Return the options of an index beside which two lines are stored."""
    log = create_audit_log(EmbeddedIndex(tmp_path), days=30)
    log.add(LINE)
    log.add(replace(LINE, key="", name="", groups=(), workspace="", asked={"query": "=1+1"}))
    log.close()
    return ["--index", str(tmp_path)]


def test_lines_are_for_people_for_programs_and_for_spreadsheets(index: list[str]) -> None:
    first, second = RUNNER.invoke(app, ["audit", *index]).stdout.splitlines()
    assert "ana (3d066515) in law: POST /api/v1/ask" in first
    assert first.endswith("200; shown: d1, d2")
    assert "this machine: POST" in second
    lines = json.loads(RUNNER.invoke(app, ["audit", *index, "--json"]).stdout)["lines"]
    assert lines[0] == LINE.to_json()
    table = csv.DictReader(io.StringIO(RUNNER.invoke(app, ["audit", *index, "--csv"]).stdout))
    rows = list(table)
    assert [row["name"] for row in rows] == ["ana", ""]
    assert not [cell for row in rows for cell in row.values() if cell.startswith("=")]


@pytest.mark.parametrize("mark", ["=", "+", "-", "@", "\t=", "\r=", " ="])
def test_no_cell_of_a_table_begins_a_formula(tmp_path: Path, mark: str) -> None:
    formula = f"{mark}HYPERLINK(A1)"
    line = replace(LINE, key=formula, name=formula, workspace=formula, route=formula)
    log = create_audit_log(EmbeddedIndex(tmp_path), days=30)
    log.add(replace(line, groups=(formula,), asked=formula))
    log.close()
    printed = RUNNER.invoke(app, ["audit", "--index", str(tmp_path), "--csv"]).stdout
    (row,) = csv.DictReader(io.StringIO(printed))
    assert row["asked"].startswith("'")
    assert row["asked"].endswith("HYPERLINK(A1)")
    assert not [cell for cell in row.values() if cell.lstrip().startswith(FORMULA_MARKS)]


def test_an_index_without_lines_has_none(tmp_path: Path) -> None:
    (tmp_path / "fees.md").write_text("# Fees\n\nA mooring permit costs 40 crowns.\n")
    place = tmp_path / "index"
    with Engine(Settings(index=IndexSettings(directory=place))) as engine:
        engine.ingest([tmp_path / "fees.md"])
    printed = RUNNER.invoke(app, ["audit", "--index", str(place)]).stdout
    assert printed == "no lines; `fathom serve --audit 90` keeps lines for 90 days\n"
    as_json = RUNNER.invoke(app, ["audit", "--index", str(place), "--json"])
    assert json.loads(as_json.stdout) == {"lines": []}


def test_a_wrong_place_of_an_index_is_named_as_by_other_commands(tmp_path: Path) -> None:
    place = tmp_path / "typo"
    for options in ([], ["--json"], ["--csv"]):
        refused = RUNNER.invoke(app, ["audit", "--index", str(place), *options]).exception
        assert isinstance(refused, IndexMissing)
        assert str(refused) == f"no index at {place}; run `fathom ingest PATH` first"
    assert not place.exists()


def test_lines_are_chosen_by_key_and_time(index: list[str]) -> None:
    assert len(RUNNER.invoke(app, ["audit", *index, "--key", "ana"]).stdout.splitlines()) == 1
    assert RUNNER.invoke(app, ["audit", *index, "--since", "2999-01-01"]).stdout.count("\n") == 1
    refused = RUNNER.invoke(app, ["audit", *index, "--json", "--csv"]).exception
    assert isinstance(refused, UsageError)


def test_a_name_with_a_line_break_takes_one_line(tmp_path: Path) -> None:
    log = create_audit_log(EmbeddedIndex(tmp_path), days=30)
    log.add(replace(LINE, name="ana\nno one"))
    log.close()
    (line,) = RUNNER.invoke(app, ["audit", "--index", str(tmp_path)]).stdout.splitlines()
    assert "ana no one" in line
