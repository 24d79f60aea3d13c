"""A worse run fails, one that is as good passes, one that asked something else is refused."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.evaluation.making import abstained, failed, ranked, record

from fathom.errors import UsageError
from fathom.evaluation.gate import Baseline, compare_with_baseline
from fathom.evaluation.records import Record

WRONG = {"short_answer": "5 gulden", "answer": "5 gulden"}


def asked(wrong: Sequence[int] = (), count: int = 40, **fields: object) -> list[Record]:
    return [record(f"q{n}", **fields, **(WRONG if n in wrong else {})) for n in range(count)]


def test_the_same_again_passes() -> None:
    verdict = compare_with_baseline(Baseline.of([asked()]), [asked()])
    assert verdict.regressions == ()
    assert verdict.sentence.startswith("Gate passed: none of 3 measures fell")
    assert [check.measure for check in verdict.checks] == ["F1", "CRAG-truthfulness", "R@10"]


def test_a_fall_is_found_and_said() -> None:
    verdict = compare_with_baseline(Baseline.of([asked()]), [asked(range(12))])
    assert [check.measure for check in verdict.regressions] == ["F1", "CRAG-truthfulness"]
    assert verdict.sentence.startswith("Gate failed: 2 of 3 measures fell")
    assert verdict.regressions[0].sentence.startswith(
        "naive is worse than its baseline in F1 on toy: -0"
    )


def test_a_rise_passes_and_so_does_what_may_be_chance() -> None:
    assert compare_with_baseline(Baseline.of([asked(range(12))]), [asked()]).regressions == ()
    assert compare_with_baseline(Baseline.of([asked()]), [asked([1, 2, 3])]).regressions == ()
    assert (
        compare_with_baseline(Baseline.of([asked(range(15))]), [asked(range(3, 18))]).regressions
        == ()
    )


def test_a_retriever_is_held_to_its_rankings() -> None:
    good = [ranked(f"q{n}") for n in range(40)]
    poor = [ranked(f"q{n}", evidence=("d2", "d1")) for n in range(40)]
    verdict = compare_with_baseline(Baseline.of([good, asked()]), [poor, asked()])
    assert len(verdict.checks) == 5
    (fallen,) = verdict.regressions
    assert fallen.sentence.startswith("retriever keyword is worse than its baseline in nDCG@10")


def test_a_retriever_may_have_the_name_of_a_strategy() -> None:
    same = [[ranked(strategy="hybrid")], [record(strategy="hybrid")]]
    assert set(Baseline.of(same).systems) == {("toy", "retriever hybrid"), ("toy", "hybrid")}


def test_failed_questions_count_as_a_fall() -> None:
    broken = [failed(f"q{n}") for n in range(20)] + asked()[20:]
    measures = {
        check.measure
        for check in compare_with_baseline(Baseline.of([asked()]), [broken]).regressions
    }
    assert measures == {"F1", "CRAG-truthfulness", "R@10"}


def test_abstaining_on_everything_is_a_fall() -> None:
    silent = [abstained(f"q{n}") for n in range(40)]
    assert compare_with_baseline(Baseline.of([asked()]), [silent]).regressions


def test_a_baseline_survives_its_file_and_holds_no_text(tmp_path: Path) -> None:
    file = tmp_path / "ci" / "baseline.json"
    made = Baseline.of([asked(), asked(dataset="other", strategy="maf")])
    made.save(file)
    read = Baseline.load(file)
    assert read.systems == made.systems
    assert [each.name for each in file.parent.iterdir()] == ["baseline.json"]
    text = file.read_text()
    assert "crowns" not in text
    assert "What does it cost" not in text
    made.save(file)
    assert file.read_text() == text


@pytest.mark.parametrize(
    ("records", "message"),
    [
        (asked(count=39), "question q39 of toy is not the same"),
        (asked(count=41), "question q40 of toy is not the same"),
        (asked(text="Is it free?"), "question q0 of toy is not the same"),
        (asked(gold=("41 crowns",)), "question q0 of toy is not the same"),
        (asked(dataset="other"), "naive on other is not in the baseline"),
        (asked(strategy="maf"), "maf on toy is not in the baseline"),
    ],
)
def test_what_asked_something_else_is_refused(records: list[Record], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        compare_with_baseline(Baseline.of([asked()]), [records])
    assert message in str(caught.value)
    assert "--save-baseline" in str(caught.value)


def test_what_was_not_run_is_refused() -> None:
    with pytest.raises(UsageError, match="maf on toy was not run"):
        compare_with_baseline(Baseline.of([asked(), asked(strategy="maf")]), [asked()])


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"fathom_baseline": 9, "systems": []}',
     '{"fathom_baseline": 1, "systems": [{"dataset": "toy"}]}',
     '{"fathom_baseline": NaN, "systems": []}',
     '{"fathom_baseline": 1, "systems": [{"dataset": "toy", "strategy": "n",'
     ' "questions": {"q": "x"}, "measures": {"F1": {"q": "much"}}}]}'],
)  # fmt: skip
def test_what_is_no_baseline_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "baseline.json"
    file.write_text(text)
    with pytest.raises(UsageError, match="not a baseline") as caught:
        Baseline.load(file)
    assert "\n" not in str(caught.value)


def test_a_missing_baseline_names_the_next_step(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"No such file.*--save-baseline"):
        Baseline.load(tmp_path / "none.json")


def test_numbers_that_json_does_not_know_are_never_written(tmp_path: Path) -> None:
    Baseline.of([asked()]).save(tmp_path / "b.json")
    json.loads((tmp_path / "b.json").read_text(), parse_constant=pytest.fail)
