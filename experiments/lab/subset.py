"""A data set of fewer documents, for quality and speed over the size of a corpus."""

from dataclasses import replace
from itertools import chain, zip_longest

from fathom.errors import UsageError
from fathom.evaluation.datasets import Dataset, DatasetQuestion
from fathom.jsonable import hash_text

QUESTIONS = 150
"""A cut asks so many questions at most."""

SMALLEST = 1000
"""Cuts of so many documents or more ask the same questions."""


def cut_dataset(dataset: Dataset, count: int) -> Dataset:
    """Return a data set with `count` documents, or all of fewer; `corpus` stays the whole.

    All documents stand in one order, of which a cut is the beginning: so a smaller cut is part of
    a larger one. In this order the documents that the first judged questions of the seeded sample
    need take turns with all others, which are drawn by the hash of their ids. A cut asks those of
    these questions that need none but its first `SMALLEST` documents.

    Raises:
        UsageError: If no judged question is left.
    """
    sampled = dataset.sample(QUESTIONS, judged=True)
    needed = {question.id: _list_needed(dataset, question) for question in sampled}
    first = dict.fromkeys(chain.from_iterable(needed.values()))
    others = sorted(dataset.documents - first.keys(), key=lambda name: (hash_text(name), name))
    turns = chain.from_iterable(zip_longest(first, others))
    order = [document for document in turns if document is not None]
    shared = frozenset(order[: min(count, SMALLEST)])
    questions = tuple(question for question in sampled if shared.issuperset(needed[question.id]))
    if not questions:
        raise UsageError(
            f"{dataset.name}: {count} documents are not enough for any judged question; cut larger"
        )
    return replace(
        dataset,
        questions=questions,
        qrels={question.id: dataset.qrels[question.id] for question in questions},
        documents=frozenset(order[:count]),
    )


def _list_needed(dataset: Dataset, question: DatasetQuestion) -> tuple[str, ...]:
    return (*sorted(dataset.qrels[question.id]), *question.documents)
