import pytest

from fathom.question.answer_type import can_answer, detect_answer_type
from fathom.text.answer_type import AnswerType
from fathom.types import Span


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When was the mill built?", "time"),
        ("What year did it open?", "time"),
        ("Kapan pabrik itu dibangun?", "time"),
        ("What is the population of Elm?", "number"),
        ("Berapa jumlah penduduk Elm?", "number"),
        ("Where is the mill?", "place"),
        ("Di mana pabrik itu?", "place"),
        ("What sport is he associated with?", "sport"),
        ("Which political party is she in?", "party"),
        ("Who built it?", "name"),
        ("Siapa yang membangunnya?", "name"),
        ("Kapankah pabrik itu dibangun?", "time"),
        ("Pada tahun berapakah pabrik itu dibangun?", "time"),
        ("Di negara manakah pabrik itu?", "place"),
        ("Must I knock when I visit it?", "any"),
        ("What time does the office open?", "time"),
        ("Jam berapa kantor buka?", "time"),
        ("How many branches does the library have?", "number"),
        ("Berapa biaya izin usaha?", "number"),
        ("Which company built it?", "name"),
        ("What does it mean?", "any"),
    ],
)
def test_the_words_of_a_question_determine_its_answer_type(question: str, kind: AnswerType) -> None:
    assert detect_answer_type(question) == kind


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
    assert can_answer(question, text, Span(start, start + len(answer))) is can_be
