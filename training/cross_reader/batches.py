"""Which rows make which batch: a function of seed and block alone, so a run can be resumed."""

import random
from collections.abc import Iterator, Mapping, Sequence

from training.cross_reader.rows import Row

_LETTERS_A_TOKEN = 4.5
_MARKS = 6


class Blocks:
    """Cuts an endless stream of rows into blocks and each block into batches of similar length.

    A block draws a fixed number of rows from every group; a group is used up before any of its
    rows returns.
    """

    def __init__(self, rows: Sequence[Row], shares: Mapping[str, int], seed: int) -> None:
        self._groups = {
            group: [row for row in rows if row.group == group] for group in sorted(shares)
        }
        self._shares = {group: shares[group] for group, found in self._groups.items() if found}
        self._seed = seed
        self._turn: tuple[str, list[int]] = ("", [])

    def batches(self, block: int, *, tokens: int, limit: int) -> Iterator[list[Row]]:
        """The batches of block number `block`, in a random order.

        Args:
            block: From 0.
            tokens: A batch holds about so many, padding included.
            limit: Tokens a row is cut at.
        """
        drawn = [row for group in self._shares for row in self._draw(group, block)]
        draw = random.Random(f"{self._seed}/{block}")
        draw.shuffle(drawn)
        drawn.sort(key=lambda row: min(estimate(row), limit))
        batches = list(_cut(drawn, tokens, limit))
        draw.shuffle(batches)
        yield from batches

    def _draw(self, group: str, block: int) -> Iterator[Row]:
        share, rows = self._shares[group], self._groups[group]
        for number in range(block * share, (block + 1) * share):
            turn, place = divmod(number, len(rows))
            yield rows[self._order(group, turn)[place]]

    def _order(self, group: str, turn: int) -> list[int]:
        key = f"{self._seed}/{group}/{turn}"
        if self._turn[0] != key:
            order = list(range(len(self._groups[group])))
            random.Random(key).shuffle(order)
            self._turn = (key, order)
        return self._turn[1]


def estimate(row: Row) -> int:
    """About how many tokens the row's input has, uncut."""
    letters = len(row.question) + len(row.title) + len(row.text)
    return _MARKS + round(letters / _LETTERS_A_TOKEN)


def _cut(rows: Sequence[Row], tokens: int, limit: int) -> Iterator[list[Row]]:
    """Rows are in order of length, so the last of a batch is its longest."""
    batch: list[Row] = []
    for row in rows:
        if batch and (len(batch) + 1) * min(estimate(row), limit) > tokens:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch
