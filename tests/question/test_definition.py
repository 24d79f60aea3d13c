"""The term whose meaning is asked for, and the texts that define it."""

import pytest

from fathom.question.definition import build_definition_check, extract_term


@pytest.mark.parametrize(
    ("question", "term"),
    [
        ("What is a quay?", "quay"),
        ("what's the harbour levy", "harbour levy"),
        ("What are standing orders?", "standing orders"),
        ("What is the definition of a small craft?", "small craft"),
        ("What is meant by “demurrage”?", "demurrage"),
        ("What does ETA stand for?", "ETA"),
        ("Define demurrage.", "demurrage"),
        ("Apa yang dimaksud dengan jaminan sosial?", "jaminan sosial"),
        ("Apa itu iuran?", "iuran"),
        ("Apa arti dari dana amanat?", "dana amanat"),
        ("Apa pengertian peserta?", "peserta"),
        ("Jelaskan pengertian peserta", "peserta"),
        ("Retribusi itu apa?", "Retribusi"),
        ("What is the fee of a permit?", "fee of a permit"),
        ("Who owns the quay?", ""),
        ("What time is it?", ""),
        ("What is the fee, and who pays it?", ""),
        ("Apa saja jenis jaminan?", ""),
        ("Apakah iuran wajib?", ""),
        ("", ""),
    ],
)
def test_the_asked_term_is_found(question: str, term: str) -> None:
    assert extract_term(question) == term


@pytest.mark.parametrize(
    "text",
    [
        "A quay is a wall where ships lie.",
        "See below. The quay (also: wharf) is where ships lie.",
        "Words\n\n3. Quay adalah tembok tempat kapal bersandar.",
        "a) **Quay**: a wall where ships lie",
        "“Quay” means a wall where ships lie.",
        "QUAY — a wall",
    ],
)
def test_a_sentence_that_begins_with_the_term_defines_it(text: str) -> None:
    assert build_definition_check("quay")(text)


@pytest.mark.parametrize(
    "text",
    [
        "Ships lie at the quay.",
        "The old quay is closed.",
        "At the quay are ten ships.",
        "Quays are walls.",
        "Quay and pier are walls.",
    ],
)
def test_other_sentences_do_not_define_it(text: str) -> None:
    assert not build_definition_check("quay")(text)


def test_a_term_of_several_words_may_run_over_a_line() -> None:
    assert build_definition_check("jaminan  sosial (JS)")(
        "1. Jaminan\nsosial (JS) adalah perlindungan."
    )
    assert build_definition_check("c++")("C++ is a language.")
