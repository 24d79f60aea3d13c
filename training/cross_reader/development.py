"""The data of a measurement: development rows, wrong texts for them, rankings to reorder."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import bm25s
import Stemmer
from training.cross_reader.lines import read_lines
from training.cross_reader.ranked import is_training, read_qrels
from training.cross_reader.rows import Row, hash_to_number, is_development, read_rows

DEPTH = 24  # documents a ranking holds
_WRONG_AMONG = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The first stage's best documents for one question.

    Attributes:
        question: What was asked.
        documents: Best first.
        scores: The first stage's, of the same order.
        relevant: Ids of all relevant documents, ranked or not.
    """

    question: str
    documents: Sequence[Mapping[str, Any]]
    scores: Sequence[float]
    relevant: frozenset[str]


def read_development_rows(data: Path, groups: frozenset[str]) -> list[Row]:
    """Return the rows that were kept from training."""
    return [row for row in read_rows(data) if row.group in groups and is_development(row)]


def read_gold_rows(folder: Path) -> list[Row]:
    """Return the questions of a reported set, each paired with its document.

    A question counts as unanswerable where the set says so. One whose answer is not to be found in
    its document is left out.
    """
    documents = {line["_id"]: line for line in read_lines(folder / "corpus.jsonl.gz")}
    relevant = read_qrels(folder / "qrels.tsv")
    rows = []
    for query in read_lines(folder / "queries.jsonl.gz"):
        about = query["metadata"]
        document = documents[about.get("paragraph") or min(relevant[query["_id"]])]
        row = Row(
            source=folder.name,
            group="reported",
            question=query["text"],
            title=document["title"],
            text=document["text"],
            spans=_locate_answers(document["text"], query["answers"]),
            answerable=about["answerable"],
            relevant=True if about["answerable"] else None,
        )
        if bool(row.spans) == row.answerable:
            rows.append(row)
    return rows


def _locate_answers(text: str, answers: Sequence[str]) -> tuple[tuple[int, int], ...]:
    starts = [(text.find(answer), answer) for answer in answers]
    return tuple(sorted({(at, at + len(answer)) for at, answer in starts if at >= 0}))


def find_wrong_texts(data: Path, rows: Sequence[Row]) -> Iterator[Row]:
    """Return for every row the best-ranked paragraph without an answer to it."""
    corpus = read_lines(data / "squad-retrieval" / "corpus.jsonl.gz")
    for row, ranking in zip(rows, _rank(corpus, [row.question for row in rows]), strict=True):
        answers = [row.text[start:end].casefold() for start, end in row.spans]
        for document, _ in ranking[:_WRONG_AMONG]:
            low = document["text"].casefold()
            if not any(answer in low for answer in answers):
                yield replace(
                    row,
                    title=document["title"],
                    text=document["text"],
                    spans=(),
                    answerable=False,
                    relevant=False,
                )
                break


def make_rankings(
    folder: Path, count: int, articles: frozenset[str] = frozenset()
) -> list[Ranking]:
    """Return BM25 rankings of up to `count` development questions of a set with qrels.

    Args:
        folder: The data set.
        count: Questions at most, taken by the number of their id.
        articles: Only questions whose relevant document has one of these titles; none: those of
            the development half.
    """
    corpus = read_lines(folder / "corpus.jsonl.gz")
    title_of = {document["_id"]: document["title"] for document in corpus}
    relevant = read_qrels(folder / "qrels.tsv")
    queries = [
        query
        for query in read_lines(folder / "queries.jsonl.gz")
        if query["_id"] in relevant
        and (
            title_of[min(relevant[query["_id"]])] in articles
            if articles
            else not is_training(query["_id"])
        )
    ]
    queries = sorted(queries, key=lambda query: hash_to_number(query["_id"]))[:count]
    best = _rank(corpus, [query["text"] for query in queries])
    return [
        Ranking(
            question=query["text"],
            documents=[document for document, _ in ranking],
            scores=[score for _, score in ranking],
            relevant=frozenset(relevant[query["_id"]]),
        )
        for query, ranking in zip(queries, best, strict=True)
    ]


def _rank(
    corpus: Sequence[Mapping[str, Any]], questions: Sequence[str]
) -> Iterator[list[tuple[Mapping[str, Any], float]]]:
    stemmer = Stemmer.Stemmer("english")
    index = bm25s.BM25()
    bodies = [f"{document['title']} {document['text']}" for document in corpus]
    index.index(
        bm25s.tokenize(bodies, stopwords="en", stemmer=stemmer, show_progress=False),
        show_progress=False,
    )
    tokens = bm25s.tokenize(list(questions), stopwords="en", stemmer=stemmer, show_progress=False)
    places, scores = index.retrieve(tokens, k=DEPTH, show_progress=False)
    for row, values in zip(places, scores, strict=True):
        yield [(corpus[place], float(value)) for place, value in zip(row, values, strict=True)]
