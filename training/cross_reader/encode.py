"""Rows as tensors."""

import random
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from itertools import chain
from multiprocessing import get_context

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from training.cross_reader.rows import SUPPORT, Row, hash_to_number

from fathom.models.pair import PairRow, PairWriter, TextTokens

UNKNOWN = -100
_PAD = 1
_TEXTS = 256  # that a process cuts at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Rows side by side, padded to the longest.

    Attributes:
        ids, kinds: (rows, tokens) the model's input.
        mask: (rows, tokens) true where there is a token.
        places: (rows, tokens) true where an answer may start or end, `<s>` included.
        starts, ends: (rows, tokens) true at every right start, end; none true: unknown.
        rests: (rows, tokens) 1 in texts that the answer rests on, 0 in others, `UNKNOWN` elsewhere.
        answerable, relevant, yesno: (rows,) class, or `UNKNOWN`.
        support: (rows, 3) true at every right class; none true: unknown.
    """

    ids: Tensor
    kinds: Tensor
    mask: Tensor
    places: Tensor
    starts: Tensor
    ends: Tensor
    rests: Tensor
    answerable: Tensor
    relevant: Tensor
    yesno: Tensor
    support: Tensor

    def move_to(self, device: str) -> "Batch":
        """Return the batch on another device."""
        moved = {f.name: getattr(self, f.name).to(device, non_blocking=True) for f in fields(self)}
        return Batch(**moved)


@dataclass(frozen=True, slots=True)
class Encoded:
    """A row as tokens; ranges are of tokens of the row, the last one included."""

    pair: PairRow
    spans: Sequence[tuple[int, int]]
    parts: Sequence[tuple[int, int, bool]]


Cut = tuple[NDArray[np.int32], NDArray[np.int32]]
"""The numbers of tokens of some texts, and (3, all tokens): their ids, starts and ends."""


def concatenate_tokens(tokens: PairWriter, texts: Sequence[str]) -> Cut:
    """Return the tokens of `texts`, one text after the other."""
    placed = [tokens.locate_tokens(text) for text in texts]
    flat = [
        np.fromiter((number for entry in placed for number in getattr(entry, name)), dtype=np.int32)
        for name in ("ids", "starts", "ends")
    ]
    return np.array([len(entry.ids) for entry in placed], dtype=np.int32), np.stack(flat)


class CachingWriter(PairWriter):
    """Writes pairs as another writer does, and caches the tokens of some texts.

    The tokens of all these texts stand in one array, where millions of numbers as objects would
    take ten times the memory.
    """

    def __init__(self, tokens: PairWriter, texts: Iterable[str], workers: int) -> None:
        """`texts` are cut now, by so many processes."""
        self._tokens = tokens
        self.start, self.end = tokens.start, tokens.end
        unique = list(dict.fromkeys(texts))
        parts = [unique[first : first + _TEXTS] for first in range(0, len(unique), _TEXTS)] or [[]]
        if workers:
            with get_context("fork").Pool(workers) as pool:
                done = pool.map(partial(concatenate_tokens, tokens), parts, chunksize=1)
        else:
            done = [concatenate_tokens(tokens, part) for part in parts]
        self._ends = np.cumsum(np.concatenate([lengths for lengths, _ in done]), dtype=np.int64)
        self._cut = np.concatenate([flat for _, flat in done], axis=1)
        self._number = {text: number for number, text in enumerate(unique)}

    def locate_tokens(self, text: str) -> TextTokens:
        """Return the cached tokens of a text, or compute them."""
        number = self._number.get(text)
        if number is None:
            return self._tokens.locate_tokens(text)
        first = self._ends[number - 1] if number else 0
        ids, starts, ends = self._cut[:, first : self._ends[number]].tolist()
        return TextTokens(ids=ids, starts=starts, ends=ends)

    def tokenize(self, text: str, limit: int) -> list[int]:
        """Return the token ids of a text, from the cache where it has them."""
        return list(self.locate_tokens(text).ids[:limit])


class Encoder:
    """Turns rows into batches. May be used from several threads."""

    def __init__(self, tokens: PairWriter, rows: Iterable[Row] = (), workers: int = 0) -> None:
        """The texts of `rows` are cut now, by so many processes."""
        texts = (text for row in rows for text in (row.text, row.question, row.title))
        self._tokens = CachingWriter(tokens, chain([":"], texts), workers)

    def batch(self, rows: Sequence[Row], *, limit: int, seed: int | None) -> Batch:
        """Return tensors of `rows`, each cut at `limit` tokens.

        `seed` decides which window of a longer text is taken; None takes its beginning.
        """
        return _stack(rows, [self.row(row, limit=limit, seed=seed) for row in rows])

    def row(self, row: Row, *, limit: int, seed: int | None) -> Encoded:
        """Return one row within `limit` tokens."""
        head = self._tokens.build_head(row.question, row.title)
        chunk = self._tokens.locate_tokens(row.text)
        spans = find_token_spans(chunk, row.spans)
        room = limit - len(head) - 1
        draw = None if seed is None else random.Random(f"{seed}/{hash_to_number(row.question)}")
        first = choose_window(len(chunk.ids), room, spans, draw)
        last = min(len(chunk.ids), first + room)
        pair = self._tokens.build_row(head, chunk.slice_tokens(first, last))
        shift = pair.first - first
        inside = tuple((a + shift, b + shift) for a, b in spans if first <= a and b < last)
        parts = tuple(
            (max(a, first) + shift, min(b, last - 1) + shift, place in row.rests)
            for place in row.parts
            for a, b in find_token_spans(chunk, [place])
            if a < last and b >= first
        )
        return Encoded(pair, inside, parts)


def find_token_spans(
    chunk: TextTokens, spans: Sequence[tuple[int, int]]
) -> tuple[tuple[int, int], ...]:
    """Return the first and last token of every character range that meets a token."""
    token_ranges = []
    for start, end in spans:
        # The ends of tokens rise as their starts do, so both sides are found by halving.
        first, after = bisect_right(chunk.ends, start), bisect_left(chunk.starts, end)
        if first < after:
            token_ranges.append((first, after - 1))
    return tuple(token_ranges)


def choose_window(
    length: int, room: int, spans: Sequence[tuple[int, int]], draw: random.Random | None
) -> int:
    """Return the first token of a window of `room` tokens around one of the spans."""
    if length <= room or draw is None:
        return 0
    low, high = 0, length - room
    if spans:
        start, end = draw.choice(spans)
        low, high = max(low, end - room + 1), min(high, start)
    return draw.randint(low, high) if low <= high else max(0, min(high, length - room))


def _stack(rows: Sequence[Row], encoded: Sequence[Encoded]) -> Batch:
    shape = (len(rows), max(len(item.pair.ids) for item in encoded))
    ids = np.full(shape, _PAD, dtype=np.int64)
    kinds = np.zeros(shape, dtype=np.int64)
    rests = np.full(shape, UNKNOWN, dtype=np.int64)
    mask, places, starts, ends = (np.zeros(shape, dtype=np.bool_) for _ in range(4))
    support = np.zeros((len(rows), len(SUPPORT)), dtype=np.bool_)
    for place, (row, item) in enumerate(zip(rows, encoded, strict=True)):
        length, first = len(item.pair.ids), item.pair.first
        ids[place, :length] = item.pair.ids
        kinds[place, :length] = item.pair.kinds
        mask[place, :length] = True
        places[place, first : first + len(item.pair.chunk.ids)] = True
        places[place, 0] = True
        for start, end in find_gold(row, item):
            starts[place, start] = ends[place, end] = True
        if row.rests:
            for start, end, right in item.parts:
                rests[place, start : end + 1] = int(right)
        support[place, list(row.support)] = True
    return Batch(
        ids=torch.from_numpy(ids),
        kinds=torch.from_numpy(kinds),
        mask=torch.from_numpy(mask),
        places=torch.from_numpy(places),
        starts=torch.from_numpy(starts),
        ends=torch.from_numpy(ends),
        rests=torch.from_numpy(rests),
        answerable=_mark_unknown([row.answerable for row in rows]),
        relevant=_mark_unknown([row.relevant for row in rows]),
        yesno=_mark_unknown([row.yesno for row in rows]),
        support=torch.from_numpy(support),
    )


def find_gold(row: Row, item: Encoded) -> Sequence[tuple[int, int]]:
    """Return the spans to learn: the answers, the null span without one, nothing if unknown."""
    if row.answerable is False:
        return ((0, 0),)
    return item.spans


def _mark_unknown(values: Sequence[bool | int | None]) -> Tensor:
    return torch.tensor([UNKNOWN if value is None else int(value) for value in values])
