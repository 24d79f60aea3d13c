"""The soft labels that trained readers give to a batch, for a student to learn from.

Several readers that differ in their seeds are right more often than each of them. One that learns
their mean probabilities keeps most of that, at the price of one (Hinton et al. 2015, "Distilling
the Knowledge in a Neural Network").
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional
from training.cross_reader.encode import UNKNOWN, Batch
from training.cross_reader.losses import LOW
from training.cross_reader.model import SCORES, CrossReader, Outputs
from training.cross_reader.model import Encoder as Network

Said = dict[str, Tensor]
"""Mean probabilities: `starts` and `ends` (rows, tokens), `answerable` and `relevance` (rows,),
`yesno` and `support` (rows, 3)."""

_YESNO, _SUPPORT = slice(2, 5), slice(5, 8)


class Teachers:
    """Trained readers that read each batch once."""

    def __init__(self, models: Sequence[CrossReader]) -> None:
        self._models = [model.eval().requires_grad_(requires_grad=False) for model in models]

    @torch.no_grad()
    def say(self, batch: Batch) -> Said:
        """Return the mean of their outputs."""
        outputs = [
            _extract_labels(model(batch.ids, batch.kinds, batch.mask), batch)
            for model in self._models
        ]
        return {
            name: torch.stack([output[name] for output in outputs]).mean(0) for name in outputs[0]
        }


def load_teachers(checkpoints: Sequence[Path], start: Path, device: str) -> Teachers:
    """Load the readers of some checkpoints, all trained from `start`."""
    from training.encoder import load

    models = []
    for path in checkpoints:
        model = CrossReader(Network(load(start), 0.0)).to(device)
        state = torch.load(path, weights_only=True, map_location=device)
        model.load_state_dict(state["model"])
        models.append(model)
    return Teachers(models)


def compute_soft_losses(outputs: Outputs, targets: Said, batch: Batch) -> dict[str, Tensor]:
    """Return cross-entropies with the soft labels, summed over the rows whose label is known.

    Each row weighs as much as was said to be likely of its label: a teacher is not listened to
    where it is wrong. What a text rests on is not among the tasks.
    """
    starts, ends = (
        places.masked_fill(~batch.places, LOW) for places in (outputs.starts, outputs.ends)
    )
    right = [(targets[name] * getattr(batch, name)).sum(-1) for name in ("starts", "ends")]
    spans = [
        _compute_cross_entropy(starts, targets["starts"]),
        _compute_cross_entropy(ends, targets["ends"]),
    ]
    scores = dict(zip(SCORES, outputs.scores.unbind(-1), strict=True))
    yesno = _compute_cross_entropy(outputs.scores[:, _YESNO], targets["yesno"])
    decided = targets["yesno"].gather(1, batch.yesno.clamp(min=0)[:, None]).squeeze(1)
    support = _compute_cross_entropy(outputs.scores[:, _SUPPORT], targets["support"])
    return {
        "span": (right[0] * spans[0] + right[1] * spans[1]).sum() / 2,
        "answerable": _compute_binary(
            scores["answerable"], targets["answerable"], batch.answerable
        ),
        "relevance": _compute_binary(scores["relevance"], targets["relevance"], batch.relevant),
        "yesno": (yesno * decided * (batch.yesno != UNKNOWN)).sum(),
        "support": (support * (targets["support"] * batch.support).sum(-1)).sum(),
    }


def mix_losses(hard: Mapping[str, Tensor], soft: Mapping[str, Tensor], share: float) -> Said:
    """Return each task's loss, mixed with `share` of the soft one where there is one."""
    return {
        name: loss + share * soft[name] if name in soft else loss for name, loss in hard.items()
    }


def _extract_labels(outputs: Outputs, batch: Batch) -> Said:
    starts, ends = (
        places.masked_fill(~batch.places, LOW) for places in (outputs.starts, outputs.ends)
    )
    scores = dict(zip(SCORES, outputs.scores.unbind(-1), strict=True))
    return {
        "starts": starts.softmax(-1),
        "ends": ends.softmax(-1),
        "answerable": scores["answerable"].sigmoid(),
        "relevance": scores["relevance"].sigmoid(),
        "yesno": outputs.scores[:, _YESNO].softmax(-1),
        "support": outputs.scores[:, _SUPPORT].softmax(-1),
    }


def _compute_cross_entropy(logits: Tensor, likely: Tensor) -> Tensor:
    return -(likely * logits.log_softmax(-1)).sum(-1)


def _compute_binary(logits: Tensor, likely: Tensor, is_labelled: Tensor) -> Tensor:
    right = torch.where(is_labelled == 1, likely, 1 - likely) * (is_labelled != UNKNOWN)
    return functional.binary_cross_entropy_with_logits(
        logits, likely, weight=right, reduction="sum"
    )
