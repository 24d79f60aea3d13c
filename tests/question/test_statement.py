"""The statement that a yes/no question makes, if its form is known."""

import pytest

from fathom.question.statement import Statement, parse_statement


@pytest.mark.parametrize(
    ("question", "says", "denies"),
    [
        ("Does the museum open on Monday?", "The museum does open on Monday.",
         "The museum does not open on Monday."),
        ("Is the Isle of Man a member of the union?", "The Isle of Man is a member of the union.",
         "The Isle of Man is not a member of the union."),
        ("Can the fee for a permit be paid by card?", "The fee for a permit can be paid by card.",
         "The fee for a permit can not be paid by card."),
        ("are dogs allowed in the library", "Dogs are allowed in the library.",
         "Dogs are not allowed in the library."),
        ("Is there a deposit?", "There is a deposit.", "There is not a deposit."),
        ("In winter, is parking free on Sundays?", "In winter, parking is free on Sundays.",
         "In winter, parking is not free on Sundays."),
        ("Has the bridge been repaired?", "The bridge has been repaired.",
         "The bridge has not been repaired."),
        ("Were Ada Vale and Tom Reed both American?", "Ada Vale and Tom Reed were both American.",
         "Ada Vale and Tom Reed were not both American."),
        ("Apakah anjing boleh dibawa ke taman?", "Anjing boleh dibawa ke taman.",
         "Anjing tidak boleh dibawa ke taman."),
        ("Bolehkah membawa anjing?", "Boleh membawa anjing.", "Tidak boleh membawa anjing."),
        ("Apakah izin itu sudah berlaku?", "Izin itu sudah berlaku.", "Izin itu belum berlaku."),
        ("Benarkah kantor itu tutup?", "Kantor itu tutup.", "Tidak benar bahwa kantor itu tutup."),
    ],
)  # fmt: skip
def test_a_question_becomes_a_statement_and_its_negation(
    question: str, says: str, denies: str
) -> None:
    assert parse_statement(question) == Statement(says, denies)


@pytest.mark.parametrize(
    "question",
    [
        "What is a permit?",
        "Is it not allowed to park?",
        "Does the court review hear the arguments of whom",
        "Apakah itu?",
        "Is",
        "",
    ],
)
def test_an_unknown_form_gives_no_statement(question: str) -> None:
    assert parse_statement(question) is None


def test_a_bare_verb_asks_like_one_with_its_ending() -> None:
    statement = parse_statement("Bisa bayar pakai kartu?")
    assert statement is not None
    assert statement.says == "Bisa bayar pakai kartu."
    assert statement.denies == "Tidak bisa bayar pakai kartu."
    assert parse_statement("Ada berapa cabang di Jakarta?") is None
