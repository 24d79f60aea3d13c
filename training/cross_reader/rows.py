"""Training rows of all tasks, and their reading from the data sets."""

import gzip
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from training.cross_reader.sources import find_source
from training.cross_reader.twisted import read_twisted

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
WRITTEN = frozenset({"written", "written-id", "news-id"})
"""Groups of the rows that we wrote ourselves."""
OWN_FOLDER = Path(__file__).parents[1] / "written"
GENERATED = frozenset({"generated", "generated-id"})
"""Groups of the rows that a language model wrote; see `training/questions`."""
TWISTED = "twisted"
"""Group of the questions that we wrote on paragraphs of other sets; see `training/twisted`."""
GENERATED_FOLDER = Path(__file__).parents[1] / "generated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A pair and its labels; None or empty where nothing is known.

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
    """Return all permitted rows of the repository and of `data/reader-train*`, in order."""
    for path in (
        *sorted(OWN_FOLDER.glob("*.jsonl.gz")),
        *sorted(GENERATED_FOLDER.glob("*.jsonl.gz")),
        *sorted(data.glob("reader-train*/*.jsonl.gz")),
    ):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                row = parse_row(json.loads(line))
                if row is not None:
                    yield row
    yield from filter(None, map(parse_row, read_twisted(data)))


def parse_row(raw: Mapping[str, Any]) -> Row | None:
    """Return the row of one line of a data set; None if its source is not used."""
    group = find_source(raw["source"]).group
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


def _parse_span(base: dict[str, Any], raw: Mapping[str, Any]) -> Row:
    spans = {(a["answer_start"], a["answer_start"] + len(a["text"])) for a in raw["answers"]}
    answerable = not raw["is_impossible"] and bool(spans)
    # A twisted question is about its paragraph, so nothing is said of relevance there.
    relevant = True if answerable else None
    return Row(
        **base, spans=tuple(sorted(spans)), answerable=answerable, relevant=relevant, yesno=2
    )


def _parse_relevance(base: dict[str, Any], raw: Mapping[str, Any]) -> Row:
    label = bool(raw["label"])
    return Row(**base, answerable=label, relevant=True if label else None)


def _parse_yesno(base: dict[str, Any], raw: Mapping[str, Any]) -> Row | None:
    if raw["label"] not in YESNO:
        return None
    return Row(**base, relevant=True, yesno=YESNO.index(raw["label"]))


def _parse_nli(base: dict[str, Any], raw: Mapping[str, Any]) -> Row:
    return Row(**base, support=_SUPPORT_OF[raw["label"]])


_READERS = {
    "span": _parse_span,
    "relevance": _parse_relevance,
    "yesno": _parse_yesno,
    "nli": _parse_nli,
}


def is_development(row: Row) -> bool:
    """Return whether the row is kept from training: by article for spans, by text for the rest.

    The articles of the SQuAD rows are the development set that is reported; the others are only
    watched.
    """
    if row.source == "squad-dev":
        return hash_to_number(row.title) % _DEVELOPMENT[0] == _DEVELOPMENT[1]
    document = row.title.split(" > ")[0] or row.text  # whatever the section
    if row.group in WRITTEN:
        return hash_to_number(document) % 7 == 0
    if row.group in GENERATED:
        return hash_to_number(document) % 10 == 0
    if row.group == TWISTED:
        return hash_to_number(row.text) % 16 == 0
    return hash_to_number(row.title or row.text) % 20 == 0


def hash_to_number(key: str) -> int:
    """Return a number that depends on `key` alone, on any machine."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big")
