import pytest
from tests.factories import hit_of

from fathom.agents.reader.candidates import rank_options
from fathom.models.reading import Reading
from fathom.question.question import Question
from fathom.testing.doubles import ScriptedCrossReader, reading
from fathom.types import Chunk

TEXT = "The mill was built in 1835 by Ada Vale. It burnt in 1902."
CHUNK = hit_of(TEXT).chunk


def list_options(question: str, answer: str) -> list[tuple[str, float]]:
    def script(_: str, chunk: Chunk) -> Reading:
        return reading(chunk, answer, score=0.8)

    session = ScriptedCrossReader(script).open_session(question)
    return [
        (option.text, option.score) for option in rank_options(Question(question), CHUNK, session)
    ]


def test_only_options_of_the_asked_kind_are_listed() -> None:
    assert list_options("When was it built?", "1835") == [("1835", 0.8), ("1902", 0.0)]
    assert list_options("Who built it?", "Ada Vale") == [("Ada Vale", 0.8)]


def test_a_span_lends_its_score_to_a_shared_option() -> None:
    best, other = list_options("When was it built?", "in 1835")
    assert best == ("1835", round(0.8 * 4 / 7, 6))
    assert other == ("1902", 0.0)


def test_without_options_by_rule_the_spans_are_the_options() -> None:
    assert list_options("What happened to it?", "It burnt") == [("It burnt", 0.8)]
    assert list_options("What happened to it?", ".") == []


def test_the_fuller_of_two_options_takes_over_the_score() -> None:
    chunk = hit_of("The tract of 98 km: in all it is 98 long.").chunk
    session = ScriptedCrossReader(lambda _, c: reading(c, "98", score=0.6)).open_session("?")
    (option,) = rank_options(Question("What is the length of the tract?"), chunk, session)
    assert option.text == "98 km"
    assert option.score == pytest.approx(0.6 + 0.6 * 2 / 5)
