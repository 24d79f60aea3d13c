"""Samples of questions that language models and frameworks are asked."""

from dataclasses import replace
from pathlib import Path

from experiments.lab.prints import compute_prints
from research.contamination import read_manifest

from fathom.evaluation.datasets import Dataset, DatasetQuestion

MANIFESTS = Path(__file__).parents[2] / "training" / "manifests"


def draw_unlearned(
    dataset: Dataset, count: int, manifests: Path = MANIFESTS
) -> tuple[DatasetQuestion, ...]:
    """Return a sample of the questions that can be graded and no shipped model learned from.

    A larger sample begins with each smaller one. On what the local models learned from, the local
    reader would be surer and better than on a user's questions.
    """
    prints = compute_prints(dataset)
    learned = [read_manifest(file) for file in manifests.glob("learned-*.json.gz")]
    gradable = tuple(
        question
        for question in dataset.questions
        if (question.answers or not question.answerable)
        and not any(prints[question.id].touches(manifest) for manifest in learned)
    )
    return replace(dataset, questions=gradable).sample(count)
