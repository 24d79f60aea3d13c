"""The figures of a checkpoint on the development rows of a pack, with the training network.

    python -m training.cross_reader.measure --pack pack.jsonl.gz --start START --checkpoint last.pt

For choosing between runs. What is published is measured by `evaluate`, on the exported file.
"""

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from training.cross_reader import pack
from training.cross_reader.batches import Limits, estimate_tokens
from training.cross_reader.encode import Encoder
from training.cross_reader.figures import (
    Read,
    compute_answer_figures,
    compute_claim_figures,
    compute_yesno_figures,
    round_figures,
)
from training.cross_reader.model import SCORES, CrossReader
from training.cross_reader.model import Encoder as Network
from training.cross_reader.rows import Row
from training.encoder import load, load_tokenizer

from fathom.models.spans import LONGEST


class Measurer:
    """Reads rows with a network, a batch at a time."""

    def __init__(self, model: CrossReader, encoder: Encoder, device: str, limits: Limits) -> None:
        self._model, self._encoder, self._device = model.eval(), encoder, device
        self._limits = limits

    @torch.no_grad()
    def read(self, rows: Sequence[Row], size: int = 128) -> list[Read]:
        """Return a reading of every row, from the beginning of its text."""
        order = sorted(range(len(rows)), key=lambda place: estimate_tokens(rows[place]))
        reads: dict[int, Read] = {}
        for start in range(0, len(order), size):
            places = order[start : start + size]
            reads |= dict(zip(places, self._read_batch([rows[p] for p in places]), strict=True))
        return [reads[place] for place in range(len(rows))]

    def _read_batch(self, rows: Sequence[Row]) -> list[Read]:
        limit = max(self._limits.of(row) for row in rows)
        batch = self._encoder.batch(rows, limit=limit, seed=None).move_to(self._device)
        out = self._model(batch.ids, batch.kinds, batch.mask)
        starts = out.starts.masked_fill(~batch.places, -1e4).float().cpu().numpy()
        ends = out.ends.masked_fill(~batch.places, -1e4).float().cpu().numpy()
        scores = out.scores.float().cpu().numpy()
        reads = []
        for row, start, end, score in zip(rows, starts, ends, scores, strict=True):
            item = self._encoder.row(row, limit=limit, seed=None)
            first, chunk = item.pair.first, item.pair.chunk
            size = len(chunk.ids)
            a, b, best = _find_best(start[first : first + size], end[first : first + size])
            answer = row.text[chunk.starts[a] : chunk.ends[b]] if size else ""
            named = dict(zip(SCORES, map(float, score), strict=True))
            reads.append(Read(row, answer, best - float(start[0] + end[0]), named))
        return reads


def _find_best(starts: NDArray[np.float32], ends: NDArray[np.float32]) -> tuple[int, int, float]:
    """Return the first and last token of the best span, and its score."""
    size = len(starts)
    if not size:
        return 0, 0, -1e4
    widths = np.arange(size)[None, :] - np.arange(size)[:, None]
    is_span = (widths >= 0) & (widths < LONGEST)
    both = np.where(is_span, starts[:, None] + ends[None, :], -1e9)
    a, b = divmod(int(both.argmax()), size)
    return a, b, float(both[a, b])


def compute_figures(reads: Sequence[Read]) -> dict[str, float]:
    """Return the figures of one source's rows; those without rows are left out."""
    return round_figures(
        {
            "rows": len(reads),
            **compute_answer_figures(reads),
            **compute_claim_figures(reads, _measure_support, least=0.0),
            **compute_yesno_figures(reads),
        }
    )


def _measure_support(read: Read) -> float:
    return read.scores["supported"] - max(read.scores["contradicted"], read.scores["unrelated"])


def main() -> None:
    """Read the arguments and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pack", type=Path, required=True)
    parser.add_argument("--start", type=Path, required=True)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--sample", type=int, default=600, help="rows of a source at most")
    settings = parser.parse_args()
    model = CrossReader(Network(load(settings.start), 0.0)).to(settings.device)
    state = torch.load(settings.checkpoint, weights_only=True, map_location=settings.device)
    model.load_state_dict(state["model"])
    by_source: dict[str, list[Row]] = defaultdict(list)
    for row in pack.read(settings.pack).development:
        by_source[f"{row.group}/{row.source}"].append(row)
    encoder = Encoder(load_tokenizer(settings.start))
    measurer = Measurer(model, encoder, settings.device, Limits())
    for source, rows in sorted(by_source.items()):
        chosen = random.Random(1).sample(rows, min(len(rows), settings.sample))
        print(source, json.dumps(compute_figures(measurer.read(chosen))), flush=True)


if __name__ == "__main__":
    main()
