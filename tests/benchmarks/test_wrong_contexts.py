"""The texts and planted questions of our own, and the table of what the gate makes of them."""

import re
from pathlib import Path

from benchmarks.made_contexts import MADE_KINDS, make_texts_and_cases
from benchmarks.wrong_contexts import Case, Outcome, format_table, write_made_corpus

from fathom.evaluation.datasets import read_rows
from fathom.text.entities import list_names


def test_a_seed_gives_the_same_texts_and_another_one_others() -> None:
    assert make_texts_and_cases(1) == make_texts_and_cases(1)
    assert make_texts_and_cases(1) != make_texts_and_cases(2)


def test_each_kind_is_planted_in_both_languages() -> None:
    texts, cases = make_texts_and_cases()
    assert len(cases) >= 60
    assert len({case.id for case in cases}) == len(cases)
    assert {(case.kind, case.language) for case in cases} == {
        (kind, language) for kind in MADE_KINDS for language in ("en", "id")
    }
    bodies = {text.id: text.text for text in texts}
    for case in cases:
        assert case.answers[0] in bodies[case.document]
        assert case.planted != case.text


def test_no_text_holds_what_is_planted() -> None:
    texts, cases = make_texts_and_cases()
    everything = "\n".join(text.text for text in texts)
    bodies = {text.id: text.text for text in texts}
    for case in cases:
        asked = set(list_names(case.text)) | set(re.findall(r"\d{4}", case.text))
        planted = set(list_names(case.planted)) | set(re.findall(r"\d{4}", case.planted))
        new = {word for item in planted - asked for word in item.split() if word not in case.text}
        if case.kind == "unit":
            assert not new
            continue
        assert new
        held = bodies[case.document] if case.kind == "year" else everything
        assert not any(word in held for word in new)


def test_the_made_corpus_is_a_file_of_its_texts(tmp_path: Path) -> None:
    texts, cases = write_made_corpus(tmp_path / "corpus.jsonl", seed=3)
    rows = [row for _, row in read_rows(tmp_path / "corpus.jsonl")]
    assert [row["text"] for row in rows] == [text.text for text in texts]
    assert {case.document for case in cases} == {text.id for text in texts}


def test_stopped_and_lost_are_shares_of_planted_and_right_questions() -> None:
    case = Case(
        id="1", language="en", kind="list", text="a?", answers=("a",), planted="b?", document="d"
    )
    outcomes = [
        Outcome(case=case, free=True, gated=True, stopped=True, stopped_free=True),
        Outcome(case=case, free=True, gated=False, stopped=False, stopped_free=True),
        Outcome(case=case, free=False, gated=False, stopped=False, stopped_free=False),
    ]
    row = f"| {case.half}, list | 3 | 2 (66.7%) | 1 (33.3%) | 2 | 1 (50.0%) |"
    assert row in format_table(outcomes)
