"""Fingerprints of what a question is asked about, to compare with what was learned from."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.lab.texts import texts_of
from research.contamination import Manifest, fingerprint, fingerprint_all

from fathom.evaluation.datasets import Dataset, DatasetQuestion, find_file, read_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Print:
    """Of one question.

    Attributes:
        question: Of its text.
        articles: Of the titles of its documents, and of the article that the data set names.
        documents: Of the documents that it is about: those that are relevant, those that the data
            set names as the question's own, and the paragraph that an unanswerable one was made of.
    """

    question: str
    articles: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()

    def touched(self, manifest: Manifest) -> bool:
        """Whether the question, an article or a document of it is in the manifest."""
        return (
            self.question in manifest.questions
            or not manifest.articles.isdisjoint(self.articles)
            or not manifest.documents.isdisjoint(self.documents)
        )


def prints_of(dataset: Dataset) -> Mapping[str, Print]:
    """Those of all questions of a data set, by question."""
    named = _named(dataset)
    about = {question.id: _about(dataset, question, named) for question in dataset.questions}
    wanted = frozenset(document for own in about.values() for document in own)
    known = {text.id: text for text in texts_of(dataset.corpus) if text.id in wanted}
    titles = {document: fingerprint_all([text.title]) for document, text in known.items()}
    texts = {document: fingerprint_all([text.text]) for document, text in known.items()}
    return {
        question.id: Print(
            question=fingerprint(question.text),
            articles=_together(
                [*(titles.get(each, frozenset()) for each in about[question.id])],
                fingerprint_all([str(named[question.id].get("article") or "")]),
            ),
            documents=_together([*(texts.get(each, frozenset()) for each in about[question.id])]),
        )
        for question in dataset.questions
    }


def applies(manifest: Manifest, systems: Iterable[str]) -> bool:
    """Whether what was made is in one of these strategies and retrievers."""
    return not manifest.systems or not manifest.systems.isdisjoint(systems)


def _named(dataset: Dataset) -> dict[str, Mapping[str, Any]]:
    """What the data set says of each question beside what a `DatasetQuestion` holds."""
    queries = find_file(dataset.corpus.parent, "queries.jsonl", "questions.jsonl")
    return {row["_id"]: row.get("metadata") or {} for _, row in read_rows(queries)}


def _about(
    dataset: Dataset, question: DatasetQuestion, named: Mapping[str, Mapping[str, Any]]
) -> frozenset[str]:
    paragraph = named[question.id].get("paragraph")
    own = {*dataset.qrels.get(question.id, ()), *question.documents}
    return frozenset(own | ({paragraph} if paragraph in dataset.documents else set()))


def _together(
    each: Sequence[frozenset[str]], more: frozenset[str] = frozenset()
) -> tuple[str, ...]:
    return tuple(sorted(more.union(*each)))
