from dataclasses import replace

import pytest
from tests.factories import hit_of

from fathom.agents.reader.rivals import RivalFinder, values_disagree
from fathom.models.reading import Reading, ReadSpan
from fathom.question.question import Question
from fathom.testing.doubles import ScriptedCrossReader, reading
from fathom.types import Chunk, Hit, Span

FEE = "How much does a mooring permit cost in Merrow?"
NEW = "In Merrow a mooring permit costs 40 crowns a year."
OLD = "In Merrow a mooring permit costs 35 crowns, payable at once."
ELSEWHERE = "In Tirtasari a mooring permit costs 90 crowns."


@pytest.mark.parametrize(
    ("question", "one", "other"),
    [
        (FEE, "35 crowns", "Fee in crowns: 48"),
        ("What is the fee for digging?", "280 crowns per permit", "310"),
        ("When was the bridge opened?", "8 September 1891", "March 1937"),
        ("When do you close?", "16:00", "18:30"),
        ("How many may be borrowed?", "twelve", "6 items"),
        ("Berapa denda per hari?", "Rp1.000", "Rp2.500"),
        ("Who designed the bridge?", "Clara Benning", "Tomas Rell"),
    ],
)
def test_two_different_values_disagree(question: str, one: str, other: str) -> None:
    assert values_disagree(Question(question), one, other)
    assert values_disagree(Question(question), other, one)


@pytest.mark.parametrize(
    ("question", "one", "other"),
    [
        (FEE, "35 crowns", "for 35 crowns a week"),
        (FEE, "35 crowns", "a small fee"),
        ("What is the fee for digging?", "Days: 10, Fee: 310", "310 crowns"),
        ("When was the bridge opened?", "8 September 1891", "in 1891"),
        ("When was the bridge opened?", "8 September 1891", "at a cost of 64,300 crowns"),
        ("How many people live here?", "1.4 million", "1,403,122"),
        ("How many may be borrowed?", "twelve", "12"),
        ("Who designed the bridge?", "Clara Benning", "Benning"),
        ("Who designed the bridge?", "Clara Benning", "the council"),
        ("Why is no salt used?", "it attacks the iron", "because of 2 trees"),
    ],
)
def test_possibly_equal_values_do_not_disagree(question: str, one: str, other: str) -> None:
    assert not values_disagree(Question(question), one, other)
    assert not values_disagree(Question(question), other, one)


def list_rivals(
    *answers: tuple[str, str, float], own_index: int = 0, question: str = FEE
) -> list[str]:
    """Return the texts of the rivals where documents hold these answers with these scores."""
    hits = [
        hit_of(text, document=f"d{rank}", rank=rank) for rank, (text, *_) in enumerate(answers, 1)
    ]

    def script(_: str, chunk: Chunk) -> Reading:
        answer, score = next((a, s) for text, a, s in answers if text == chunk.text)
        return reading(chunk, answer, score)

    session = ScriptedCrossReader(script).open_session(question)
    return [
        rival.text
        for rival in RivalFinder().find_rivals(
            Question(question), answers[own_index][1], hits[own_index], hits, session
        )
    ]


def test_another_document_with_another_value_is_a_rival() -> None:
    assert list_rivals((NEW, "40 crowns", 0.9), (OLD, "35 crowns", 0.8)) == ["35 crowns"]
    assert list_rivals((OLD, "35 crowns", 0.8), (NEW, "40 crowns", 0.9), own_index=1) == [
        "35 crowns"
    ]


def test_an_unlikely_answer_is_no_rival() -> None:
    assert list_rivals((NEW, "40 crowns", 0.9), (OLD, "35 crowns", 0.4)) == []


def test_an_answer_as_sure_as_the_given_one_is_a_rival_however_sure_that_is() -> None:
    assert list_rivals((NEW, "40 crowns", 0.7), (OLD, "35 crowns", 0.6)) == ["35 crowns"]
    assert list_rivals((NEW, "40 crowns", 0.95), (OLD, "35 crowns", 0.5)) == []


def test_names_disagree_also_where_the_question_tells_no_kind() -> None:
    question = "Which brewery supplies the inn of Merrow?"
    first = ("The inn of Merrow is supplied by Halden Brothers.", "Halden Brothers", 0.9)
    other = ("Brightwater supplies the inn of Merrow.", "Brightwater", 0.9)
    longer = ("Halden Brothers of Osby supply the inn of Merrow.", "Halden Brothers of Osby", 0.9)
    words = ("The inn of Merrow is supplied by nobody now.", "nobody now", 0.9)
    assert Question(question).answer_type == "any"
    assert list_rivals(first, other, question=question) == ["Brightwater"]
    assert list_rivals(first, longer, words, question=question) == []


