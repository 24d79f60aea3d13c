"""The training of the cross-reader.

    python -m training.cross_reader.train --pack PACK --start START --out FOLDER --minutes 60

Stops after `--minutes` minutes or `--rows` rows; the learning rate falls to nothing by then. Writes
`learned.json.gz` (what it learns from, hashed), `last.pt` every few minutes and `curve.jsonl`;
started again with the same folder it goes on where it stopped, so it may be ended and started at
will. Every line of the curve says how many rows it will reach.
"""

import argparse
import gc
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import Any

import torch
from research.contamination import write_manifest
from training.cross_reader import pack
from training.cross_reader.batches import Blocks, Limits
from training.cross_reader.distil import Teachers, compute_soft_losses, load_teachers, mix_losses
from training.cross_reader.encode import Batch, Encoder
from training.cross_reader.losses import compute_losses, weigh_losses
from training.cross_reader.mining import mine_wrong
from training.cross_reader.model import CrossReader
from training.cross_reader.model import Encoder as Network
from training.cross_reader.rows import Row
from training.cross_reader.sources import SHARES
from training.encoder import load, load_tokenizer
from training.manifest import make_manifest

from fathom.models.pair import PairWriter

_WARM_UP = 0.04
_DECAY = 0.01
_LAYER_FACTOR = 0.92  # the learning rate falls by so much a layer from top to bottom
_HEAD_FACTOR = 3.0
_SAVE_SECONDS = 180.0
_AHEAD = 32  # batches made before they are needed


@dataclass(slots=True, kw_only=True)
class Progress:
    """The progress of a run.

    Attributes:
        block: Blocks done.
        step: Optimizer steps done.
        rows: Rows learned from.
        seconds: Time on the clock, over all starts.
    """

    block: int = 0
    step: int = 0
    rows: int = 0
    seconds: float = 0.0


class Stream:
    """Batches without end, block after block."""

    def __init__(self, blocks: Blocks, encoder: Encoder, first: int, tokens: int) -> None:
        """From block number `first` on, in batches of about `tokens` tokens."""
        self._blocks, self._encoder = blocks, encoder
        self._first, self._tokens = first, tokens

    def __iter__(self) -> Iterator[tuple[int, int, Batch]]:
        """Block, number of rows, tensors."""
        for block in count(self._first):
            for rows in self._blocks.batches(block, tokens=self._tokens):
                limit = self._blocks.limit(rows)
                yield block, len(rows), self._encoder.batch(rows, limit=limit, seed=block)


def prefetch(
    stream: Iterable[tuple[int, int, Batch]], size: int
) -> Iterator[tuple[int, int, Batch]]:
    """Yield `stream` from another thread, at most `size` batches ahead.

    A thread, since a row takes it 60 microseconds: processes would spend more on handing over.
    """
    queue: Queue[tuple[int, int, Batch]] = Queue(size)

    def make() -> None:
        for item in stream:
            queue.put(item)

    Thread(target=make, daemon=True).start()
    while True:
        yield queue.get()


