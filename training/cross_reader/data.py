"""The training and the development rows, split by article without shared texts."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from training.cross_reader.composed import compose_rows
from training.cross_reader.lines import read_lines
from training.cross_reader.mining import mine_wrong
from training.cross_reader.negatives import swap_questions
from training.cross_reader.ranked import make_ranked_rows, read_qrels
from training.cross_reader.rows import GENERATED, WRITTEN, Row, is_development, read_rows
from training.cross_reader.yesno import make_stated, make_yesno

_WINDOW = 9  # words; a text sharing so many in a row with a development text is not learned from
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Rows for training and rows for measuring."""

    train: Sequence[Row]
    development: Sequence[Row]


# Whose questions, and the documents that answer them, are reported and never learned from.
REPORTED = (
    "squad-fresh",
    "idk-mrc-retrieval",
    "facqa-id",
    "hotpotqa-200",
    "musique-300",
    "multihoprag-partial",
    "covid-qa",
    "ramdocs",
    "techqa-130",
    "sec-10-q",
)


def load(data: Path, groups: Iterable[str]) -> Split:
    """Read all sets under `data`, split them, and add derived rows, keeping only `groups`."""
    groups_kept = frozenset(groups)
    rows = [row for row in read_rows(data) if row.group in groups_kept]
    development = [row for row in rows if is_development(row)]
    unseen = Unseen(row for row in development if row.source == "squad-dev")
    unseen.add_reported(data)
    train = [row for row in rows if not is_development(row) and unseen.allows(row)]
    train = select_new(train, development)
    derived = [
        *mine_wrong(train),
        *swap_questions(train),
        *compose_rows(train),
        *make_yesno(train),
        *make_stated(train),
        *make_ranked_rows(data),
    ]
    train += [row for row in derived if row.group in groups_kept and unseen.allows(row)]
    held = [
        *development,
        *compose_rows(development),
        *make_yesno(development),
        *make_stated(development),
    ]
    return Split(train=train, development=[row for row in held if row.group in groups_kept])


def select_new(rows: Iterable[Row], development: Iterable[Row]) -> list[Row]:
    """Return `rows` without generated ones on what our own development rows are on.

    Both are made of manuals, some of the same package.
    """
    unseen = Unseen(row for row in development if row.group in WRITTEN)
    return [row for row in rows if row.group not in GENERATED or unseen.allows(row)]


class Unseen:
    """Keeps texts that overlap with the reported development texts out of training."""

    def __init__(self, development: Iterable[Row]) -> None:
        self._windows: set[str] = set()
        self._questions: set[str] = set()
        self._titles: set[str] = set()
        for row in development:
            self._questions.add(normalize(row.question))
            self._titles.add(row.title.casefold())
            self._windows.update(list_windows(row.text))
        self._texts: set[str] = set()
        self._known: dict[str, bool] = {}

    def add_reported(self, data: Path) -> None:
        """Also exclude the questions of the reported sets and the documents that answer them."""
        for name in REPORTED:
            folder = data / name
            if not (folder / "queries.jsonl.gz").exists():
                continue
            queries = read_lines(folder / "queries.jsonl.gz")
            self._questions.update(normalize(query["text"]) for query in queries)
            if (folder / "corpus.jsonl.gz").exists() and (folder / "qrels.tsv").exists():
                relevant = {
                    document
                    for qrel in read_qrels(folder / "qrels.tsv").values()
                    for document in qrel
                }
                for document in read_lines(folder / "corpus.jsonl.gz"):
                    if document["_id"] in relevant:
                        self._texts.add(normalize(document["text"]))

    def allows(self, row: Row) -> bool:
        """Return whether neither title, question nor any part of the text is a development one."""
        if row.title.casefold() in self._titles:
            return False
        if normalize(row.question) in self._questions:
            return False
        if row.text not in self._known:
            unknown = normalize(row.text) not in self._texts
            self._known[row.text] = unknown and self._windows.isdisjoint(list_windows(row.text))
        return self._known[row.text]


def normalize(text: str) -> str:
    """Return the words in lower case, equal for texts that differ in signs and spaces."""
    return " ".join(_WORD.findall(text.casefold()))


def list_windows(text: str) -> list[str]:
    """Return every run of `_WINDOW` words; a shorter text is one window."""
    words = _WORD.findall(text.casefold())
    last = max(1, len(words) - _WINDOW + 1)
    return [" ".join(words[start : start + _WINDOW]) for start in range(last)]
