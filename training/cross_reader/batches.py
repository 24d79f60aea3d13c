"""Batches of rows: a function of seed and block alone, so a run can be resumed."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from training.cross_reader.rows import Row

_LETTERS_A_TOKEN = 4.3
_MARKS = 6


@dataclass(frozen=True, slots=True)
class Limits:
    """The token limits of a row: of one text, or of several composed."""

    one: int = 288
    several: int = 448

    def of(self, row: Row) -> int:
        """Return the limit of this row."""
        return self.several if row.parts else self.one


class Blocks:
    """Cuts an endless stream of rows into blocks and each block into batches of similar length.

    A block draws a fixed number of rows from every group; a group is used up before any of its
    rows returns.
    """

    def __init__(
        self, rows: Sequence[Row], shares: Mapping[str, int], seed: int, limits: Limits
    ) -> None:
        self._groups = {
            group: [row for row in rows if row.group == group] for group in sorted(shares)
        }
        self._shares = {group: shares[group] for group, rows in self._groups.items() if rows}
        self._seed = seed
        self._limits = limits
        self._orders: dict[str, tuple[int, list[int]]] = {}

    def batches(self, block: int, *, tokens: int) -> Iterator[list[Row]]:
        """Return the batches of block number `block`, from 0, in a random order.

        A batch holds about `tokens` tokens, padding included.
        """
        drawn = [row for group in self._shares for row in self._draw(group, block)]
        draw = random.Random(f"{self._seed}/{block}")
        draw.shuffle(drawn)
        drawn.sort(key=self._get_length)
        batches = list(self._cut(drawn, tokens))
        draw.shuffle(batches)
        yield from batches

    def limit(self, batch: Sequence[Row]) -> int:
        """Return the token limit of the rows of a batch."""
        return max(self._limits.of(row) for row in batch)

    def _get_length(self, row: Row) -> int:
        return min(estimate_tokens(row), self._limits.of(row))

    def _draw(self, group: str, block: int) -> Iterator[Row]:
        share, rows = self._shares[group], self._groups[group]
        for number in range(block * share, (block + 1) * share):
            turn, place = divmod(number, len(rows))
            yield rows[self._order(group, turn)[place]]

    def _order(self, group: str, turn: int) -> list[int]:
        if self._orders.get(group, (-1, []))[0] != turn:
            order = list(range(len(self._groups[group])))
            random.Random(f"{self._seed}/{group}/{turn}").shuffle(order)
            self._orders[group] = (turn, order)
        return self._orders[group][1]

    def _cut(self, rows: Sequence[Row], tokens: int) -> Iterator[list[Row]]:
        """Rows are in order of length, so the last of a batch is its longest."""
        batch: list[Row] = []
        for row in rows:
            if batch and (len(batch) + 1) * self._get_length(row) > tokens:
                yield batch
                batch = []
            batch.append(row)
        if batch:
            yield batch


def estimate_tokens(row: Row) -> int:
    """Estimate the number of tokens of the row's uncut input."""
    letters = len(row.question) + len(row.title) + len(row.text)
    return _MARKS + round(letters / _LETTERS_A_TOKEN)