class Run:
    """A model in training, with the state to continue it later."""

    def __init__(
        self, model: CrossReader, settings: argparse.Namespace, teachers: Teachers | None = None
    ) -> None:
        self.model = model
        self.teachers = teachers
        self.settings = settings
        self.progress = Progress()
        self.optimizer = torch.optim.AdamW(
            _group_parameters(model, settings.rate),
            betas=(0.9, 0.98),
            fused=settings.device != "cpu",
        )
        self._rates = [group["lr"] for group in self.optimizer.param_groups]
        self._last = settings.out / "last.pt"

    def share(self) -> float:
        """Return the used share of the run's time, or of its rows if they are limited."""
        if self.settings.rows:
            return float(self.progress.rows / self.settings.rows)
        return float(self.progress.seconds / 60.0 / self.settings.minutes)

    def learn(self, batch: Batch, rows: int) -> dict[str, torch.Tensor]:
        """Take one step and return the losses, summed over the rows."""
        factor = schedule(self.share())
        for group, rate in zip(self.optimizer.param_groups, self._rates, strict=True):
            group["lr"] = rate * factor
        batch = batch.move_to(self.settings.device)
        with torch.autocast(self.settings.device, dtype=torch.bfloat16, enabled=self.settings.bf16):
            outputs = self.model(batch.ids, batch.kinds, batch.mask)
            targets = self.teachers.say(batch) if self.teachers else None
        parts = compute_losses(outputs, batch)
        if targets:
            parts = mix_losses(
                parts, compute_soft_losses(outputs, targets, batch), self.settings.soft
            )
        torch.autograd.backward(weigh_losses(parts, rows))
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.progress.step += 1
        self.progress.rows += rows
        return {name: part.detach() for name, part in parts.items()}

    def save(self) -> None:
        """Write the checkpoint, whole or not at all."""
        state = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "progress": get_fields(self.progress),
        }
        unfinished = self._last.with_suffix(".new")
        torch.save(state, unfinished)
        unfinished.replace(self._last)

    def resume(self) -> None:
        """Continue from the checkpoint, if there is one."""
        if not self._last.exists():
            return
        state = torch.load(self._last, weights_only=True, map_location=self.settings.device)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.progress = Progress(**state["progress"])


def get_fields(progress: Progress) -> dict[str, Any]:
    """Return the fields of `progress`."""
    return {name: getattr(progress, name) for name in Progress.__slots__}


def schedule(share: float) -> float:
    """Return the factor of the learning rate: up during the warm-up, then linearly down to zero."""
    if share < _WARM_UP:
        return max(share, 0.002) / _WARM_UP
    return max(0.0, (1.0 - share) / (1.0 - _WARM_UP))


def average_checkpoints(model: CrossReader, checkpoints: Sequence[Path]) -> None:
    """Give `model` the mean of the checkpoints' weights.

    The mean of runs that started alike is often better than each of them (Wortsman et al. 2022,
    "Model soups").
    """
    states = [
        torch.load(path, weights_only=True, map_location="cpu")["model"] for path in checkpoints
    ]
    model.load_state_dict(
        {name: torch.stack([state[name].float() for state in states]).mean(0) for name in states[0]}
    )


