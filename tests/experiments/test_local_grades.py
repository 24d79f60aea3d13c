from experiments.lab.local_grades import graded
from experiments.lab.plan import Arm
from experiments.lab.results import Cell
from tests.evaluation.making import abstained, ranked, record

from fathom.evaluation.records import Record


def cell(*records: Record) -> Cell:
    return Cell(set="toy", arm=Arm(name="naive", strategy="naive"), records=records)


def test_similarity_is_that_of_the_short_answer_with_the_gold_answer() -> None:
    same = graded(cell(record("q1")))
    far = graded(cell(record("q1", short_answer="a ferry at noon")))

    assert same.measures["similarity"] == 1.0
    assert 0.0 <= far.measures["similarity"] < 0.5


def test_who_gives_no_answer_is_like_none_and_has_no_words() -> None:
    row = graded(cell(record("q1"), abstained("q2")))

    assert row.measures["similarity"] == 0.5
    assert row.measures["words"] == 4.0  # "It costs 40 crowns."
    assert row.intervals["words"] == (4.0, 4.0)
    assert "words" not in graded(cell(abstained("q1"))).measures


def test_what_was_measured_before_stays() -> None:
    made = cell(record("q1"))
    assert made.row.measures.items() <= graded(made).measures.items()


def test_a_ranking_has_no_answer_to_be_judged() -> None:
    made = cell(ranked("q1"))
    assert graded(made) == made.row


def test_answers_that_nobody_knows_the_right_ones_of_have_no_similarity() -> None:
    assert "similarity" not in graded(cell(record("q1", gold=()))).measures
