import numpy as np
import pytest
from tests.factories import hit_of

from fathom.testing.doubles import reading

pytest.importorskip("bm25s")

from training.fit_span_reader import Read, compute_f1, find_best, fit_logistic, label_answers

from fathom.agents.reader.base import ReadHit
from fathom.evaluation.datasets import DatasetQuestion


def make_look(answer: str, score: float, rank: int) -> ReadHit:
    hit = hit_of(document=f"d{rank}", rank=rank)
    return ReadHit(hit=hit, reading=reading(hit.chunk, answer, score), trust=1.0)


RIGHT = DatasetQuestion(id="a", text="How much?", answers=("40 crowns",))
NONE = DatasetQuestion(id="b", text="Who?", answerable=False)
READS: list[Read] = [
    (RIGHT, (make_look("40 crowns", 0.5, 1), make_look("harbour", 0.8, 2))),
    (NONE, (make_look("harbour", 0.1, 1),)),
]


def test_trust_decides_between_answers() -> None:
    looks = READS[0][1]
    assert [best.text if (best := find_best(looks, fall)) else "" for fall in (0.0, 1.0)] == [
        "harbour",
        "40 crowns",
    ]
    assert find_best((), 0.0) is None
    assert (compute_f1(READS, 0.0), compute_f1(READS, 1.0)) == (0.0, 1.0)


def test_an_unanswerable_question_has_no_right_answer() -> None:
    rows, right = label_answers(READS, 1.0)
    assert right.tolist() == [1.0, 0.0]
    assert rows[0] == pytest.approx([0.0, 0.0, 1.0])


def test_a_known_law_is_found_again() -> None:
    generator = np.random.default_rng(0)
    logits = generator.normal(size=4_000)
    chances = 1 / (1 + np.exp(-(1.5 * logits - 0.5)))
    rows = np.stack([logits, np.ones(4_000)], axis=1)
    law = fit_logistic(rows, (generator.random(4_000) < chances).astype(float), np.ones(4_000))
    assert law == pytest.approx([1.5, -0.5], abs=0.15)
