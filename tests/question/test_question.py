"""A question tells each thing once, and the same thing wherever it is asked."""

import pickle

import pytest

from fathom.question.question import Question
from fathom.question.statement import Statement
from fathom.types import Span


def test_equal_texts_are_equal_questions() -> None:
    question = Question("Who built it?")
    assert question.language == "en"  # a property that was read makes no other question
    assert question == Question("Who built it?") != Question("Who built it")
    assert len({question, Question("Who built it?")}) == 1
    assert pickle.loads(pickle.dumps(question)) == question


@pytest.mark.parametrize(
    ("text", "yes", "no"),
    [
        ("Was Makkah conquered in 630?", "yes", "no"),
        ("Is the Makkah museum open on Sundays?", "yes", "no"),
        ("Is it open?", "yes", "no"),
        ("Apakah buka?", "ya", "tidak"),
        ("Bolehkah masuk?", "ya", "tidak"),
        ("Apa boleh membawa anjing?", "ya", "tidak"),
    ],
)
def test_yes_and_no_are_said_in_the_language_of_the_question(text: str, yes: str, no: str) -> None:
    question = Question(text)
    assert question.form == "yes or no"
    assert (question.choose_word(yes=True), question.choose_word(yes=False)) == (yes, no)


def test_the_language_is_that_of_the_question_words_where_the_others_do_not_tell() -> None:
    assert Question("How long is a permit valid?").language == "en"
    assert Question("Kapan Su Dingfang lahir?").language == "id"
    assert Question("Siapa yang wajib membayar denda itu?").language == "id"


def test_the_form_tells_lists_and_steps() -> None:
    listing = Question("Name three rivers in Java.")
    assert (listing.form, listing.count) == ("several", 3)
    assert Question("How do I end a session?").asks_steps
    assert Question("Which papers do I need?").asks_items
    single = Question("When is it open?")
    assert (single.form, single.count, single.asks_steps, single.asks_items) == (
        "one",
        None,
        False,
        False,
    )


def test_the_answer_has_a_type_and_a_value() -> None:
    price = Question("How much does a permit cost?")
    assert price.answer_type == "number"
    assert price.expected_value is not None
    assert price.expected_value.kind == "money"
    assert Question("Why did it close?").expected_value is None
    assert Question("How many branches does the library have?").counted_noun == "branches"


def test_names_and_times_are_anchors_and_mentions() -> None:
    question = Question('Who sang "Let It Be" in 1970?')
    assert [anchor.text for anchor in question.anchors] == ["Let It Be", "1970"]
    assert [span.cut(question.text) for span in question.mentions] == ['"Let It Be"']


def test_a_source_a_term_and_a_statement_are_read_off() -> None:
    assert Question("What does it cost according to the Treasury?").source == "Treasury"
    assert Question("What is a quay?").term == "quay"
    statement = Question("Does the museum open on Monday?").statement
    assert statement == Statement(
        says="The museum does open on Monday.", denies="The museum does not open on Monday."
    )
    plain = Question("Who built it?")
    assert (plain.source, plain.term, plain.statement) == ("", "", None)


def test_a_comparison_has_its_options() -> None:
    question = Question("Which is cheaper, a skip or a cart?")
    assert question.options == ("a skip", "a cart")
    assert question.comparison is not None
    assert question.comparison.options == question.options
    assert Question("Who built it?").comparison is None


def test_a_nested_question_is_split_into_a_chain() -> None:
    question = Question("Who founded the company that distributed the film Harbour Lights?")
    first = Question("What is the company that distributed the film Harbour Lights?")
    assert question.split_chain(4) == (first, Question("Who founded #1?"))
    assert question.split_chain(1) == (question,)


def test_joined_and_compared_things_are_asked_for_side_by_side() -> None:
    joined = Question("Who wrote Dune and when was it published?")
    assert joined.split_joined(4) == (
        Question("Who wrote Dune?"),
        Question("When was Dune published?"),
    )
    compared = Question("Which is older, Oslo, Bergen, or Tromso?")
    assert len(compared.split_joined(4)) == 3
    assert len(compared.split_joined(2)) == 2
    assert Question("Who wrote Dune?").split_joined(4) == (Question("Who wrote Dune?"),)


@pytest.mark.parametrize(
    ("question", "first", "other", "same"),
    [
        ("Who built it?", "the Vales", "Vales", True),
        ("Who built it?", "Ada M. Vale", "Ada Vale", True),
        ("Who built it?", "Ada Vale", "Ada Hill", False),
        ("Who built it?", "", "", False),
        ("When was it built?", "24 June 1630", "June 24, 1630", True),
        ("When was it built?", "about 1835", "1835", True),
        ("When was it built?", "1835", "1836", False),
        ("What is the population?", "3,559 people", "3559", True),
        ("What is the population?", "3,559 people", "3,550 people", False),
        ("Which plane?", "Airbus A310-324 jet", "Airbus A320-324 jet", False),
        ("How far is it?", "3, 7 million km", "3,7 million km", True),
        ("Berapa tingkat erosinya?", "10, 23 mm", "10,24 mm", False),
    ],
)
def test_equal_answers_match(question: str, first: str, other: str, *, same: bool) -> None:
    match = Question(question).answers_match
    assert match(first, other) is match(other, first) is same


def test_groups_leave_out_unknown_answers() -> None:
    question = Question("Who built it?")
    assert question.cluster_answers(["Ada Vale", "", "Bo Hill", "Vale"]) == [[0, 3], [2]]
    assert question.cluster_answers(["", ""]) == []


def test_spans_of_the_kind_asked_for_are_found_without_what_the_question_names() -> None:
    text = "Ada Vale and Bo Hill built it in 1835."
    spans = Question("Who built it with Ada Vale?").find_spans(text)
    assert [span.cut(text) for span in spans or ()] == ["Bo Hill"]
    assert Question("Why was it built?").find_spans(text) is None
    assert not Question("Who built it?").can_answer(text, Span(33, 37))


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("How long is a permit valid?", "en"),
        ("permit fee", "en"),
        ("", "en"),
        ("Kapan Su Dingfang lahir?", "id"),
        ("Siapakah presiden pertama?", "id"),
        ("Di mana Orléans?", "id"),
        ("Berapa lama izin berlaku?", "id"),
        ("Seberapa sering sampah diangkut?", "id"),
        ("When did Apa die?", "en"),
        ("APA format for citing a website", "en"),
        ("Siapa pengarang The History of the Decline and Fall of the Empire?", "id"),
        ("siapakah nama Chief of the Board", "id"),
        ("Di organisasi manakah Agreement on the Trade of Goods dibahas?", "id"),
    ],
)
def test_few_words_decide_the_language_of_a_question(question: str, language: str) -> None:
    assert Question(question).language == language


@pytest.mark.parametrize(
    ("question", "text", "answer", "can_be"),
    [
        ("Siapa wali kota Elm?", "It lies in Indonesia.", "Indonesia", False),
        ("Who is the mayor?", "The mayor lives near the Elm Bridge.", "Elm Bridge", False),
        ("Who is the mayor?", "Since 2022 it is open.", "2022", False),
        ("Who is the mayor?", "The mayor is Ada Vale.", "Ada Vale", True),
        ("Who is the mayor?", "It is stated in full.", "full", True),
        ("Where is Elm?", "It lies in Indonesia.", "Indonesia", True),
    ],
)
def test_a_place_is_no_person(question: str, text: str, answer: str, can_be: bool) -> None:
    start = text.index(answer)
    assert Question(question).can_answer(text, Span(start, start + len(answer))) is can_be
