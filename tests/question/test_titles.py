"""Titles of documents that a question names."""

import pytest

from fathom.question.question import Question
from fathom.question.titles import quote_titles

BIRTHDAY = "What is the birthday of the man who played Luthor in Superman IV: The Quest for Peace?"


@pytest.mark.parametrize(
    ("question", "title", "quoted"),
    [
        (
            BIRTHDAY,
            "Superman IV: The Quest for Peace",
            BIRTHDAY.replace("Superman", '"Superman').replace("Peace", 'Peace"'),
        ),
        (
            "Who played Marty in back to the future?",
            "Back to the Future (film)",
            'Who played Marty in "back to the future"?',
        ),
        (
            "Is Baiyin or Xinghua, Jiangsu a city?",
            "Xinghua, Jiangsu",
            'Is Baiyin or "Xinghua, Jiangsu" a city?',
        ),
    ],
)
def test_a_title_that_a_question_names_is_quoted(question: str, title: str, quoted: str) -> None:
    assert quote_titles(question, ["Other", title]) == quoted


@pytest.mark.parametrize(
    ("question", "title"),
    [
        # Its capitals show that it is one name.
        ("Who wrote The Canon of Medicine?", "Canon of Medicine"),
        ('Who recorded "Live at Shelly\'s Manne-Hole"?', "Live at Shelly's Manne-Hole"),
        # Words like any others.
        ("Who was the prime minister in 1950?", "Prime minister"),
        ("Where does the river end?", "River"),
        ("Who wrote Dune?", "Dune Messiah"),
    ],
)
def test_other_titles_change_nothing(question: str, title: str) -> None:
    assert quote_titles(question, [title]) == question


def test_the_longest_title_comes_first() -> None:
    question = "Who directed Back to the Future Part II and Back to the Future?"
    titles = ["Back to the Future", "Back to the Future Part II"]
    assert '"Back to the Future Part II"' in quote_titles(question, titles)


def test_a_quoted_title_is_one_name_of_a_chain() -> None:
    first, second = Question(
        quote_titles(BIRTHDAY, ["Superman IV: The Quest for Peace"])
    ).split_chain(4)
    assert first.text == 'Who is the man who played Luthor in "Superman IV: The Quest for Peace"?'
    assert second.text == "What is the birthday of #1?"
