"""Relevance rows from the data sets with qrels: the training half of their questions.

A question belongs to the training half when the number of its id is even; the other half is for
development. Every document the qrels name is relevant, also one that holds no answer by itself.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import bm25s
import Stemmer
from training.cross_reader.lines import read_lines
from training.cross_reader.rows import Row, hash_to_number
from training.cross_reader.sources import RANKED

_WRONG = 3  # wrong documents a question
_DEPTH = 12
_LONGEST = 1200  # characters; a document is cut there


def is_training(query: str) -> bool:
    """Return whether a query's id is of the training half."""
    return hash_to_number(query) % 2 == 0


def make_ranked_rows(data: Path) -> Iterator[Row]:
    """Return relevance rows of the sets named in `RANKED`."""
    for name in RANKED:
        yield from _make_rows(data / name)


def read_qrels(path: Path) -> dict[str, set[str]]:
    """Return the relevant documents of every query; rows with score 0 do not count."""
    relevant: dict[str, set[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        query, document, score = line.split("\t")
        if float(score) > 0:
            relevant.setdefault(query, set()).add(document)
    return relevant


def _make_rows(folder: Path) -> Iterator[Row]:
    corpus = read_lines(folder / "corpus.jsonl.gz")
    relevant = read_qrels(folder / "qrels.tsv")
    queries = [
        query
        for query in read_lines(folder / "queries.jsonl.gz")
        if query["_id"] in relevant and is_training(query["_id"])
    ]
    by_id = {document["_id"]: document for document in corpus}
    for query, wrong in zip(queries, _rank(corpus, queries), strict=True):
        right = relevant[query["_id"]]
        for query_id in sorted(right & by_id.keys()):
            yield _make_row(folder.name, query, by_id[query_id], relevant=True)
        for document in [d for d in wrong if d["_id"] not in right][:_WRONG]:
            yield _make_row(folder.name, query, document, relevant=False)


def _rank(
    corpus: list[dict[str, Any]], queries: list[dict[str, Any]]
) -> Iterator[list[dict[str, Any]]]:
    stemmer = Stemmer.Stemmer("english")
    index = bm25s.BM25()
    bodies = [f"{document['title']} {document['text']}" for document in corpus]
    index.index(
        bm25s.tokenize(bodies, stopwords="en", stemmer=stemmer, show_progress=False),
        show_progress=False,
    )
    tokens = bm25s.tokenize(
        [query["text"] for query in queries], stopwords="en", stemmer=stemmer, show_progress=False
    )
    places, _ = index.retrieve(tokens, k=_DEPTH, show_progress=False)
    for row in places:
        yield [corpus[place] for place in row]


def _make_row(
    source: str, query: Mapping[str, Any], document: Mapping[str, Any], *, relevant: bool
) -> Row:
    return Row(
        source=source,
        group="ranked",
        question=query["text"],
        title=document["title"],
        text=document["text"][:_LONGEST],
        relevant=relevant,
        answerable=None if relevant else False,
    )
