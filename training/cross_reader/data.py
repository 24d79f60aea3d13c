"""The training and the development rows: split by article, no text of one in the other."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from training.cross_reader.mining import mined
from training.cross_reader.negatives import swapped
from training.cross_reader.ranked import ranked_rows
from training.cross_reader.rows import Row, is_development, read_rows

from fathom.models.base import Embedder

_WINDOW = 9  # words; a text sharing so many in a row with a development text is not learned from
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Rows to learn from and rows to measure on."""

    train: Sequence[Row]
    development: Sequence[Row]


def load(data: Path, groups: Iterable[str], embedder: Embedder) -> Split:
    """Read all sets under `data`, split them, and add derived rows, keeping only `groups`.

    Wrong texts are mined with the vectors of `embedder`.
    """
    kept = frozenset(groups)
    rows = [row for row in read_rows(data) if row.group in kept]
    development = [row for row in rows if is_development(row)]
    unseen = Unseen(row for row in development if row.source == "squad-dev")
    train = [row for row in rows if not is_development(row) and unseen.allows(row)]
    derived = [*mined(train, embedder), *swapped(train), *ranked_rows(data)]
    train += [row for row in derived if row.group in kept and unseen.allows(row)]
    return Split(train=train, development=development)


class Unseen:
    """Keeps texts that overlap with the reported development texts out of training."""

    def __init__(self, development: Iterable[Row]) -> None:
        self._windows: set[str] = set()
        self._questions: set[str] = set()
        self._titles: set[str] = set()
        for row in development:
            self._questions.add(row.question.casefold().strip())
            self._titles.add(row.title.casefold())
            self._windows.update(windows(row.text))
        self._known: dict[str, bool] = {}

    def allows(self, row: Row) -> bool:
        """Whether neither title, question nor a stretch of the text is a development one."""
        if row.title.casefold() in self._titles:
            return False
        if row.question.casefold().strip() in self._questions:
            return False
        if row.text not in self._known:
            self._known[row.text] = self._windows.isdisjoint(windows(row.text))
        return self._known[row.text]


def windows(text: str) -> list[str]:
    """Every run of `_WINDOW` words; a shorter text is one window."""
    words = _WORD.findall(text.casefold())
    last = max(1, len(words) - _WINDOW + 1)
    return [" ".join(words[start : start + _WINDOW]) for start in range(last)]
