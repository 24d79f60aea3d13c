"""What is promised is kept or missed, surely or not."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.lab.plan import Arm
from experiments.lab.renderers.acceptance import accepted
from experiments.lab.results import Cell, Results
from tests.evaluation.making import abstained, cited, record
from tests.experiments.toy import experiment

from fathom.evaluation.records import Record
from fathom.evaluation.report.blocks import ReportTable

NAMES = ("support overlap", "F1", "fewer wrong", "tokens")


def told(folder: Path, base: Sequence[Record], arm: Sequence[Record]) -> dict[str, str]:
    """The outcome of each promise that can be measured."""
    cells = tuple(
        Cell(set="toy", arm=Arm(name=name, strategy="naive"), records=tuple(records))
        for name, records in (("naive", base), ("A", arm))
    )
    seen = Results(experiment=experiment(folder), cells=cells)
    (table,) = accepted(seen, baseline="naive", arms=["A"])
    assert isinstance(table, ReportTable)
    assert all(row[:2] == ("toy", "A") for row in table.rows)
    found = {name: row[-1] for row in table.rows for name in NAMES if row[2].startswith(name)}
    assert len(found) == len(table.rows)
    return found


def asked(tokens: Sequence[int], **fields: Any) -> list[Record]:
    usage = dict(record().usage)
    return [
        record(f"q{n}", usage={**usage, "prompt_tokens": each, "completion_tokens": 0}, **fields)
        for n, each in enumerate(tokens)
    ]


def test_what_is_the_same_is_kept_but_did_not_get_fewer(tmp_path: Path) -> None:
    same = asked([40] * 8)
    assert told(tmp_path, same, same) == {
        "support overlap": "kept, not surely",
        "F1": "kept, not surely",
        "fewer wrong": "unchanged",
        "tokens": "kept",
    }


def test_what_is_worse_is_missed(tmp_path: Path) -> None:
    worse = asked([60] * 8, short_answer="5", citations=(cited(support=0.1),))
    outcomes = told(tmp_path, asked([40] * 8), worse)
    assert outcomes == dict.fromkeys(NAMES, "missed")
    better = told(tmp_path, worse, asked([40] * 8))
    assert better == dict.fromkeys(NAMES, "kept")


def test_an_interval_that_holds_both_is_not_sure(tmp_path: Path) -> None:
    now = [abstained("q0"), *asked([40] * 8)[1:]]
    wrong = [record("q0", short_answer="5", answer="5"), *asked([40] * 8)[1:]]
    assert told(tmp_path, wrong, now)["fewer wrong"] == "kept, not surely"
    dear = asked([20, 20, 20, 90, 90, 90, 20, 20])
    assert told(tmp_path, asked([40] * 8), dear)["tokens"] == "kept, not surely"


def test_without_a_language_model_there_are_no_tokens_to_compare(tmp_path: Path) -> None:
    assert "tokens" not in told(tmp_path, asked([0, 0]), asked([0, 0]))
