"""The words shown to people, in two languages."""

from dataclasses import fields, replace
from typing import get_args

from tests.answers import make_answer, make_citation

from fathom.serving.wording import (
    ENGLISH,
    INDONESIAN,
    LANGUAGES,
    choose_wording,
    list_readings,
    name_place,
    pick_short_answer,
)
from fathom.types import AbstentionReason, Conflict


def test_each_language_has_words_for_everything() -> None:
    for words in LANGUAGES:
        assert all(getattr(words, field.name) for field in fields(words))
        assert set(words.reasons) == set(get_args(AbstentionReason))
        assert set(words.pages) == set(ENGLISH.pages)


def test_the_language_is_that_of_the_question() -> None:
    assert choose_wording("When does the library open?") is ENGLISH
    assert choose_wording("Kapan perpustakaan buka?") is INDONESIAN


def test_a_place_is_named_by_title_section_and_page() -> None:
    assert name_place(make_citation()) == "Rules > Loans, page 3"
    assert name_place(make_citation(path="/a/b.xlsx"), INDONESIAN) == "Rules > Loans, lembar 3"


def test_a_place_without_title_is_named_by_file_and_record() -> None:
    assert (
        name_place(make_citation(title="", path="/a/faq.jsonl#q23"))
        == "faq.jsonl#q23 > Loans, page 3"
    )


def test_a_redundant_short_answer_is_left_out() -> None:
    assert pick_short_answer(make_answer(answer="28 days. [1]")) == ""
    assert pick_short_answer(make_answer()) == "28 days"


def test_readings_begin_with_the_answers_own() -> None:
    assert list_readings(make_answer()) == ()
    torn = make_answer(
        citations=(make_citation(), make_citation(n=2)),
        conflicts=(Conflict(answer="14 days", citations=(2,)),),
    )
    assert [(reading.answer, reading.citations) for reading in list_readings(torn)] == [
        ("28 days", (1,)),
        ("14 days", (2,)),
    ]
    both = (Conflict(answer="14 days", citations=(2,)), Conflict(answer="28 days", citations=(1,)))
    disputed = replace(torn, disputed=True, short_answer="14 days or 28 days", conflicts=both)
    assert [reading.answer for reading in list_readings(disputed)] == ["14 days", "28 days"]
