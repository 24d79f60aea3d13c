"""Questions that look up an entry of a manual."""

import pytest

from fathom.question.lookup import is_default_itself, is_keywords, parse_lookup, states_default


@pytest.mark.parametrize(
    ("question", "want", "names"),
    [
        ("Which mow option lets two gardens share a gate?", "name", set()),
        ("What is the flag for quiet work?", "name", set()),
        ("mow option to spare the daisies", "name", set()),
        ("Opsi mow apa yang menghemat bensin?", "name", set()),
        ("Apa opsi untuk memotong tepi?", "name", set()),
        ("How do I keep the edges?", "way", set()),
        ("Bagaimana cara menyisakan tepi?", "way", set()),
        ("mow keep the edges", "way", set()),
        ("What does --edge do?", "meaning", {"--edge"}),
        ("What is max_height for?", "meaning", {"max_height"}),
        ("What does the speed option control?", "meaning", {"speed"}),
        ("Apa arti opsi -e pada mow?", "meaning", {"-e"}),
        ("Apa fungsi opsi speed?", "meaning", {"speed"}),
        ("mow --edge", "meaning", {"--edge"}),
        ("What is the default of max_height?", "default", {"max_height"}),
        ("Which blade does mow use unless told otherwise?", "default", set()),
        ("What is the speed if none is set?", "default", set()),
        ("mow blade default", "default", set()),
        ("Berapa tinggi bawaan mow?", "default", set()),
    ],
)
def test_the_entry_that_is_looked_up_is_recognised(
    question: str, want: str, names: set[str]
) -> None:
    lookup = parse_lookup(question)
    assert lookup is not None
    assert lookup.want == want
    assert lookup.names == names


@pytest.mark.parametrize(
    ("question", "dashed"),
    [
        ("Which flag keeps the edges?", True),
        ("How do I keep the edges?", True),
        ("Which directive keeps the edges?", False),
        ("Variabel apa yang menyisakan tepi?", False),
        ("Which option keeps the edges?", None),
        ("Which property option keeps the edges?", None),
        ("Opsi mow apa yang menyisakan tepi?", None),
    ],
)
def test_the_kind_of_the_name_that_is_asked_for_is_told(question: str, dashed: bool | None) -> None:
    lookup = parse_lookup(question)
    assert lookup is not None
    assert lookup.dashed is dashed


@pytest.mark.parametrize(
    "question",
    [
        "When was the mill built?",
        "Who owns the mill on the hill?",
        "How does mow --edge differ from mow --strip?",
        "Siapa pemilik kincir itu?",
        "Is the mill open?",
    ],
)
def test_other_questions_look_up_nothing(question: str) -> None:
    assert parse_lookup(question) is None


def test_bare_keywords_are_short_and_have_no_question_word() -> None:
    assert is_keywords("mow blade default")
    assert not is_keywords("which blade is the default")
    assert not is_keywords("mow blade default?")
    assert not is_keywords("mow the lawn with the blade that came with the box")


def test_a_sentence_may_tell_a_default_and_may_be_about_the_default_itself() -> None:
    assert states_default("The default is 16 rounds.")
    assert states_default("Nilai bawaannya 16.")
    assert not states_default("It takes 16 rounds.")
    assert is_default_itself("Works quietly. This is the default.")
    assert is_default_itself("kerja senyap (bawaan)")
    assert not is_default_itself("The default is 16 rounds.")
