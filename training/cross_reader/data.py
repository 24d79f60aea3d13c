"""The training and the development rows: split by article, no text of one in the other."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from training.cross_reader.composed import composed
from training.cross_reader.mining import mined
from training.cross_reader.negatives import swapped
from training.cross_reader.ranked import ranked_rows, read_lines, read_qrels
from training.cross_reader.rows import Row, is_development, read_rows
from training.cross_reader.yesno import asked, stated

_WINDOW = 9  # words; a text sharing so many in a row with a development text is not learned from
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Rows to learn from and rows to measure on."""

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
    kept = frozenset(groups)
    rows = [row for row in read_rows(data) if row.group in kept]
    development = [row for row in rows if is_development(row)]
    unseen = Unseen(row for row in development if row.source == "squad-dev")
    unseen.add_reported(data)
    train = [row for row in rows if not is_development(row) and unseen.allows(row)]
    derived = [
        *mined(train),
        *swapped(train),
        *composed(train),
        *asked(train),
        *stated(train),
        *ranked_rows(data),
    ]
    train += [row for row in derived if row.group in kept and unseen.allows(row)]
    held = [*development, *composed(development), *asked(development), *stated(development)]
    return Split(train=train, development=[row for row in held if row.group in kept])


class Unseen:
    """Keeps texts that overlap with the reported development texts out of training."""

    def __init__(self, development: Iterable[Row]) -> None:
        self._windows: set[str] = set()
        self._questions: set[str] = set()
        self._titles: set[str] = set()
        for row in development:
            self._questions.add(plain(row.question))
            self._titles.add(row.title.casefold())
            self._windows.update(windows(row.text))
        self._texts: set[str] = set()
        self._known: dict[str, bool] = {}

    def add_reported(self, data: Path) -> None:
        """Also keep out the questions of the reported sets and the documents that answer them."""
        for name in REPORTED:
            folder = data / name
            if not (folder / "queries.jsonl.gz").exists():
                continue
            queries = read_lines(folder / "queries.jsonl.gz")
            self._questions.update(plain(query["text"]) for query in queries)
            if (folder / "corpus.jsonl.gz").exists() and (folder / "qrels.tsv").exists():
                relevant = {
                    one for qrel in read_qrels(folder / "qrels.tsv").values() for one in qrel
                }
                for document in read_lines(folder / "corpus.jsonl.gz"):
                    if document["_id"] in relevant:
                        self._texts.add(plain(document["text"]))

    def allows(self, row: Row) -> bool:
        """Whether neither title, question nor a stretch of the text is a development one."""
        if row.title.casefold() in self._titles:
            return False
        if plain(row.question) in self._questions:
            return False
        if row.text not in self._known:
            unknown = plain(row.text) not in self._texts
            self._known[row.text] = unknown and self._windows.isdisjoint(windows(row.text))
        return self._known[row.text]


def plain(text: str) -> str:
    """The words alone, without capitals: equal for texts that differ in signs and spaces."""
    return " ".join(_WORD.findall(text.casefold()))


def windows(text: str) -> list[str]:
    """Every run of `_WINDOW` words; a shorter text is one window."""
    words = _WORD.findall(text.casefold())
    last = max(1, len(words) - _WINDOW + 1)
    return [" ".join(words[start : start + _WINDOW]) for start in range(last)]
