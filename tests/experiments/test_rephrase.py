from experiments.lab.rephrase import in_other_words, with_slip
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
        slipped = with_slip(question)
        pairs = zip(question.split(), slipped.split(), strict=True)
        differing = [(first, other) for first, other in pairs if first != other]
        assert len(differing) <= 1
        assert all(first[0] == other[0] for first, other in differing)
        assert all(abs(len(first) - len(other)) <= 1 for first, other in differing)
    assert any(with_slip(question) != question for question in QUESTIONS)


def test_other_words_keep_the_question() -> None:
    for question in QUESTIONS:
        other = in_other_words(question)
        assert other != question
        assert set(question.rstrip("?").split()[4:]) <= set(other.rstrip("?").split())
    assert in_other_words(QUESTIONS[3]).split()[0] in {"siapa", "Tolong", "Saya", "Mohon"}


@given(st.text(max_size=80))
def test_every_text_has_reproducible_variants(text: str) -> None:
    assert with_slip(text) == with_slip(text)
    assert in_other_words(text) == in_other_words(text)
