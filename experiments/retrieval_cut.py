"""A part of a retrieval set whose full embedding takes too long, as a BEIR folder.

    python experiments/retrieval_cut.py ../shared/data/cacm FOLDER [--chars 450000]

Questions are drawn by the hash of their ids (`Dataset.sample`) for as long as the texts that answer
them fill no more than half of the part; other documents, drawn likewise, fill the rest. A part is
easier than its whole, for every retriever: its figures compare retrievers, not sets.
"""

import argparse
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fathom.evaluation.datasets import Dataset, load
from fathom.jsonable import hash_text

NAMES = ("corpus.jsonl.gz", "queries.jsonl.gz")


def read_lines(file: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as rows:
        yield from map(json.loads, rows)


def choose_part(
    dataset: Dataset, sizes: dict[str, int], chars: int, most: int
) -> tuple[set[str], ...]:
    """Return ids of documents and of questions; `sizes` of the documents in characters."""
    document_ids: set[str] = set()
    question_ids: set[str] = set()
    for question in dataset.sample(judged=True):
        needed = document_ids | (dataset.qrels[question.id].keys() & sizes.keys())
        if len(question_ids) < most and (
            not question_ids or sum(sizes[document_id] for document_id in needed) <= chars / 2
        ):
            document_ids, question_ids = needed, question_ids | {question.id}
    filled = sum(sizes[document_id] for document_id in document_ids)
    for document_id in sorted(sizes.keys() - document_ids, key=hash_text):
        if filled + sizes[document_id] <= chars:
            document_ids.add(document_id)
            filled += sizes[document_id]
    return document_ids, question_ids


def restrict_row(row: dict[str, Any], document_ids: set[str]) -> dict[str, Any]:
    """Return a row whose own documents, if any, are limited to the part."""
    about = row.get("metadata") or {}
    if "documents" not in about:
        return row
    documents = [
        document
        for document in about["documents"]
        if (document["doc"] if isinstance(document, dict) else document) in document_ids
    ]
    return row | {"metadata": about | {"documents": documents}}


def cut_dataset(source: Path, target: Path, chars: int, most: int) -> tuple[int, int]:
    """Write the part; return its number of documents and of questions."""
    dataset = load(source)
    sizes = {row["_id"]: len(row.get("text") or "") for row in read_lines(source / NAMES[0])}
    document_ids, question_ids = choose_part(dataset, sizes, chars, most)
    target.mkdir(parents=True, exist_ok=True)
    for name, among in zip(NAMES, (document_ids, question_ids), strict=True):
        with gzip.open(target / name, "wt", encoding="utf-8") as out:
            out.writelines(
                json.dumps(restrict_row(row, document_ids)) + "\n"
                for row in read_lines(source / name)
                if row["_id"] in among
            )
    grades = [
        f"{question_id}\t{document}\t{grade}\n"
        for question_id in sorted(question_ids)
        for document, grade in dataset.qrels[question_id].items()
        if document in document_ids
    ]
    (target / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(grades))
    return len(document_ids), len(question_ids)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--chars", type=int, default=450_000)
    parser.add_argument("--questions", type=int, default=150)
    arguments = parser.parse_args()
    documents, questions = cut_dataset(
        arguments.source, arguments.target, arguments.chars, arguments.questions
    )
    print(arguments.target, documents, "documents", questions, "questions")


if __name__ == "__main__":
    main()
