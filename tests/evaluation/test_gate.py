"""The gate fails a worse run, passes an equal one, and refuses one with other questions."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.factories import make_abstention, make_failure, make_ranking, make_record

from fathom.errors import UsageError
from fathom.evaluation.gate import Baseline, compare_with_baseline
from fathom.evaluation.records import Record

WRONG = {"short_answer": "5 gulden", "answer": "5 gulden"}


def make_records(wrong: Sequence[int] = (), count: int = 40, **fields: object) -> list[Record]:
    return [make_record(f"q{n}", **fields, **(WRONG if n in wrong else {})) for n in range(count)]


def test_an_equal_run_passes() -> None:
    verdict = compare_with_baseline(Baseline.of([make_records()]), [make_records()])
    assert verdict.regressions == ()
    assert verdict.sentence.startswith("Gate passed: none of 3 measures fell")
    assert [check.measure for check in verdict.checks] == ["F1", "CRAG-truthfulness", "R@10"]


def test_a_drop_is_detected_and_reported() -> None:
    verdict = compare_with_baseline(Baseline.of([make_records()]), [make_records(range(12))])
    assert [check.measure for check in verdict.regressions] == ["F1", "CRAG-truthfulness"]
    assert verdict.sentence.startswith("Gate failed: 2 of 3 measures fell")
    assert verdict.regressions[0].sentence.startswith(
        "naive is worse than its baseline in F1 on toy: -0"
    )


def test_a_rise_passes_and_so_does_a_possible_chance() -> None:
    assert (
        compare_with_baseline(Baseline.of([make_records(range(12))]), [make_records()]).regressions
        == ()
    )
    assert (
        compare_with_baseline(Baseline.of([make_records()]), [make_records([1, 2, 3])]).regressions
        == ()
    )
    assert (
        compare_with_baseline(
            Baseline.of([make_records(range(15))]), [make_records(range(3, 18))]
        ).regressions
        == ()
    )


def test_a_retriever_is_compared_by_its_rankings() -> None:
    good = [make_ranking(f"q{n}") for n in range(40)]
    poor = [make_ranking(f"q{n}", evidence=("d2", "d1")) for n in range(40)]
    verdict = compare_with_baseline(Baseline.of([good, make_records()]), [poor, make_records()])
    assert len(verdict.checks) == 5
    (fallen,) = verdict.regressions
    assert fallen.sentence.startswith("retriever keyword is worse than its baseline in nDCG@10")


def test_a_retriever_may_have_the_name_of_a_strategy() -> None:
    same = [[make_ranking(strategy="hybrid")], [make_record(strategy="hybrid")]]
    assert set(Baseline.of(same).systems) == {("toy", "retriever hybrid"), ("toy", "hybrid")}


def test_failed_questions_count_as_a_drop() -> None:
    broken = [make_failure(f"q{n}") for n in range(20)] + make_records()[20:]
    measures = {
        check.measure
        for check in compare_with_baseline(Baseline.of([make_records()]), [broken]).regressions
    }
    assert measures == {"F1", "CRAG-truthfulness", "R@10"}


def test_a_baseline_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "baseline.json"
    Baseline.of([make_records()]).save(file)
    read = Baseline.load(file)
    file.write_text(file.read_text(), encoding="utf-8-sig")  # as editors on Windows save it
    assert Baseline.load(file).systems == read.systems


def test_abstaining_everywhere_is_a_drop() -> None:
    silent = [make_abstention(f"q{n}") for n in range(40)]
    assert compare_with_baseline(Baseline.of([make_records()]), [silent]).regressions


def test_a_baseline_is_restored_from_its_file_which_holds_no_text(tmp_path: Path) -> None:
    file = tmp_path / "ci" / "baseline.json"
    baseline = Baseline.of([make_records(), make_records(dataset="other", strategy="maf")])
    baseline.save(file)
    read = Baseline.load(file)
    assert read.systems == baseline.systems
    assert [stored_file.name for stored_file in file.parent.iterdir()] == ["baseline.json"]
    text = file.read_text()
    assert "crowns" not in text
    assert "What does it cost" not in text
    baseline.save(file)
    assert file.read_text() == text


@pytest.mark.parametrize(
    ("records", "message"),
    [
        (make_records(count=39), "question q39 of toy differs from that in"),
        (make_records(count=41), "question q40 of toy differs from that in"),
        (make_records(text="Is it free?"), "question q0 of toy differs from that in"),
        (make_records(gold=("41 crowns",)), "question q0 of toy differs from that in"),
        (make_records(dataset="other"), "naive on other is not in the baseline"),
        (make_records(strategy="maf"), "maf on toy is not in the baseline"),
    ],
)
def test_different_questions_are_refused(records: list[Record], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        compare_with_baseline(Baseline.of([make_records()]), [records])
    assert message in str(caught.value)
    assert "--save-baseline" in str(caught.value)


def test_a_system_that_was_not_run_is_refused() -> None:
    with pytest.raises(UsageError, match="maf on toy was not run"):
        compare_with_baseline(
            Baseline.of([make_records(), make_records(strategy="maf")]), [make_records()]
        )


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "[" * 100_000, '{"fathom_baseline": 9, "systems": []}',
     '{"fathom_baseline": 1, "systems": [{"dataset": "toy"}]}',
     '{"fathom_baseline": NaN, "systems": []}',
     '{"fathom_baseline": 1, "systems": [{"dataset": "toy", "strategy": "n",'
     ' "questions": {"q": "x"}, "measures": {"F1": {"q": "much"}}}]}'],
)  # fmt: skip
def test_an_invalid_baseline_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "baseline.json"
    file.write_text(text)
    with pytest.raises(UsageError, match="not a baseline") as caught:
        Baseline.load(file)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("measures", [{}, {"F1": {}}, {"F1": {"q0": 7.5}}, {"F1": {"q0": "1"}}])
def test_a_baseline_without_usable_values_is_refused(
    tmp_path: Path, measures: dict[str, dict[str, Any]]
) -> None:
    file = tmp_path / "baseline.json"
    Baseline.of([make_records()]).save(file)
    whole = json.loads(file.read_text())
    whole["systems"][0]["measures"] = measures
    file.write_text(json.dumps(whole))
    with pytest.raises(UsageError, match="not a baseline"):
        Baseline.load(file)


def test_a_missing_baseline_names_the_next_step(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"No such file.*--save-baseline"):
        Baseline.load(tmp_path / "none.json")


def test_numbers_outside_of_json_are_never_written(tmp_path: Path) -> None:
    Baseline.of([make_records()]).save(tmp_path / "b.json")
    json.loads((tmp_path / "b.json").read_text(), parse_constant=pytest.fail)
