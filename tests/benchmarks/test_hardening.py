"""The registry of the matrix names what exists, and failing probes are counted as failing."""

import re
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from benchmarks.hardening.__main__ import list_tasks, select_rows
from benchmarks.hardening.outcomes import (
    FILE,
    PieceOutcome,
    append_outcome,
    hash_code,
    make_outcome,
    read_outcomes,
    sum_outcomes,
)
from benchmarks.hardening.page import format_page
from benchmarks.hardening.probes import (
    ROOT,
    Count,
    Fuzzing,
    Piece,
    Poison,
    Report,
    Tests,
    count_executions,
)
from benchmarks.hardening.rows import Row, read_rows
from benchmarks.poison import ARMS

from fathom.errors import UsageError
from fathom.registry import FORMATS

ROWS = read_rows()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_names_probes_that_exist_or_says_what_is_missing(row: Row) -> None:
    assert row.probes or row.gap
    assert all((ROOT / file).exists() for file in row.files)
    match row.probes:
        case Tests(nodes=nodes):
            for node in nodes:
                file, _, name = node.partition("::")
                assert not name or f"def {name}(" in (ROOT / file).read_text(encoding="utf-8")
        case Poison(arm=arm):
            assert arm in ARMS
        case Report(module=module, options=options):
            import_module(module)
            assert "{size}" in options
            assert row.fast
        case Fuzzing(formats=formats):
            assert set(formats) == set(FORMATS)
        case None:
            assert row.list_pieces() == []


def test_the_variables_of_a_row_are_read_by_its_tests() -> None:
    for row in ROWS:
        if isinstance(row.probes, Tests):
            texts = [(ROOT / file).read_text(encoding="utf-8") for file in row.files]
            for name in row.probes.environment:
                assert any(f'"{name}"' in text for text in texts), (row.name, name)


def test_names_of_rows_are_unique_and_an_unknown_one_is_refused() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS) >= 50
    assert [row.name for row in select_rows("P1,D1")] == ["P1", "D1"]
    with pytest.raises(UsageError, match="no row X9; the rows are D1, "):
        select_rows("D1,X9")


@pytest.fixture
def row() -> Row:
    return Row(group="G", name="X1", fault="a fault", required="nothing", pieces=2, size=4)


def test_probes_are_counted_and_failing_ones_as_failing() -> None:
    file = "tests/benchmarks/failing_probes.py"
    count = Tests((file,), environment={"MANY": "{size}"}).run(Piece(number=0, size=4, seed=1))
    lost = Tests(("tests/no_such_file.py",)).run(Piece(number=0, size=1, seed=1))
    assert count.probes == 4 + 7
    assert [failure.partition(":")[0] for failure in count.failures] == [
        "test_the_third_fails[2]",
        "test_the_seventh_of_its_own_fails",
    ]
    assert count.skipped == ("test_one_is_skipped",)
    assert lost.probes == len(lost.failures) == 1


def test_a_fault_of_a_fuzzer_is_a_failure() -> None:
    stat = "stat::number_of_executed_units: 321\n"
    assert count_executions("csv", f"INFO\n{stat}") == Count(probes=321)
    fault = "==7== ERROR: libFuzzer: timeout after 21 seconds\n"
    assert len(count_executions("csv", fault + stat).failures) == 1
    assert len(count_executions("csv", "killed").failures) == 1


def make_piece(row: Row, number: int, count: Count, digest: str = "") -> PieceOutcome:
    piece = row.list_pieces()[number]
    return make_outcome(row, piece, count, 1.0, digest or hash_code(row))


def test_a_run_goes_on_where_it_was_unless_the_code_changed(row: Row, tmp_path: Path) -> None:
    file = tmp_path / "outcomes.jsonl"
    row = replace(row, probes=Tests(("tests/test_crash.py",)))
    append_outcome(make_piece(row, 0, Count(probes=4)), file)
    assert [piece.number for _, piece, _ in list_tasks([row], read_outcomes(file), fast=False)] == [
        1
    ]
    append_outcome(make_piece(row, 1, Count(probes=4, failures=("f",))), file)
    kept = read_outcomes(file)
    assert [piece.number for _, piece, _ in list_tasks([row], kept, fast=False)] == [1]
    append_outcome(make_piece(row, 1, Count(probes=4)), file)
    assert list_tasks([row], read_outcomes(file), fast=False) == []
    (outcome,) = sum_outcomes([row], read_outcomes(file))
    assert (outcome.probes, outcome.failures) == (8, [])
    assert [piece.failures for piece in outcome.earlier] == [["f"]]
    other = replace(row, seed=5)
    assert len(list_tasks([other], read_outcomes(file), fast=False)) == 2


def test_a_row_holds_only_with_its_probes_and_within_its_bound(row: Row) -> None:
    row = replace(row, probes=Tests(("tests/test_crash.py",)), wanted=8)
    first, bad = Count(probes=4), Count(probes=4, failures=("f",))
    for counts, bound, verdict in (
        ([], 0, "not run"),
        ([first], 0, "held so far, of 8 wanted"),
        ([first, first], 0, "held"),
        ([first, bad], 0, "**failed**"),
        ([first, bad], 0.2, "held"),
    ):
        bounded = replace(row, bound=bound)
        pieces = [make_piece(bounded, number, count) for number, count in enumerate(counts)]
        (outcome,) = sum_outcomes([bounded], pieces)
        assert outcome.verdict == verdict
    (missing,) = sum_outcomes([replace(row, probes=None)], [])
    assert missing.verdict == "not built"
    old = make_piece(row, 0, bad, "another digest")
    (latest,) = sum_outcomes([row], [old, make_piece(row, 1, first)])
    assert latest.probes == 4
    assert not latest.failures


def test_the_page_is_that_of_the_kept_outcomes() -> None:
    page = (ROOT / "docs" / "hardening.md").read_text(encoding="utf-8")
    assert page == format_page(ROWS, read_outcomes(FILE))
    assert len(re.findall(r"^\| [A-Z]\d", page, re.MULTILINE)) == len(ROWS)
