"""Fingerprints of the subject of a question, to compare with training data."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.lab.texts import read_texts
from research.contamination import Manifest, fingerprint, fingerprint_all

from fathom.evaluation.datasets import Dataset, DatasetQuestion, find_file, read_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Print:
    """The fingerprints of one question.

    Attributes:
        question: Of its text.
        articles: Of the titles of its documents, and of the article that the data set names.
        documents: Of the documents that it is about: those that are relevant, those that the data
            set names as the question's own, and the paragraph that an unanswerable one was made of.
    """

    question: str
    articles: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()

    def touches(self, manifest: Manifest) -> bool:
        """Return whether the question, an article or a document of it is in the manifest."""
        return (
            self.question in manifest.questions
            or not manifest.articles.isdisjoint(self.articles)
            or not manifest.documents.isdisjoint(self.documents)
        )


def compute_prints(dataset: Dataset) -> Mapping[str, Print]:
    """Return the fingerprints of all questions of a data set, by question."""
    named = _read_named(dataset)
    about = {
        question.id: _list_documents(dataset, question, named) for question in dataset.questions
    }
    wanted_ids = frozenset(document for documents in about.values() for document in documents)
    texts_wanted = {text.id: text for text in read_texts(dataset.corpus) if text.id in wanted_ids}
    titles = {document: fingerprint_all([text.title]) for document, text in texts_wanted.items()}
    texts = {document: fingerprint_all([text.text]) for document, text in texts_wanted.items()}
    return {
        question.id: Print(
            question=fingerprint(question.text),
            articles=_unite(
                [*(titles.get(name, frozenset()) for name in about[question.id])],
                fingerprint_all([str(named[question.id].get("article") or "")]),
            ),
            documents=_unite([*(texts.get(name, frozenset()) for name in about[question.id])]),
        )
        for question in dataset.questions
    }


def applies_to(manifest: Manifest, systems: Iterable[str]) -> bool:
    """Return whether one of these strategies and retrievers uses the trained part."""
    return not manifest.systems or not manifest.systems.isdisjoint(systems)


def _read_named(dataset: Dataset) -> dict[str, Mapping[str, Any]]:
    """Return the fields of each question that a data set has besides those of `Question`."""
    queries = find_file(dataset.corpus.parent, "queries.jsonl", "questions.jsonl")
    return {row["_id"]: row.get("metadata") or {} for _, row in read_rows(queries)}


def _list_documents(
    dataset: Dataset, question: DatasetQuestion, named: Mapping[str, Mapping[str, Any]]
) -> frozenset[str]:
    paragraph = named[question.id].get("paragraph")
    relevant = {*dataset.qrels.get(question.id, ()), *question.documents}
    return frozenset(relevant | ({paragraph} if paragraph in dataset.documents else set()))


def _unite(sets: Sequence[frozenset[str]], more: frozenset[str] = frozenset()) -> tuple[str, ...]:
    return tuple(sorted(more.union(*sets)))
