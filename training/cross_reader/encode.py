"""Rows as tensors: tokens, the window of the chunk that is read, and what is known as targets."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, fields

import torch
from torch import Tensor
from training.cross_reader.rows import SUPPORT, Row, number_of

from fathom.models.pair import PairRow, PairTokens, Placed

UNKNOWN = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What the model sees and what it should say, one row each; `UNKNOWN` where nothing is known.

    Attributes:
        ids: Token ids, padded with 0.
        kinds: 0 for the question, 1 for the chunk.
        mask: True on tokens, False on padding.
        places: True where a span may start or end: the chunk's tokens and `[CLS]`, the null span.
        starts: True at the acceptable starts; `[CLS]` when there is no answer.
        ends: True at the acceptable ends.
        answerable: 1, 0 or `UNKNOWN`.
        relevant: 1, 0 or `UNKNOWN`.
        yesno: Class or `UNKNOWN`.
        support: True at the classes one of which is right; no True where unknown.
    """

    ids: Tensor
    kinds: Tensor
    mask: Tensor
    places: Tensor
    starts: Tensor
    ends: Tensor
    answerable: Tensor
    relevant: Tensor
    yesno: Tensor
    support: Tensor

    def to(self, device: str) -> "Batch":
        """The same batch on another device."""
        return Batch(**{field.name: getattr(self, field.name).to(device) for field in fields(self)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoded:
    """One row as tokens, with its gold spans as places in the row."""

    pair: PairRow
    spans: tuple[tuple[int, int], ...]


def encode(tokens: PairTokens, row: Row, *, limit: int, draw: random.Random | None) -> Encoded:
    """Write `row` within `limit` tokens.

    Args:
        tokens: The tokenizer.
        row: What to write.
        limit: Tokens in all; a longer chunk is cut to a window.
        draw: Where the window lies, when the text does not fit; without it, at the beginning.
    """
    head = tokens.head(row.question, row.title)
    chunk = tokens.placed(row.text)
    spans = token_spans(chunk, row.spans)
    first = window(len(chunk.ids), limit - len(head) - 1, spans, draw)
    last = min(len(chunk.ids), first + limit - len(head) - 1)
    pair = tokens.row(head, chunk.part(first, last))
    shift = pair.first - first
    kept = tuple((a + shift, b + shift) for a, b in spans if first <= a and b < last)
    return Encoded(pair=pair, spans=kept)


def token_spans(chunk: Placed, spans: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """First and last token of every character range that meets a token."""
    found = []
    for start, end in spans:
        inside = [
            place
            for place, (a, b) in enumerate(zip(chunk.starts, chunk.ends, strict=True))
            if a < end and b > start
        ]
        if inside:
            found.append((inside[0], inside[-1]))
    return tuple(found)


def window(
    length: int, room: int, spans: Sequence[tuple[int, int]], draw: random.Random | None
) -> int:
    """First token of a window of `room` tokens, one of the spans inside if it can be."""
    if length <= room or draw is None:
        return 0
    low, high = 0, length - room
    if spans:
        start, end = draw.choice(spans)
        low, high = max(low, end - room + 1), min(high, start)
    return draw.randint(low, high) if low <= high else max(0, min(high, length - room))


def to_batch(tokens: PairTokens, rows: Sequence[Row], *, limit: int, seed: int | None) -> Batch:
    """Tensors of `rows`; `seed` decides the windows, None takes the beginning of every text."""
    encoded = []
    for row in rows:
        draw = None if seed is None else random.Random(f"{seed}/{number_of(row.question)}")
        encoded.append(encode(tokens, row, limit=limit, draw=draw))
    shape = (len(rows), max(len(item.pair.ids) for item in encoded))
    ids, kinds = torch.zeros(shape, dtype=torch.long), torch.zeros(shape, dtype=torch.long)
    mask, places, starts, ends = (torch.zeros(shape, dtype=torch.bool) for _ in range(4))
    support = torch.zeros((len(rows), len(SUPPORT)), dtype=torch.bool)
    for place, (row, item) in enumerate(zip(rows, encoded, strict=True)):
        length, first = len(item.pair.ids), item.pair.first
        ids[place, :length] = torch.tensor(item.pair.ids)
        kinds[place, :length] = torch.tensor(item.pair.kinds)
        mask[place, :length] = True
        places[place, first : first + len(item.pair.chunk.ids)] = True
        places[place, 0] = True
        for start, end in gold(row, item):
            starts[place, start] = ends[place, end] = True
        support[place, list(row.support)] = True
    return Batch(
        ids=ids,
        kinds=kinds,
        mask=mask,
        places=places,
        starts=starts,
        ends=ends,
        answerable=_known([row.answerable for row in rows]),
        relevant=_known([row.relevant for row in rows]),
        yesno=_known([row.yesno for row in rows]),
        support=support,
    )


def gold(row: Row, item: Encoded) -> tuple[tuple[int, int], ...]:
    """The spans to learn: the answers, the null span where there is none, nothing if unknown."""
    if row.answerable is False:
        return ((0, 0),)
    return item.spans


def _known(values: Sequence[bool | int | None]) -> Tensor:
    return torch.tensor([UNKNOWN if value is None else int(value) for value in values])
