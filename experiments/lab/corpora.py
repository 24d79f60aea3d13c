"""Variants of a data set's corpus, written as ordinary data sets.

`legacy` is the corpus after years of neglect (`perturb.py`), with the same questions and
judgements; `cut-N` has N documents and the questions that these can answer (`subset.py`). Both
follow from hashes of ids alone: the same data set gives the same variant everywhere.
"""

import json
import re
import shutil
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from experiments.lab.perturb import LEGACY, Neglect, degrade
from experiments.lab.subset import cut_dataset
from experiments.lab.texts import Text, read_texts
from research.packed import pack

from fathom.documents.discover import digest_content
from fathom.errors import UsageError
from fathom.evaluation.datasets import Dataset, DatasetQuestion, load
from fathom.jsonable import Json, dump_canonical, hash_text

VERSION = 2
"""Raised when this code makes variants otherwise than before."""

RECORD = "made.json"
"""Says in a variant's folder what it was made from."""


def derive_dataset(folder: Path, corpus: str, out: Path, *, neglect: Neglect = LEGACY) -> Path:
    """Return the folder of a data set with a variant of its corpus, and create it if missing.

    It is made again if what is there was made by another version of this code, from another
    source or with another neglect. A kill leaves a whole variant or none.

    Args:
        folder: The data set.
        corpus: `legacy`, `cut-N`, or nothing for the data set itself.
        out: A variant is written to `<data set>@<corpus>` in this folder.
        neglect: How bad a legacy corpus is.

    Raises:
        UsageError: If there is no such variant, the data set is malformed or has no judged
            question that a cut could ask.
    """
    if not corpus:
        return folder
    count = _parse_count(corpus)
    dataset = load(folder)
    place = out / f"{dataset.name}@{corpus}"
    origin = {"version": VERSION, "neglect": asdict(neglect), "source": _hash_source(dataset)}
    if _read_origin(place) == origin:
        return place
    texts = read_texts(dataset.corpus)
    if count is None:
        _write_dataset(place, dataset, degrade(texts, neglect), origin)
    else:
        smaller = cut_dataset(dataset, count)
        _write_dataset(
            place, smaller, (text for text in texts if text.id in smaller.documents), origin
        )
    return place


def _parse_count(corpus: str) -> int | None:
    """Return the N of `cut-N`, `None` for `legacy`."""
    if corpus == "legacy":
        return None
    match = re.fullmatch(r"cut-([1-9][0-9]*)", corpus)
    if match is None:
        raise UsageError(f"there is no corpus {corpus!r}; use legacy or cut-N, such as cut-1000")
    return int(match[1])


def _hash_source(dataset: Dataset) -> str:
    """Return a hash of everything from which a variant is made."""
    corpus = dataset.corpus
    content = digest_content(corpus) if corpus.is_file() else sorted(dataset.documents)
    questions = [asdict(question) for question in dataset.questions]
    return hash_text(dump_canonical([content, questions, dataset.qrels]))


def _read_origin(place: Path) -> Json:
    file = place / RECORD
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None


def _write_dataset(place: Path, dataset: Dataset, texts: Iterable[Text], origin: Json) -> None:
    """Write a data set folder aside, then move it into place in one step."""
    aside = place.with_name(f".{place.name}")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    pack(aside / "corpus.jsonl.gz", map(_serialize_document, texts), level=3)
    pack(aside / "queries.jsonl.gz", map(_serialize_query, dataset.questions), level=3)
    judged = [
        f"{question}\t{document}\t{grade}\n"
        for question, grades in dataset.qrels.items()
        for document, grade in grades.items()
    ]
    (aside / "qrels.tsv").write_text("".join(judged), encoding="utf-8")
    (aside / RECORD).write_text(json.dumps(origin), encoding="utf-8")
    (place / RECORD).unlink(missing_ok=True)  # half removed it must not count as made
    shutil.rmtree(place, ignore_errors=True)
    aside.rename(place)


def _serialize_document(text: Text) -> Json:
    fields = {"title": text.title, "text": text.text, "metadata": dict(text.metadata)}
    return {"_id": text.id, **fields}


def _serialize_query(question: DatasetQuestion) -> Json:
    metadata = {
        "answerable": question.answerable,
        "type": question.kind,
        "documents": question.documents or None,
        "without": question.without or None,
        # No wrong answer among several right ones is not the same as none that is known.
        "wrong_answers": question.wrong,
        "synthetic": question.synthetic or None,
    }
    fields = {key: value for key, value in metadata.items() if value not in (None, "")}
    row = {
        "_id": question.id,
        "text": question.text,
        "answers": question.answers,
        "metadata": fields,
    }
    return {**row, "history": list(map(asdict, question.history))} if question.history else row
