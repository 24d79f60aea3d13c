import pytest

from fathom.question.answer_kind import (
    ExpectedValue,
    contradicts_in_sentence,
    contradicts_kind,
    detect_answer_type,
    detect_expected_value,
    gives_value,
    is_plausible,
)
from fathom.text.answer_type import AnswerType
from fathom.types import Span


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When was it built?", "date"),
        ("Since when has it been open?", "date"),
        ("When the mill closed, who bought it?", None),
        ("Does it open when I knock?", None),
        ("Kapankah itu dibangun?", "date"),
        ("Tahun berapakah itu dibangun?", "date"),
        ("Di kota manakah ia lahir?", "place"),
        ("Berapa lama jarak tempuhnya?", "measure"),
        ("Kapan itu dibangun?", "date"),
        ("What kind of contract is given when a project ends?", None),
        ("How much does a permit cost?", "money"),
        ("Berapa pendapatan Apple Q1 2024?", "money"),
        ("What does each arch cost?", "money"),
        ("What is the late fee per day?", "money"),
        ("What is the fee schedule called?", None),
        ("Berapa denda keterlambatan?", "money"),
        ("What percentage of them came?", "percentage"),
        ("What was the gross margin percentage of services?", "percentage"),
        ("Berapa persen yang datang?", "percentage"),
        ("How many people came?", "count"),
        ("Berapa orang yang datang?", "count"),
        ("How many kilometres is it?", "measure"),
        ("How tall is it?", "measure"),
        ("Berapa luas danau itu?", "measure"),
        ("Berapa hari kerja batas waktunya?", "measure"),
        ("Where is it?", "place"),
        ("Di mana itu?", "place"),
        ("Who built it?", "person"),
        ("Siapa yang membangunnya?", "person"),
        ("What is it?", None),
        ("How much time was spent?", None),
        ("How long was the money spent?", "measure"),
        ("How many paid holidays are there?", "count"),
        ("How many paid holiday days are there?", "measure"),
        ("How many square miles is it?", "measure"),
        ("What players ranked at 5 percent?", None),
        ("Apa nama latin dari monyet ekor panjang?", None),
        ("Pasal berapa yang mengatur pajak?", None),
        ("Berapa kecepatannya?", None),
    ],
)
def test_kinds_of_questions_are_recognised(question: str, kind: str | None) -> None:
    expected = detect_expected_value(question)
    assert (expected and expected.kind) == kind


@pytest.mark.parametrize(
    ("question", "text", "is_given"),
    [
        ("How much does it cost?", "It costs 40 crowns.", True),
        ("How much does it cost?", "It costs 40.", False),
        ("Berapa harganya?", "Harganya Rp1.000.", True),
        ("Berapa harganya?", "Harganya 5 juta USD.", True),
        ("Berapa harganya?", "Beratnya 40 kg.", False),
        ("Berapa persen?", "56 persen", True),
        ("What percentage?", "a third of them", True),
        ("What percentage?", "56 people", False),
        ("How many came?", "Twelve came.", True),
        ("How many came?", "Several came.", True),
        ("How old is she?", "Ada (47)", True),
        ("When?", "during the war", True),
        ("Who?", "1990", False),
        ("Where?", "under the bridge", True),
    ],
)
def test_a_text_gives_an_answer_of_the_kind_or_not(
    question: str, text: str, *, is_given: bool
) -> None:
    expected = detect_expected_value(question)
    assert expected is not None
    assert gives_value(expected, text) is is_given


