import pytest

from fathom.question.form import (
    asks_items,
    asks_steps,
    detect_form,
    parse_count,
)


@pytest.mark.parametrize(
    "question",
    [
        "Is the library open on Sundays?",
        "  do I need a permit",
        "In 2024, was the bridge closed?",
        "Isn't it closed?",
        "Is it allowed or not?",
        "Apakah perpustakaan buka pada hari Minggu?",
        "Bolehkah warga membawa hewan?",
        "Menurut aturan, apakah denda berlaku atau tidak?",
        "Apakah layanan itu memerlukan kunci?",
        "Apakah rumus ikut tersimpan di berkas?",
        "Apakah masa kerja diakui penuh?",
        "Apa saya boleh membawa anjing?",
        "Apa ada diskon untuk pelajar?",
        "Apa bisa bayar dengan kartu?",
        "Bisa bayar pakai kartu?",
        "Ada parkir di sana?",
        "Don\u2019t I need a permit?",
        "Can you tell me whether it is open?",
    ],
)
def test_yes_or_no_questions_are_recognised(question: str) -> None:
    assert detect_form(question) == "yes or no"


@pytest.mark.parametrize(
    "question",
    [
        "Could you tell me when the office opens?",
        "Do you know who can apply?",
        "Bisa bayar di mana?",
        "Perlu berapa hari?",
        "Ada berapa cabang di Jakarta?",
        "Ada Lovelace lahir di Oslo?",
        "Apa sayap pesawat?",
    ],
)
def test_other_questions_ask_for_one_thing(question: str) -> None:
    assert detect_form(question) == "one"


@pytest.mark.parametrize(
    "question",
    [
        "What are the opening hours of the depots?",
        "Which three rivers meet there?",
        "List the documents that are needed.",
        "Sebutkan syarat pendaftaran!",
        "Siapa saja anggota panitia?",
        "Apa saja syaratnya?",
        "Daftar anggota ASEAN",
        "Which countries are in ASEAN?",
        "Which countries border Laos?",
        "What languages are spoken there?",
        "Sebutkan 3 gunung tertinggi di dunia",
    ],
)
def test_questions_for_several_things_are_recognised(question: str) -> None:
    assert detect_form(question) == "several"


@pytest.mark.parametrize(
    "question",
    [
        "When is the library open?",
        "Is it red or blue?",
        "Who was the mayor?",
        "Apa ibu kota Prancis?",
        "Apakah nama kapal itu?",
        "Apakah hewan yang bisa terbang?",
        "Apakah nama kapal yang menabrak dermaga?",
        "Apakah jabatan terdakwa ketika memimpin rapat?",
        "Apakah menteri pertama?",
        "Berapa tarif sewa?",
        "What is the list price?",
        "Which business is open?",
        "Which series was it?",
        "What causes rust?",
        "Which of the three is open?",
        "Island where the ferry lands?",
        "",
        "🙂",
    ],
)
def test_questions_for_one_thing_are_recognised(question: str) -> None:
    assert detect_form(question) == "one"


def test_long_questions_take_linear_time() -> None:
    assert detect_form("a, " * 30_000 + "is it?") == "one"
    assert detect_form("why " * 10_000) == "one"


@pytest.mark.parametrize(
    "question",
    [
        "How do I end a session?",
        "how to fill a pothole",
        "And how can a user be locked?",
        "On Linux, how should it be installed?",
        "What are the steps of a repair?",
        "What must I do to apply?",
        "Bagaimana cara menambal lubang?",
        "Apa langkah pengajuan izin?",
    ],
)
def test_questions_for_steps_are_recognised(question: str) -> None:
    assert asks_steps(question)


@pytest.mark.parametrize(
    "question",
    [
        "Which documents do I need to apply for a permit?",
        "What papers must a visitor show?",
        "What do I need to apply?",
        "What is needed for a permit?",
        "Apa syarat izin tambat?",
        "Apa persyaratannya?",
        "Apa tugas dewan pelabuhan?",
        "Apa kewenangan syahbandar?",
        "Dokumen apa yang harus dibawa?",
    ],
)
def test_questions_that_a_list_may_answer_are_recognised(question: str) -> None:
    assert asks_items(question)
    assert detect_form(question) == "one"


@pytest.mark.parametrize(
    "question",
    ["Which document do I need?", "What does the permit cost?", "What is the fee?", "Apa itu?"],
)
def test_questions_that_no_list_answers_are_recognised(question: str) -> None:
    assert not asks_items(question)


@pytest.mark.parametrize(
    "question",
    ["How many passes does it need?", "How much is it?", "Who did it?", "What does it do, Ann?"],
)
def test_questions_for_something_else_are_recognised(question: str) -> None:
    assert not asks_steps(question)


@pytest.mark.parametrize(
    ("question", "count"),
    [
        ("Sebutkan 3 gunung tertinggi di dunia", 3),
        ("Sebutkan dua sungai di Jawa!", 2),
        ("Name three rivers in Java.", 3),
        ("Which two teams played?", 2),
        ("What are the five pillars?", 5),
        ("Sebutkan gunung tertinggi di dunia", None),
        ("Which countries are in ASEAN?", None),
        ("Name the 1995 winners.", None),
        ("Who was one of them?", None),
    ],
)
def test_the_number_of_things_asked_for_is_read(question: str, count: int | None) -> None:
    assert parse_count(question) == count
