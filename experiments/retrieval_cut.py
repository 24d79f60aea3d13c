"""A part of a retrieval set, where embedding all of it takes too long: a BEIR folder like it.

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


def lines(file: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as rows:
        yield from map(json.loads, rows)


def chosen(dataset: Dataset, sizes: dict[str, int], chars: int, most: int) -> tuple[set[str], ...]:
    """Ids of documents and of questions; `sizes` of the documents in characters."""
    kept: set[str] = set()
    asked: set[str] = set()
    for question in dataset.sample(judged=True):
        needed = kept | (dataset.qrels[question.id].keys() & sizes.keys())
        if len(asked) < most and (not asked or sum(sizes[one] for one in needed) <= chars / 2):
            kept, asked = needed, asked | {question.id}
    filled = sum(sizes[one] for one in kept)
    for one in sorted(sizes.keys() - kept, key=hash_text):
        if filled + sizes[one] <= chars:
            kept.add(one)
            filled += sizes[one]
    return kept, asked


def within(row: dict[str, Any], kept: set[str]) -> dict[str, Any]:
    """A row whose own documents, where a question has some, are those of the part."""
    about = row.get("metadata") or {}
    if "documents" not in about:
        return row
    documents = [
        document
        for document in about["documents"]
        if (document["doc"] if isinstance(document, dict) else document) in kept
    ]
    return row | {"metadata": about | {"documents": documents}}


def cut(source: Path, target: Path, chars: int, most: int) -> tuple[int, int]:
    """Write the part; returns how many documents and questions it has."""
    dataset = load(source)
    sizes = {row["_id"]: len(row.get("text") or "") for row in lines(source / NAMES[0])}
    kept, asked = chosen(dataset, sizes, chars, most)
    target.mkdir(parents=True, exist_ok=True)
    for name, among in zip(NAMES, (kept, asked), strict=True):
        with gzip.open(target / name, "wt", encoding="utf-8") as out:
            out.writelines(
                json.dumps(within(row, kept)) + "\n"
                for row in lines(source / name)
                if row["_id"] in among
            )
    grades = [
        f"{one}\t{document}\t{grade}\n"
        for one in sorted(asked)
        for document, grade in dataset.qrels[one].items()
        if document in kept
    ]
    (target / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(grades))
    return len(kept), len(asked)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--chars", type=int, default=450_000)
    parser.add_argument("--questions", type=int, default=150)
    arguments = parser.parse_args()
    documents, questions = cut(
        arguments.source, arguments.target, arguments.chars, arguments.questions
    )
    print(arguments.target, documents, "documents", questions, "questions")


if __name__ == "__main__":
    main()