@pytest.mark.parametrize(
    ("question", "value", "other"),
    [
        ("How many people came?", "23.9 tonnes", True),
        ("How many people came?", "$40", True),
        ("How many people came?", "23", False),
        ("How many people came?", "23 %", False),
        ("How much does it cost?", "40 kg", True),
        ("How much does it cost?", "40", False),
        ("Berapa hari?", "3 hari", False),
        ("Berapa hari?", "3 km", True),
        ("Berapa hari?", "3 km, 4 km", True),
        ("Berapa hari?", "3 hari, 4 km", False),
        ("How tall is it?", "30 years", True),
        ("How tall is it?", "30 feet", False),
        ("Berapa luas danau itu?", "218 kilometer persegi", False),
        ("Berapa luas danau itu?", "218 liter", True),
        ("Berapa lama jarak tempuhnya?", "6 jam", False),
        ("When?", "3 km", True),
        ("When was it built?", "Ada Vale", True),
        ("When was it built?", "", False),
        ("When was it built?", "during the war", False),
        ("When was it built?", "Super Bowl XLVIII", False),
        ("Kapan itu dibangun?", "72 M", False),
        ("Kapan itu dibangun?", "masa Dinasti Tang", False),
        ("Kapan itu dibangun?", "Kota Elm", True),
        ("How many came?", "several", False),
        ("How many came?", "Four schools of the Yuan", False),
        ("How many came?", "forty dollars", True),
        ("How many came?", "Rp 40", True),
        ("How many came?", "nobody of Elm", True),
        ("Berapa orang yang datang?", "seorang", False),
        ("Berapa orang yang datang?", "warga Elm", True),
        ("When?", "3 years ago", False),
        ("Who?", "3 km", False),
    ],
)
def test_a_value_with_another_unit_contradicts(question: str, value: str, *, other: bool) -> None:
    expected = detect_expected_value(question)
    assert expected is not None
    assert contradicts_kind(expected, value) is other


def test_a_measure_names_the_measured_thing() -> None:
    mass = ExpectedValue("measure", frozenset({"mass"}), exact=True)
    assert detect_expected_value("Berapa berat kantongnya?") == mass
    assert detect_expected_value("How many hours?") == ExpectedValue(
        "measure", frozenset({"time"}), exact=True
    )
    assert detect_expected_value("How long did it last?") == ExpectedValue(
        "measure", frozenset({"length", "time"})
    )


def test_a_bare_number_above_a_hundred_is_no_percentage() -> None:
    expected = detect_expected_value("What was the gross margin percentage of services?")
    assert expected is not None
    assert [is_plausible(expected, value) for value in ("14,015", "71.5", "120 %", "a third")] == [
        False, True, True, True,
    ]  # fmt: skip


def test_a_question_for_a_number_is_answered_by_a_number_only() -> None:
    high, far = detect_expected_value("How high is it?"), detect_expected_value("How far is it?")
    assert high
    assert far
    assert is_plausible(high, "7,546 m")
    assert not is_plausible(high, "the twin peak")
    assert is_plausible(far, "as the crow flies")


@pytest.mark.parametrize(
    ("question", "value", "hour"),
    [
        ("What time does the ferry leave?", "6:40", True),
        ("What time does the ferry leave?", "at 7 pm", True),
        ("What time does the ferry leave?", "12/31/24", False),
        ("At what time must ships leave?", "before sunset", True),
        ("Pukul berapa kantor buka?", "08.00", True),
        ("Jam berapa kantor buka?", "1 Januari 2025", False),
        ("What time did the forest spread?", "the Miocene", False),
        ("What time did the forest spread?", "1540", True),
    ],
)
def test_an_hour_of_the_day_is_no_date(question: str, value: str, hour: bool) -> None:
    expected = detect_expected_value(question)
    assert expected is not None
    assert contradicts_kind(expected, value) is not hour


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
    ("question", "sentence", "number", "other"),
    [
        ("How much is the fee?", "The town looks after 6,840 street trees.", "6,840", True),
        ("Berapa biaya izin?", "Kota merawat 6.840 pohon.", "6.840", True),
        ("How much is the fee?", "The fee is 40 thalers.", "40", False),
        ("How much is the fee?", "It was 40 crowns.", "40", False),
        ("How much is the fee?", "It was Rp 40 thousand.", "40", False),
        ("How much is the fee?", "A dog: 40.", "40", False),
        ("How much is the fee?", "It is 38 percent of the whole.", "38", True),
        ("How many trees fell?", "The storm brought down 73 trees.", "73", False),
        ("How many trees fell?", "The repair cost 73 crowns.", "73", True),
        ("How many trees fell?", "The repair cost $73 in all.", "73", True),
        ("How tall is it?", "It is 52 metres tall.", "52", False),
        ("How tall is it?", "It weighs 52 tonnes.", "52", True),
        ("What percentage came?", "It was 38 % of them.", "38", False),
        ("When was it built?", "It cost 1891 crowns.", "1891", False),
    ],
)
def test_the_words_beside_a_number_tell_its_kind(
    question: str, sentence: str, number: str, *, other: bool
) -> None:
    expected = detect_expected_value(question)
    assert expected is not None
    start = sentence.index(number)
    place = Span(start, start + len(number))
    assert contradicts_in_sentence(expected, sentence, place) is other