def test_the_sides_of_a_choice_are_no_rivals() -> None:
    question = "Which is older, Halden Lines or Brightwater?"
    first = ("Halden Lines is older, of 1901.", "Halden Lines", 0.9)
    other = ("Brightwater, of 1870, is older.", "Brightwater", 0.9)
    assert list_rivals(first, other, question=question) == []


def test_text_that_repeats_the_question_is_no_rival() -> None:
    stuffed = " ".join([f"{FEE} 35 crowns."] * 3)
    assert list_rivals((NEW, "40 crowns", 0.9), (stuffed, "35 crowns", 0.9)) == []


def test_a_rival_behind_copies_of_the_answer_is_seen() -> None:
    copies = [(f"{NEW} {place}", "40 crowns", 0.9) for place in range(5)]
    assert list_rivals(*copies, (OLD, "35 crowns", 0.9)) == ["35 crowns"]


def test_an_answer_about_something_else_is_no_rival() -> None:
    assert list_rivals((NEW, "40 crowns", 0.9), (ELSEWHERE, "90 crowns", 0.9)) == []


def test_an_answer_about_another_time_is_no_rival() -> None:
    question = "How many shares were outstanding as of July 15, 2022?"
    claim = ("16,070,752 shares were outstanding as of July 15, 2022.", "16,070,752", 0.9)
    same = ("As of July 15, 2022, there were 12,000,000 shares outstanding.", "12,000,000", 0.9)
    later = ("Shares outstanding as of July 15, 2023, were 2,470.", "2,470", 0.9)
    both = ("On July 15, 2022, there was a meeting. " + later[0], *later[1:])
    assert list_rivals(claim, same, question=question) == ["12,000,000"]
    assert list_rivals(claim, later, question=question) == []
    assert list_rivals(claim, both, question=question) == []


def test_the_same_value_is_reported_once() -> None:
    again = OLD.replace("payable", "due")
    texts = list_rivals((NEW, "40 crowns", 0.9), (OLD, "35 crowns", 0.8), (again, "35 crowns", 0.8))
    assert texts == ["35 crowns"]


def test_one_document_does_not_disagree_with_itself() -> None:
    hits = [hit_of(NEW, document="d"), hit_of(OLD, document="d", rank=2)]
    pairs = ScriptedCrossReader(
        lambda _, chunk: reading(chunk, "40 crowns" if chunk.text == NEW else "35 crowns", 0.9)
    )
    assert (
        RivalFinder().find_rivals(
            Question(FEE), "40 crowns", hits[0], hits, pairs.open_session(FEE)
        )
        == []
    )


def test_a_limited_number_of_other_documents_is_read() -> None:
    looked: list[str] = []

    def script(_: str, chunk: Chunk) -> Reading:
        looked.append(chunk.document_id)
        return reading(chunk)

    hits: list[Hit] = [hit_of(NEW, document=f"d{rank}", rank=rank) for rank in range(1, 9)]
    RivalFinder(most=3).find_rivals(
        Question(FEE), "40 crowns", hits[0], hits, ScriptedCrossReader(script).open_session(FEE)
    )
    assert looked == ["d1", "d2", "d3", "d4"]


ROWS = (
    "Item: Raft | Fee: 10 | Days: 15\nItem: Mooring permit in Merrow, its cost | Fee: 35 | Days: 3"
)


def test_only_the_asked_row_of_a_table_counts() -> None:
    """A pair reader may take the end of one row for the beginning of the next."""
    hits = [hit_of(NEW, document="d1"), hit_of(ROWS, document="d2", rank=2)]

    def script(_: str, chunk: Chunk) -> Reading:
        wrong, right = ROWS.index("15"), ROWS.index("35")
        spans = ((wrong, 0.8), (right, 0.01))
        read_spans = tuple(ReadSpan(span=Span(at, at + 2), score=score) for at, score in spans)
        return replace(reading(chunk), answerable=0.9, spans=read_spans)

    session = ScriptedCrossReader(script).open_session(FEE)
    (rival,) = RivalFinder().find_rivals(Question(FEE), "40 crowns", hits[0], hits, session)
    assert (rival.text, rival.evidence.quote) == ("35", ROWS.split("\n")[1])
    question = "How much does a winter berth for a fishing boat cost a year?"
    assert RivalFinder().find_rivals(Question(question), "40 crowns", hits[0], hits, session) == []
