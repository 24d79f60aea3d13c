"""The documents, questions and judgements of every system, read with the standard library only.

The same rule makes the same corpus anywhere: `questions` judged questions drawn with a fixed seed,
every document that is relevant to one of them, and further documents drawn with the same seed up to
the number wanted. A text is title and text, cut at `CHARS` characters: short documents, one chunk
each in every system, so that no system gains by cutting texts otherwise.
"""

import csv
import gzip
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CHARS = 120
SEED = 17


@dataclass(frozen=True, slots=True)
class Corpus:
    """The ingested documents and the questions.

    Attributes:
        documents: Texts by id.
        questions: Texts by id.
        relevant: For each question, its relevant documents with their grades.
    """

    documents: dict[str, str]
    questions: dict[str, str]
    relevant: dict[str, dict[str, int]]


def load(dataset: Path, documents: int, questions: int) -> Corpus:
    """Return a corpus of `documents` texts; larger corpora contain the smaller ones."""
    texts = dict(_read_texts(dataset / "corpus.jsonl.gz"))
    judged = _read_judgements(dataset / "qrels.tsv", texts)
    queries = {row["_id"]: row["text"] for row in _read_rows(dataset / "queries.jsonl.gz")}
    draw = random.Random(SEED)
    order = sorted(judged.keys() & queries.keys())
    draw.shuffle(order)
    chosen = order[:questions]
    needed = dict.fromkeys(name for question in chosen for name in sorted(judged[question]))
    rest = sorted(texts.keys() - needed.keys())
    draw.shuffle(rest)
    names = [*needed, *rest][: max(documents, len(needed))]
    return Corpus(
        documents={name: texts[name] for name in names},
        questions={name: queries[name] for name in chosen},
        relevant={name: judged[name] for name in chosen},
    )


def _read_texts(path: Path) -> Iterator[tuple[str, str]]:
    texts_seen: set[str] = set()
    for row in _read_rows(path):
        text = " ".join(f"{row.get('title', '')} {row['text']}".split())[:CHARS].strip()
        if text and text not in texts_seen:  # a text that comes twice would be one document in some
            texts_seen.add(text)
            yield row["_id"], text


def _read_judgements(path: Path, texts: dict[str, str]) -> dict[str, dict[str, int]]:
    judgements: dict[str, dict[str, int]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            grade = int(row["score"])
            if grade > 0 and row["corpus-id"] in texts:
                judgements.setdefault(row["query-id"], {})[row["corpus-id"]] = grade
    return judgements


def _read_rows(path: Path) -> Iterator[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)
