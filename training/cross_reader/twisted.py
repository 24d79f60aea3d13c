"""Questions that only seem to be answered, on paragraphs of the permitted sets.

We wrote them (`training/twisted/`). The paragraphs are not ours to pass on, so a question is stored
with the beginning of its paragraph's sha256, and with the place of its answer if it has one.
"""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from training.cross_reader.lines import read_lines

TWISTED_FOLDER = Path(__file__).parents[1] / "twisted"
_DIGITS = 16
_SOURCES = {
    "squadshifts-new_wiki": "twisted-wiki",
    "squad-dev": "twisted-squad",
    "nq-qed-dev": "twisted-nq",
    "nq-oracle": "twisted-nq",
}


def hash_text(text: str) -> str:
    """Return the key of a paragraph."""
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def read_twisted(data: Path, folder: Path = TWISTED_FOLDER) -> Iterator[dict[str, Any]]:
    """Yield the questions whose paragraphs lie under `data`, in the form of the other sets."""
    questions = [
        question for path in sorted(folder.glob("*.jsonl.gz")) for question in read_lines(path)
    ]
    paragraphs = _read_paragraphs(data, {question["paragraph"] for question in questions})
    for question in questions:
        if question["paragraph"] in paragraphs:
            yield _make_raw(question, paragraphs[question["paragraph"]])


def _read_paragraphs(data: Path, wanted: set[str]) -> dict[str, dict[str, Any]]:
    paragraphs: dict[str, dict[str, Any]] = {}
    for path in sorted(data.glob("reader-train*/*.jsonl.gz")):
        for raw in read_lines(path):
            if raw["source"] in _SOURCES and (key := hash_text(raw["context"])) in wanted:
                paragraphs.setdefault(key, raw)
    return paragraphs


def _make_raw(question: Mapping[str, Any], paragraph: Mapping[str, Any]) -> dict[str, Any]:
    text, answers = paragraph["context"], []
    if question["answer"]:
        start, end = question["answer"]
        answers = [{"text": text[start:end], "answer_start": start}]
    return {
        "source": _SOURCES[paragraph["source"]],
        "question": question["question"],
        "title": paragraph["title"],
        "context": text,
        "task": "span",
        "is_impossible": not answers,
        "answers": answers,
    }
