from experiments.lab.local_grades import grade_cell
from experiments.lab.plan import Arm
from experiments.lab.results import Cell
from tests.evaluation.factories import make_abstention, make_ranking, make_record

from fathom.evaluation.records import Record


def make_cell(*records: Record) -> Cell:
    return Cell(set="toy", arm=Arm(name="naive", strategy="naive"), records=records)


def test_similarity_compares_the_short_answer_with_the_gold_answer() -> None:
    same = grade_cell(make_cell(make_record("q1")))
    far = grade_cell(make_cell(make_record("q1", short_answer="a ferry at noon")))

    assert same.measures["similarity"] == 1.0
    assert 0.0 <= far.measures["similarity"] < 0.5


def test_an_abstention_has_no_similarity_and_no_words() -> None:
    row = grade_cell(make_cell(make_record("q1"), make_abstention("q2")))

    assert row.measures["similarity"] == 0.5
    assert row.measures["words"] == 4.0  # "It costs 40 crowns."
    assert row.intervals["words"] == (4.0, 4.0)
    assert "words" not in grade_cell(make_cell(make_abstention("q1"))).measures


def test_earlier_measures_are_kept() -> None:
    judged_cell = make_cell(make_record("q1"))
    assert judged_cell.row.measures.items() <= grade_cell(judged_cell).measures.items()


def test_a_ranking_has_no_answer_to_judge() -> None:
    judged_cell = make_cell(make_ranking("q1"))
    assert grade_cell(judged_cell) == judged_cell.row


def test_answers_without_gold_have_no_similarity() -> None:
    assert "similarity" not in grade_cell(make_cell(make_record("q1", gold=()))).measures
