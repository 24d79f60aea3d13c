"""One training row, whatever its task, and how the rows of the data sets are read into it."""

import gzip
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from training.cross_reader.sources import source_of

SUPPORT = ("supported", "contradicted", "unrelated")
YESNO = ("yes", "no", "none")
_SUPPORT_OF: Mapping[str, tuple[int, ...]] = {
    "supported": (0,),
    "contradicted": (1,),
    "unrelated": (2,),
    "not_supported": (1, 2),
    "partially_supported": (1, 2),
}
_DEVELOPMENT = (16, 12)  # articles whose number leaves this rest are for development
WRITTEN = frozenset({"written", "written-id"})
"""Groups of the rows that we wrote ourselves."""
OWN = Path(__file__).parents[1] / "written"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A pair and what is known about it; None or empty where nothing is known.

    Attributes:
        source: Data set it is from.
        group: Share of a block it falls into.
        question: A question, or a claim.
        title: Title of the chunk's document, or empty.
        text: The chunk.
        spans: Character ranges of acceptable answers in `text`.
        answerable: Whether `text` answers the question.
        relevant: Whether `text` is about what is asked.
        yesno: Place in `YESNO`.
        support: Places in `SUPPORT`, one of which is right.
        parts: Character ranges of the texts that `text` is put together from, if it is.
        rests: Those of them that the answer rests on.
    """

    source: str
    group: str
    question: str
    title: str
    text: str
    spans: tuple[tuple[int, int], ...] = ()
    answerable: bool | None = None
    relevant: bool | None = None
    yesno: int | None = None
    support: tuple[int, ...] = ()
    parts: tuple[tuple[int, int], ...] = ()
    rests: tuple[tuple[int, int], ...] = ()


def read_rows(data: Path) -> Iterator[Row]:
    """Our own rows and all of `data/reader-train*` that may be learned from, in a fixed order."""
    for path in (*sorted(OWN.glob("*.jsonl.gz")), *sorted(data.glob("reader-train*/*.jsonl.gz"))):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                row = row_of(json.loads(line))
                if row is not None:
                    yield row


def row_of(raw: Mapping[str, Any]) -> Row | None:
    """The row that one line of a data set stands for; None where its source is not used."""
    group = source_of(raw["source"]).group
    if not group:
        return None
    base = {
        "source": raw["source"],
        "group": group,
        "question": raw["question"],
        "title": raw["title"].replace("_", " "),
        "text": raw["context"],
    }
    return _READERS[raw.get("task", "span")](base, raw)


def _span(base: dict[str, Any], raw: Mapping[str, Any]) -> Row:
    found = {(a["answer_start"], a["answer_start"] + len(a["text"])) for a in raw["answers"]}
    answerable = not raw["is_impossible"] and bool(found)
    # A twisted question is about its paragraph, so nothing is said of relevance there.
    relevant = True if answerable else None
    return Row(
        **base, spans=tuple(sorted(found)), answerable=answerable, relevant=relevant, yesno=2
    )


def _relevance(base: dict[str, Any], raw: Mapping[str, Any]) -> Row:
    label = bool(raw["label"])
    return Row(**base, answerable=label, relevant=True if label else None)


def _yesno(base: dict[str, Any], raw: Mapping[str, Any]) -> Row | None:
    if raw["label"] not in YESNO:
        return None
    return Row(**base, relevant=True, yesno=YESNO.index(raw["label"]))


def _nli(base: dict[str, Any], raw: Mapping[str, Any]) -> Row:
    return Row(**base, support=_SUPPORT_OF[raw["label"]])


_READERS = {"span": _span, "relevance": _relevance, "yesno": _yesno, "nli": _nli}


def is_development(row: Row) -> bool:
    """Whether the row is kept from training: by article for spans, by text for the rest.

    The articles of the SQuAD rows are the development set that is reported; the others are only
    watched.
    """
    if row.source == "squad-dev":
        return number_of(row.title) % _DEVELOPMENT[0] == _DEVELOPMENT[1]
    if row.group in WRITTEN:  # of a document, whatever its section
        return number_of(row.title.split(" > ")[0]) % 7 == 0
    return number_of(row.title or row.text) % 20 == 0


def number_of(key: str) -> int:
    """A number that depends on `key` alone, on any machine."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big")
