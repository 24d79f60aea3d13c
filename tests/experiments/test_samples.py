from pathlib import Path

from experiments.lab.samples import draw_unlearned
from research.contamination import Manifest, fingerprint_all, write_manifest
from tests.factories import SAMPLES

from fathom.evaluation.datasets import load


def test_a_larger_sample_of_gradable_questions_begins_with_the_smaller_one() -> None:
    dataset = load(SAMPLES)
    larger = draw_unlearned(dataset, 30)
    assert draw_unlearned(dataset, 5) == larger[:5]
    assert all(question.answers or not question.answerable for question in larger)


def test_questions_that_a_model_learned_from_are_not_drawn(tmp_path: Path) -> None:
    dataset = load(SAMPLES)
    first, *others = draw_unlearned(dataset, 5, tmp_path)
    learned = Manifest(what="training", questions=fingerprint_all([first.text]))
    write_manifest(tmp_path / "learned-0.json.gz", learned)
    assert draw_unlearned(dataset, 4, tmp_path) == tuple(others)
