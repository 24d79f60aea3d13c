"""Comparison of answers as in the SQuAD script, checked against a second copy of its rules."""

import re
import string
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.text.answer_scores import (
    ARTICLES,
    holds_answer,
    is_right,
    score_all_and_only,
    score_exact_match,
    score_f1,
    strip_markers,
)

WORDS = st.sampled_from(
    ["The", "a", "an", "cat", "Cat's", "dog,", "1,990", "U.S.", "theme", "-", "é", "well-known"]
)
TEXTS = st.lists(WORDS, max_size=6).map(" ".join)
ANY_TEXT = st.text(max_size=40).filter(lambda text: not split_like_squad(text) & {*ARTICLES[3:]})
"""Without the Indonesian articles, which are no part of the script's rules."""


def normalize_like_squad(text: str) -> str:
    """Normalize as `normalize_answer` of the official evaluation script."""
    text = "".join(char for char in text.lower() if char not in set(string.punctuation))
    return " ".join(re.sub(re.compile(r"\b(a|an|the)\b", re.UNICODE), " ", text).split())


def split_like_squad(text: str) -> set[str]:
    return set(re.findall(r"\w+", normalize_like_squad(text)))


def compute_squad_f1(gold: str, given_answer: str) -> float:
    """Compute F1 as `compute_f1` of the official evaluation script."""
    gold_words, said_words = (
        normalize_like_squad(gold).split(),
        normalize_like_squad(given_answer).split(),
    )
    same = sum((Counter(gold_words) & Counter(said_words)).values())
    if not gold_words or not said_words:
        return float(gold_words == said_words)
    if same == 0:
        return 0.0
    precision, recall = same / len(said_words), same / len(gold_words)
    return 2 * precision * recall / (precision + recall)


@given(TEXTS | ANY_TEXT, st.lists(TEXTS | ANY_TEXT, min_size=1, max_size=3))
def test_exact_match_and_f1_are_those_of_the_squad_script(
    given_answer: str, gold: list[str]
) -> None:
    expected = float(
        any(
            normalize_like_squad(given_answer) == normalize_like_squad(gold_answer)
            for gold_answer in gold
        )
    )
    assert score_exact_match(given_answer, gold) == expected
    assert score_f1(given_answer, gold) == pytest.approx(
        max(compute_squad_f1(gold_answer, given_answer) for gold_answer in gold), abs=1e-6
    )


@given(TEXTS, TEXTS)
def test_f1_is_symmetric_and_bounded_and_an_exact_match_is_1(first: str, other: str) -> None:
    assert score_f1(first, [other]) == score_f1(other, [first])
    assert 0 <= score_f1(first, [other]) <= 1
    assert score_f1(first, [first]) == score_exact_match(first, [first]) == 1


@given(TEXTS, TEXTS, TEXTS)
def test_an_answer_is_found_between_other_words(before: str, answer: str, after: str) -> None:
    if normalize_like_squad(answer):
        assert holds_answer(f"{before} {answer} {after}", answer)


def test_indonesian_articles_do_not_count() -> None:
    assert score_exact_match("Sebuah perahu", ["perahu"])
    assert score_exact_match("sang raja", ["Raja"])


def test_nothing_matches_where_there_is_no_gold_answer() -> None:
    assert (score_exact_match("x", []), score_f1("x", []), is_right("x", [])) == (0, 0, False)
    assert not holds_answer("x", "the")


def test_markers_are_no_words() -> None:
    assert strip_markers("It costs 40 [1][2]. Twice [3]") == "It costs 40. Twice"


@pytest.mark.parametrize(
    ("given_answer", "gold", "right"),
    [
        ("in the year 1990", "1990", True),
        ("3,559", "3,559 people", True),
        ("10 May 1990", "12 May 1990", False),
        ("12 May 1990, a Monday", "12 May 1990", True),
        ("Barack Obama", "Obama", True),
        ("Obama", "Barack Obama", True),
        ("Michelle Obama", "Barack Hussein Obama", False),
        ("no one knows, yes", "yes", False),
        ("Yes, it does", "yes", True),
        ("", "yes", False),
        ("theme", "the", False),
    ],
)
def test_an_answer_is_right_when_people_would_accept_it(
    given_answer: str, gold: str, right: bool
) -> None:
    assert is_right(given_answer, [gold]) is right


def test_an_answer_nearer_to_a_wrong_one_is_wrong() -> None:
    assert is_right("Paris or Rome", ["Paris"], ["Berlin"])
    assert not is_right("the city of Rome, not Paris", ["Paris"], ["city of Rome"])


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        (("3,559 people", "AFL"), 1.0),
        (("about 3,559 people lived there", "the AFL"), 1.0),
        (("3,559 people",), 0.0),
        (("3,559 people", "AFL", "NBA"), 0.0),
        ((), 0.0),
    ],
)
def test_ramdocs_requires_all_gold_answers_and_no_wrong_one(
    readings: tuple[str, ...], expected: float
) -> None:
    assert (
        score_all_and_only(readings, ["3,559 people", "AFL"], ["NBA", "10,000 people"]) == expected
    )


def test_a_wrong_answer_inside_a_gold_one_does_not_count() -> None:
    assert score_all_and_only(["New York City"], ["New York City"], ["York"]) == 1.0
    assert score_all_and_only(["New York City", "York"], ["New York City"], ["York"]) == 0.0