def _group_parameters(model: CrossReader, rate: float) -> list[dict[str, Any]]:
    """Return parameters by learning rate: heads fastest, the encoder slower from layer to layer."""
    depth = model.encoder.layers
    groups: dict[tuple[float, float], list[torch.nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        factor = _HEAD_FACTOR
        if name.startswith("encoder.embeddings"):
            factor = _LAYER_FACTOR ** (depth + 1)
        elif name.startswith("encoder.encoder.layer."):
            factor = _LAYER_FACTOR ** (depth - int(name.split(".")[3]) - 1)
        decay = _DECAY if parameter.ndim > 1 else 0.0
        groups.setdefault((factor, decay), []).append(parameter)
    return [
        {"params": group_parameters, "lr": rate * factor, "weight_decay": decay}
        for (factor, decay), group_parameters in groups.items()
    ]


def freeze(model: CrossReader, layers: int) -> None:
    """Freeze the word table and the lowest `layers` layers; less than 0 freezes nothing."""
    frozen = tuple(f"encoder.encoder.layer.{number}." for number in range(layers))
    for name, parameter in model.named_parameters():
        if layers >= 0 and name.startswith(("encoder.embeddings.", *frozen)):
            parameter.requires_grad_(requires_grad=False)


def train(run: Run, stream: Stream) -> None:
    """Learn until the minutes, or the rows, are used up."""
    settings = run.settings
    batches = prefetch(stream, _AHEAD) if settings.device != "cpu" else iter(stream)
    saved = reported = started = time.monotonic()
    before = run.progress.seconds
    sums: dict[str, torch.Tensor] = {}
    rows_then = run.progress.rows
    with (settings.out / "curve.jsonl").open("a", encoding="utf-8") as curve:
        while run.share() < 1.0:
            block, rows, batch = next(batches)
            for name, value in run.learn(batch, rows).items():
                sums[name] = sums[name] + value if name in sums else value
            run.progress.block = max(run.progress.block, block)
            now = time.monotonic()
            run.progress.seconds = before + now - started
            if now - reported > settings.say_seconds:
                rows_since = run.progress.rows - rows_then
                means = {name: round(value.item() / rows_since, 4) for name, value in sums.items()}
                line = {**get_fields(run.progress), **means}
                line["reach"] = round(run.progress.rows / max(run.share(), 1e-6))
                curve.write(json.dumps(line) + "\n")
                curve.flush()
                print(json.dumps(line), flush=True)
                reported, sums, rows_then = now, {}, run.progress.rows
            if now - saved > _SAVE_SECONDS:
                run.save()
                saved = now
    run.save()


def add_mined(
    rows: Sequence[Row], model: CrossReader, tokens: PairWriter, device: str
) -> list[Row]:
    """Return `rows` and the wrong texts found by the untrained encoder's vectors."""
    from training.cross_reader.embed import make_embedder

    return [*rows, *mine_wrong(rows, make_embedder(model.encoder, tokens, device))]


def parse_arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pack", type=Path, required=True)
    parser.add_argument("--start", type=Path, required=True, help="folder of training/encoder.py")
    parser.add_argument("--out", type=Path, required=True, help="folder of the checkpoints")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--rows", type=int, default=0, help="end after so many, however long")
    parser.add_argument("--limit", type=int, default=288, help="tokens a row of one text is cut at")
    parser.add_argument("--limit-several", type=int, default=448)
    parser.add_argument("--batch-tokens", type=int, default=2048)
    parser.add_argument(
        "--block-factor", type=int, default=1, help="blocks are so many times larger"
    )
    parser.add_argument("--rate", type=float, default=1.5e-4)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--frozen", type=int, default=-1, help="layers that are left as they are")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--workers", type=int, default=0, help="processes that cut the texts")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--bf16", action="store_true", help="where the processor has it")
    parser.add_argument("--everything", action="store_true", help="learn from development rows too")
    parser.add_argument("--mine-vectors", action="store_true", help="wrong texts by vectors too")
    parser.add_argument("--begin", type=Path, nargs="*", default=(), help="mean of checkpoints")
    parser.add_argument("--teachers", type=Path, nargs="*", default=(), help="checkpoints")
    parser.add_argument("--soft", type=float, default=0.5, help="weight of the teachers' loss")
    parser.add_argument("--say-seconds", type=float, default=60.0)
    parser.add_argument("--shares", type=json.loads, default=dict(SHARES), help="JSON object")
    return parser.parse_args(argv)


def main() -> None:
    """Read the arguments and train."""
    settings = parse_arguments()
    settings.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(settings.threads)
    torch.manual_seed(settings.seed)
    torch.set_float32_matmul_precision("high")
    model = CrossReader(Network(load(settings.start), settings.dropout)).to(settings.device)
    if settings.begin:
        average_checkpoints(model, settings.begin)
    freeze(model, settings.frozen)
    teachers = load_teachers(settings.teachers, settings.start, settings.device)
    run = Run(model, settings, teachers if settings.teachers else None)
    split = pack.read(settings.pack)
    rows = [*split.train, *(split.development if settings.everything else ())]
    tokens = load_tokenizer(settings.start)
    encoder = Encoder(tokens, rows, settings.workers)
    if settings.mine_vectors:
        rows = add_mined(rows, model, tokens, settings.device)
    run.resume()
    write_manifest(settings.out / "learned.json.gz", make_manifest(rows))
    shares = {group: share * settings.block_factor for group, share in settings.shares.items()}
    limits = Limits(settings.limit, settings.limit_several)
    blocks = Blocks(rows, shares, settings.seed, limits)
    print(f"{len(rows)} rows, from block {run.progress.block}", flush=True)
    model.train()
    gc.freeze()  # millions of objects that stay
    train(run, Stream(blocks, encoder, run.progress.block, settings.batch_tokens))


if __name__ == "__main__":
    main()
