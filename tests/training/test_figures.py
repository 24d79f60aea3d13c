from dataclasses import replace

from training.cross_reader.figures import (
    Read,
    compute_answer_figures,
    compute_claim_figures,
    compute_yesno_figures,
    round_figures,
)
from training.cross_reader.rows import Row

from fathom.models.reading import SCORES

ROW = Row(
    source="s",
    group="squad",
    question="which river?",
    title="",
    text="the town lies on the Rhine.",
    spans=((21, 26),),
    answerable=True,
)
NONE = replace(ROW, spans=(), answerable=False)
OPEN = replace(ROW, spans=(), answerable=None)


def make_read(row: Row, answer: str = "", margin: float = 0.0, **scores: float) -> Read:
    return Read(row, answer, margin, dict.fromkeys(SCORES, 0.0) | scores)


def test_figures_of_answers_are_computed() -> None:
    reads = [
        make_read(ROW, "the Rhine", 3.0),
        make_read(ROW, "town Rhine", 1.0),
        make_read(NONE, "town", 2.0),
    ]

    # F1 of two words against one is 2/3; one of two pairs is in order.
    assert round_figures(compute_answer_figures(reads)) == {
        "has-answer F1": 0.8333,
        "has-answer EM": 0.5,
        "AUROC answerable": 0.5,
    }


def test_unknown_and_uniform_labels_have_no_figure() -> None:
    assert compute_answer_figures([make_read(OPEN), make_read(NONE)]) == {}
    assert compute_yesno_figures([make_read(replace(OPEN, yesno=0))]) == {}
    assert compute_claim_figures([make_read(replace(OPEN, support=(0,)))], lambda read: 0.0) == {}


def test_a_margin_and_a_score_add_up() -> None:
    reads = [make_read(ROW, margin=1.0), make_read(NONE, margin=0.5, answerable=1.0)]

    assert compute_answer_figures(reads)["AUROC answerable"] == 0


def test_figures_of_claims_are_computed() -> None:
    rows = [replace(OPEN, support=support) for support in ((0,), (0,), (1, 2))]
    reads = [
        make_read(row, supported=value) for row, value in zip(rows, (0.9, 0.4, 0.6), strict=True)
    ]

    assert compute_claim_figures(reads, lambda read: read.scores["supported"]) == {
        "claims": 3,
        "supported, balanced accuracy": 0.25,
        "supported, AUROC": 0.5,
    }


def test_figures_of_yes_and_no_are_computed() -> None:
    reads = [
        make_read(replace(OPEN, yesno=0), yes=1.0),
        make_read(replace(OPEN, yesno=1), no=1.0),
        make_read(replace(OPEN, yesno=1), yes=0.5),
        make_read(replace(OPEN, yesno=2), none=2.0),
    ]

    assert compute_yesno_figures(reads) == {
        "yes or no": 3,
        "yes, balanced accuracy": 0.75,
        "decided, AUROC": 1.0,
    }
