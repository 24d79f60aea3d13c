from experiments.lab.rephrase import add_slip, rephrase
from hypothesis import given
from hypothesis import strategies as st

QUESTIONS = (
    "Who is the mayor of the largest harbour town?",
    "In what year was the lighthouse of Sandholm built?",
    "How much does a mooring permit cost?",
    "Siapakah walikota kota pelabuhan terbesar di Indonesia?",
)


def test_a_slip_changes_one_word_and_not_its_first_letter() -> None:
    for question in QUESTIONS:
        slipped = add_slip(question)
        pairs = zip(question.split(), slipped.split(), strict=True)
        differing = [(first, other) for first, other in pairs if first != other]
        assert len(differing) <= 1
        assert all(first[0] == other[0] for first, other in differing)
        assert all(abs(len(first) - len(other)) <= 1 for first, other in differing)
    assert any(add_slip(question) != question for question in QUESTIONS)


def test_other_words_keep_the_question() -> None:
    for question in QUESTIONS:
        other = rephrase(question)
        assert other != question
        assert set(question.rstrip("?").split()[4:]) <= set(other.rstrip("?").split())
    assert rephrase(QUESTIONS[3]).split()[0] in {"siapa", "Tolong", "Saya", "Mohon"}


@given(st.text(max_size=80))
def test_every_text_has_reproducible_variants(text: str) -> None:
    assert add_slip(text) == add_slip(text)
    assert rephrase(text) == rephrase(text)
