from collections.abc import Sequence

import pytest

from fathom.question.spelling import Speller, apply_corrections

COUNTS = {
    "ferry": 9,
    "harbour": 7,
    "office": 5,
    "orifice": 1,
    "government": 3,
    "mooring": 4,
    "permit": 6,
    "permits": 6,
    "receive": 2,
    "pendaftaran": 3,
    "smithton": 2,
    "definitely": 1,
}


def count_documents(words: Sequence[str]) -> list[int]:
    return [COUNTS.get(word.lower(), 0) for word in words]


def split_into_pieces(word: str) -> int:
    """Split a word as a model that knows exactly these words whole."""
    return 1 if word.lower() in COUNTS or word.lower() in {"cost", "museum"} else 3


SPELLER = Speller(count_documents, split_into_pieces, lambda word: word.lower() in COUNTS)


def correct(question: str) -> str:
    return apply_corrections(question, SPELLER.find_corrections(question))


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("Where is the harbuor office?", "Where is the harbour office?"),
        ("Where is the harboour offfice?", "Where is the harbour office?"),
        ("Who pays the goverment?", "Who pays the government?"),
        ("Who pays the Goverment?", "Who pays the Government?"),
        ("When do I recieve a permit's copy?", "When do I receive a permit's copy?"),
        ("Kapan pendafatran dibuka?", "Kapan pendaftaran dibuka?"),
        ("Is it definately open?", "Is it definitely open?"),
        ("HARBUOR OFFICE", "Harbour OFFICE"),
    ],
)
def test_one_typing_error_is_corrected(typed: str, meant: str) -> None:
    assert correct(typed) == meant


@pytest.mark.parametrize(
    "question",
    [
        "Where is the harbour office?",
        "What does the museum cost?",  # no document has it, but it is a word
        "Who is Smithson?",  # another letter would be another name
        'Who said "goverment"?',
        "Open goverment.txt",
        "Who is at hello@goverment?",
        "What is HARBUOR?",
        "The fery?",  # four letters: too many words are near
        "Is it undecidable?",
        "",
    ],
)
def test_correct_and_unknown_words_are_left_alone(question: str) -> None:
    assert correct(question) == question


def test_among_several_corrections_the_most_frequent_word_wins() -> None:
    """`ofice` lacks a letter of `office`; one more change would be `orifice`."""
    assert SPELLER.find_corrections("the ofice") == {"ofice": "office"}


def test_the_index_is_not_asked_for_words_that_a_model_knows() -> None:
    looked_up: list[str] = []

    def record_count(words: Sequence[str]) -> list[int]:
        looked_up.extend(words)
        return [1] * len(words)

    assert (
        Speller(record_count, split_into_pieces, bool).find_corrections("harbour museum blorptic")
        == {}
    )
    assert looked_up == ["blorptic"]


def test_a_word_known_only_by_its_stem_is_no_word() -> None:
    """ "moring" has the stem of "more", which every document has."""
    stems = {"moring": 40, "boring": 30}
    speller = Speller(
        lambda words: [stems.get(word, 0) for word in words],
        lambda _: 2,
        lambda word: word == "boring",
    )
    assert speller.find_corrections("a mooring, the borring") == {"borring": "boring"}


@pytest.mark.parametrize("unit", ["é", "a", "ab", "é ", "abcde ", "abcdef-"])
def test_a_question_of_repeated_letters_asks_for_few_words(unit: str) -> None:
    asked: list[str] = []

    def count(words: Sequence[str]) -> list[int]:
        asked.extend(words)
        return count_documents(words)

    text = (unit * 1_000)[:1_000]
    Speller(count, split_into_pieces, lambda _: False).find_corrections(f"What is {text}?")
    assert len(asked) < 20_000
