"""A short answer is kept only where the quotes support it."""

import pytest

from fathom.agents.reader.derivations import (
    derive_short_answer,
    detect_derivation,
    find_misfit,
    list_key_parts,
    select_bearing,
)
from fathom.question.question import Question

OSLO, BERGEN = "Oslo asks 40 crowns.", "Bergen asks 55 crowns a year."
TURKU = "Turku asks 80 crowns."
BRANCHES = "The branches are in Oslo, Bergen, and Moss."
BUILT, OPENED = "It was built in 1890.", "The line opened on 3 May 1903."


@pytest.mark.parametrize(
    ("question", "short", "quotes", "expected"),
    [
        ("What does Oslo ask?", "40 CROWNS", [OSLO], "40 crowns"),
        ("What does Oslo ask?", "40", [OSLO], "40"),
        ("What does Oslo ask?", "41 crowns", [OSLO], ""),
        ("What does Oslo ask?", "40 crowns", [], ""),
        ("What does Oslo ask?", "", [OSLO], ""),
        ("Is it allowed?", "allowed", ["Dogs are not allowed."], ""),
        ("Which two ask?", "Oslo and Bergen", [OSLO, BERGEN], "Oslo, Bergen"),
        ("Which two ask?", "Oslo and Turku", [OSLO, BERGEN], ""),
        ("Does Oslo ask 40 crowns?", "Yes.", [OSLO], "yes"),
        ("Apakah anjing boleh masuk?", "Tidak", ["Anjing dilarang."], "tidak"),
        ("What does Oslo ask?", "yes", [OSLO], ""),
        ("How many towns are there?", "2", [OSLO, BERGEN], "2"),
        ("How many branches are there?", "three", [BRANCHES], "three"),
        ("How many branches are there?", "4", [BRANCHES], ""),
        ("Where are the branches?", "3", [BRANCHES], ""),
        ("How much more does Bergen ask than Oslo?", "15 crowns", [OSLO, BERGEN], "15 crowns"),
        ("How much more does Bergen ask than Oslo?", "16 crowns", [OSLO, BERGEN], ""),
        ("How much more does Bergen ask than Oslo?", "15 crowns", [BERGEN], ""),
        ("What does Bergen ask?", "15 crowns", [OSLO, BERGEN], ""),
        ("Berapa selisih antara Oslo dan Bergen?", "15", [OSLO, BERGEN], "15"),
        ("What do both ask in total?", "95 crowns", [OSLO, BERGEN], "95 crowns"),
        ("What do they ask on average?", "47.5", [OSLO, BERGEN], "47.5"),
        ("How many times the fee of Oslo is that of Turku?", "2", [OSLO, TURKU], "2"),
        ("How long after it was built did the line open?", "13 years", [BUILT, OPENED],
         "13 years"),
        ("How long after it was built did the line open?", "14 years", [BUILT, OPENED], ""),
        ("Which option keeps the file?", "--keep", ["-k, --keep: leave the file."], "--keep"),
        ("Which option keeps the file?", "-k", ["-k, --keep: leave the file."], "-k"),
        ("Which file is it?", ".netrc", ["The file .netrc holds the names."], ".netrc"),
        ("What share is it?", ".5", ["The share is .5 of all."], ".5"),
        ("What is it?", "The share.", ["...the share of all."], "the share"),
    ],
)  # fmt: skip
def test_a_short_answer_occurs_in_a_quote_or_follows_from_the_quotes(
    question: str, short: str, quotes: list[str], expected: str
) -> None:
    assert derive_short_answer(Question(question), short, quotes) == expected


@pytest.mark.parametrize(
    ("answer", "parts"),
    [
        ("The -k, --keep option keeps the file.", ["-k, --keep"]),
        ("Gunakan opsi `-r` atau `--recursive`.", ["-r", "--recursive"]),
        ("They must be at least 18 years old.", ["18"]),
        ('It is called "north pier" since 1,204 days.', ["north pier", "1,204"]),
        ("The well-known option of 2024 keeps it.", []),
        ("They keep it for long.", []),
        ("50 crowns", []),
    ],
)
def test_the_parts_of_a_sentence_that_may_answer_are_listed(answer: str, parts: list[str]) -> None:
    assert list_key_parts(Question("Which option of 2024 keeps the file?"), answer) == parts


def test_among_many_numbers_no_pair_counts() -> None:
    many = "It asks 1, 5, 12, 30, 71, 160 and 400 crowns."
    assert derive_short_answer(Question("How much more does it ask?"), "11", [many]) == ""


def test_the_question_tells_the_calculation() -> None:
    assert detect_derivation(Question("How much older is Oslo?")) == "difference"
    assert detect_derivation(Question("What is the total fee?")) == "sum"
    assert detect_derivation(Question("Who is the mayor?")) is None


@pytest.mark.parametrize(
    ("short", "places"),
    [
        ("40 crowns", (1,)),
        ("the mill, the pier", (0, 2)),
        ("yes", (0, 1, 2)),
        ("15 crowns", (0, 1, 2)),
    ],
)
def test_the_quotes_that_hold_the_short_answer_are_kept(
    short: str, places: tuple[int, ...]
) -> None:
    quotes = ["The mill is open.", "A permit costs 40 crowns.", "So is the pier."]
    assert select_bearing(short, quotes) == places


@pytest.mark.parametrize(
    ("question", "short", "misfit"),
    [
        ("Which mail client did Ada Vale use?", "Ada Vale", "repeats the question"),
        ("Which mail client did Ada Vale use?", "Pine", ""),
        ("When was the mill built?", "Ada Vale", "asks for a date"),
        ("When was the mill built?", "in 1890", ""),
        ("Which is older, the mill or the pier?", "the mill", ""),
        ("Is the mill open?", "yes", ""),
        ("What is the mill?", "", ""),
    ],
)
def test_an_answer_that_cannot_answer_the_question_is_a_fault(
    question: str, short: str, misfit: str
) -> None:
    reason = find_misfit(Question(question), short)
    assert misfit in reason
    assert bool(reason) == bool(misfit)
