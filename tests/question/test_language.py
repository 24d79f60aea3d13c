import pytest

from fathom.question.language import detect_question_language


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
        ("When did Apa die?", "en"),
    ],
)
def test_few_words_decide_the_language_of_a_question(question: str, language: str) -> None:
    assert detect_question_language(question) == language
