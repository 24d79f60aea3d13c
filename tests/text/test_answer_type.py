import pytest

from fathom.text.answer_type import AnswerType, find_spans


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("time", "Born 24 June 1630, died 1691.", ["24 June 1630", "1691"]),
        ("time", "It ran about 1835, from 1840\u20131843.", ["about 1835", "1840\u20131843"]),
        ("time", "Lahir pada 7 Maret 1892.", ["7 Maret 1892"]),
        ("time", "It opens at 08:30, closes at 5 pm.", ["08:30", "5 pm"]),
        ("time", "Buka Senin pukul 08.00 WIB.", ["pukul 08.00 WIB"]),
        ("time", "On Saturday it opens 10:00 to 16:00.", ["10:00 to 16:00"]),
        ("number", "There were 3,559 people in 1,575 homes.", ["3,559 people", "1,575"]),
        ("number", "Panjangnya 98 km, biaya Rp 40.000.", ["98 km", "Rp 40.000"]),
        ("place", "It lies in Lyon, France and not in Paris.", ["Lyon, France", "Paris"]),
        ("sport", "An American football player who played golf.", ["American football", "golf"]),
        ("party", "A member of the Democratic Party.", ["Democratic Party"]),
        ("name", "The mill was built by Ada Vale.", ["Ada Vale"]),
    ],
)
def test_things_of_a_type_are_found(kind: AnswerType, text: str, expected: list[str]) -> None:
    spans = find_spans(kind, text, "?")
    assert spans is not None
    assert [span.cut(text) for span in spans] == expected


def test_weekdays_are_times_where_a_day_is_asked_for() -> None:
    text = "Glass is collected on Monday at 7:30."
    spans = find_spans("time", text, "Which day is glass collected?")
    assert [span.cut(text) for span in spans or ()] == ["Monday", "7:30"]


def test_people_are_not_counted_in_kilometres() -> None:
    text = "On 12 km live 40 people, 3.3% of them alone."
    spans = find_spans("number", text, "What is the population?")
    assert [span.cut(text) for span in spans or ()] == ["40 people"]


def test_rules_miss_some_things_and_the_question_itself_is_no_answer() -> None:
    assert find_spans("any", "Text.", "?") is None
    assert find_spans("name", "by Ada Vale", "Who knew Ada Vale?") == []
