"""Natural questions posed from sentences, with the words that answer them.

Covers fathom.question_maker.asking.base, fathom.question_maker.asking.clause,
fathom.question_maker.asking.english, fathom.question_maker.asking.indonesian and
fathom.question_maker.asking.verbs.
"""

import pytest

from fathom.question_maker.asking import pose_questions
from fathom.text.language import Language


def pose(sentence: str, language: Language = "en", common: str = "") -> list[tuple[str, str]]:
    posed = pose_questions(sentence, language, frozenset(common.split()))
    return [(posed_question.text, posed_question.answer.cut(sentence)) for posed_question in posed]


@pytest.mark.parametrize(
    ("sentence", "question", "answer"),
    [
        (
            "The Mill Bridge was opened on 8 September 1891.",
            "When was the Mill Bridge opened?",
            "8 September 1891",
        ),
        (
            "In 1891, the town of Merrow opened the Mill Bridge.",
            "When did the town of Merrow open the Mill Bridge?",
            "1891",
        ),
        (
            "The counter opens at 8:30 and closes in the evening.",
            "At what time does the counter open?",
            "8:30",
        ),
        (
            "The archive is stored in Depot North until it is moved.",
            "Where is the archive stored?",
            "Depot North",
        ),
        (
            "The Mill Bridge was designed by Clara Benning in 1889.",
            "Who designed the Mill Bridge in 1889?",
            "Clara Benning",
        ),
        (
            "Clara Benning designed the Mill Bridge and two schools.",
            "Who designed the Mill Bridge and two schools?",
            "Clara Benning",
        ),
        (
            "A skip on a public street costs 35 crowns per week.",
            "How much does a skip on a public street cost per week?",
            "35 crowns",
        ),
        ("The town has 6,840 street trees.", "How many street trees does the town have?", "6,840"),
        (
            "Applications must be decided within 15 working days.",
            "Within how many working days must applications be decided?",
            "15 working days",
        ),
        ("The tunnel is 640 metres long.", "How long is the tunnel?", "640 metres"),
        (
            "About 40 % of the street trees are limes.",
            "What percentage of the street trees are limes?",
            "40 %",
        ),
        (
            "A retention basin is a pond that holds back storm water.",
            "What is a retention basin?",
            "a pond that holds back storm water",
        ),
        (
            "Hallet is the capital of the Veldt district.",
            "What is the capital of the Veldt district?",
            "Hallet",
        ),
        (
            "The survey kit contains a level, two staffs and a tape.",
            "What does the survey kit contain?",
            "a level, two staffs and a tape",
        ),
        (
            "Kiln Road was closed because a retaining wall is leaning.",
            "Why was Kiln Road closed?",
            "a retaining wall is leaning",
        ),
        (
            "If the token has expired, the server closes the session.",
            "What happens if the token has expired?",
            "the server closes the session",
        ),
        (
            "To restart the scheduler, run the restart command as root.",
            "How do I restart the scheduler?",
            "run the restart command as root",
        ),
    ],
)  # fmt: skip
def test_english_sentences_become_questions(sentence: str, question: str, answer: str) -> None:
    posed = pose(sentence, common="applications")
    assert (question, answer) in posed


@pytest.mark.parametrize(
    ("sentence", "question", "answer"),
    [
        (
            "Balai kota Tirtasari dibangun pada tahun 1931.",
            "Kapan Balai kota Tirtasari dibangun?",
            "1931",
        ),
        (
            "Sutan Sjahrir lahir di Padang Panjang pada 5 Maret 1909.",
            "Di mana Sutan Sjahrir lahir pada 5 Maret 1909?",
            "Padang Panjang",
        ),
        (
            "Kabupaten Ciamis memiliki 27 kecamatan.",
            "Kabupaten Ciamis memiliki berapa kecamatan?",
            "27",
        ),
        (
            "Permohonan wajib diputuskan paling lama 14 hari kerja.",
            "Permohonan wajib diputuskan paling lama berapa hari kerja?",
            "14",
        ),
        ("Denda keterlambatan adalah Rp1.000.", "Berapa Denda keterlambatan?", "Rp1.000"),
        ("Kota itu memiliki luas 20 hektar.", "", ""),
        (
            "Bendera India diadopsi oleh Majelis Konstitusi India pada 1947.",
            "Oleh siapa Bendera India diadopsi pada 1947?",
            "Majelis Konstitusi India",
        ),
        (
            "Surabaya adalah ibu kota Provinsi Jawa Timur.",
            "Apa ibu kota Provinsi Jawa Timur?",
            "Surabaya",
        ),
        (
            "Panitia terdiri atas ketua, sekretaris, dan bendahara.",
            "Panitia terdiri atas apa saja?",
            "ketua, sekretaris, dan bendahara",
        ),
    ],
)
def test_indonesian_sentences_become_questions(sentence: str, question: str, answer: str) -> None:
    posed = pose(sentence, "id")
    assert (question, answer) in posed if question else not posed


@pytest.mark.parametrize(
    "sentence",
    [
        "It was opened on 8 September 1891.",
        "This bridge was opened on 8 September 1891.",
        "The bridge was not opened on 8 September 1891.",
        "He said: \"The bridge was opened on 8 September 1891.\"",
        "The other bridge was opened on 8 September 1891.",
        "Opened on 8 September 1891",
        "| Bridge | opened on 8 September 1891 |.",
    ],
)  # fmt: skip
def test_a_sentence_that_depends_on_its_context_is_skipped(sentence: str) -> None:
    assert pose(sentence) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Merupakan pemekaran dari Kabupaten Sangihe pada tahun 2002.",
        "Bendera itu terdiri dari 5 warna (hijau, merah, kuning, putih, dan hitam).",
        "Gedung tersebut dibangun pada tahun 1931.",
        "Balai kota tidak dibangun pada tahun 1931.",
    ],
)
def test_an_indonesian_sentence_that_refers_elsewhere_is_skipped(sentence: str) -> None:
    assert pose(sentence, "id") == []


def test_a_list_is_asked_for_its_members() -> None:
    (posed,) = pose_questions("The survey kit contains a level, two staffs and a tape.", "en")
    assert posed.several
    assert posed.items == ("a level", "two staffs", "a tape")


def test_an_amount_is_a_number_and_a_date_is_not() -> None:
    (amount,) = pose_questions("A skip on a public street costs 35 crowns per week.", "en")
    (date,) = pose_questions("The Mill Bridge was opened on 8 September 1891.", "en")
    assert amount.numeric
    assert not date.numeric
