"""Promises are kept or missed, with or without certainty."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.lab.plan import Arm
from experiments.lab.renderers.acceptance import check_promises
from experiments.lab.results import Cell, Results
from tests.evaluation.factories import make_abstention, make_citation, make_record
from tests.experiments.toy import experiment

from fathom.evaluation.records import Record
from fathom.evaluation.report.blocks import ReportTable

NAMES = ("support overlap", "F1", "fewer wrong", "tokens")


def list_verdicts(folder: Path, base: Sequence[Record], arm: Sequence[Record]) -> dict[str, str]:
    """Return the verdict on each promise that can be measured."""
    cells = tuple(
        Cell(set="toy", arm=Arm(name=name, strategy="naive"), records=tuple(records))
        for name, records in (("naive", base), ("A", arm))
    )
    results = Results(experiment=experiment(folder), cells=cells)
    (table,) = check_promises(results, baseline="naive", arms=["A"])
    assert isinstance(table, ReportTable)
    assert all(row[:2] == ("toy", "A") for row in table.rows)
    verdicts = {name: row[-1] for row in table.rows for name in NAMES if row[2].startswith(name)}
    assert len(verdicts) == len(table.rows)
    return verdicts


def make_records(tokens: Sequence[int], **fields: Any) -> list[Record]:
    usage = dict(make_record().usage)
    return [
        make_record(
            f"q{n}", usage={**usage, "prompt_tokens": count, "completion_tokens": 0}, **fields
        )
        for n, count in enumerate(tokens)
    ]


def test_equal_arms_keep_their_promises_but_save_nothing(tmp_path: Path) -> None:
    same = make_records([40] * 8)
    assert list_verdicts(tmp_path, same, same) == {
        "support overlap": "kept, not surely",
        "F1": "kept, not surely",
        "fewer wrong": "unchanged",
        "tokens": "kept",
    }


def test_a_worse_arm_misses_its_promise(tmp_path: Path) -> None:
    worse = make_records([60] * 8, short_answer="5", citations=(make_citation(support=0.1),))
    outcomes = list_verdicts(tmp_path, make_records([40] * 8), worse)
    assert outcomes == dict.fromkeys(NAMES, "missed")
    better = list_verdicts(tmp_path, worse, make_records([40] * 8))
    assert better == dict.fromkeys(NAMES, "kept")


def test_an_interval_with_both_outcomes_is_uncertain(tmp_path: Path) -> None:
    now = [make_abstention("q0"), *make_records([40] * 8)[1:]]
    wrong = [make_record("q0", short_answer="5", answer="5"), *make_records([40] * 8)[1:]]
    assert list_verdicts(tmp_path, wrong, now)["fewer wrong"] == "kept, not surely"
    dear = make_records([20, 20, 20, 90, 90, 90, 20, 20])
    assert list_verdicts(tmp_path, make_records([40] * 8), dear)["tokens"] == "kept, not surely"


def test_without_a_language_model_no_tokens_are_compared(tmp_path: Path) -> None:
    assert "tokens" not in list_verdicts(tmp_path, make_records([0, 0]), make_records([0, 0]))


def test_a_baseline_that_seldom_spends_tokens_has_a_ratio(tmp_path: Path) -> None:
    seldom, hardly_more = make_records([0, 0, 40]), make_records([1, 1, 40])
    assert list_verdicts(tmp_path, seldom, hardly_more)["tokens"] == "kept"
