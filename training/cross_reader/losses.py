"""The losses: one per task, summed over the rows with a label for the task."""

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn import functional
from training.cross_reader.encode import UNKNOWN, Batch
from training.cross_reader.model import SCORES, Outputs

WEIGHTS: Mapping[str, float] = {
    "span": 1.0,
    "answerable": 0.6,
    "relevance": 0.5,
    "yesno": 0.4,
    "support": 0.8,
    "rests": 0.3,
}
LOW = -1e4  # a token that no answer can start or end at


def compute_losses(outputs: Outputs, batch: Batch) -> dict[str, Tensor]:
    """Return the sum of every task's loss over its labelled rows."""
    scores = dict(zip(SCORES, outputs.scores.unbind(-1), strict=True))
    return {
        "span": compute_span_loss(outputs, batch),
        "answerable": compute_binary_loss(scores["answerable"], batch.answerable),
        "relevance": compute_binary_loss(scores["relevance"], batch.relevant),
        "yesno": functional.cross_entropy(
            outputs.scores[:, 2:5], batch.yesno, ignore_index=UNKNOWN, reduction="sum"
        ),
        "support": compute_any_of_loss(outputs.scores[:, 5:8], batch.support),
        "rests": compute_token_loss(outputs.rests, batch.rests),
    }


def weigh_losses(parts: Mapping[str, Tensor], rows: int) -> Tensor:
    """Return the weighted sum, per row of the batch."""
    return torch.stack([WEIGHTS[name] * part for name, part in parts.items()]).sum() / rows


def compute_span_loss(outputs: Outputs, batch: Batch) -> Tensor:
    """Return the mean of the start's and the end's loss; all acceptable places count together."""
    starts = outputs.starts.masked_fill(~batch.places, LOW)
    ends = outputs.ends.masked_fill(~batch.places, LOW)
    return (compute_any_of_loss(starts, batch.starts) + compute_any_of_loss(ends, batch.ends)) / 2


def compute_any_of_loss(logits: Tensor, right: Tensor) -> Tensor:
    """Return -log of the probability of the `right` classes; 0 for rows without any."""
    right = right | ~right.any(-1, keepdim=True)  # all are right where nothing is known
    hit = logits.masked_fill(~right, -torch.inf).logsumexp(-1)
    return (logits.logsumexp(-1) - hit).sum()


def compute_binary_loss(logits: Tensor, is_labelled: Tensor) -> Tensor:
    """Return the cross-entropy of a yes/no label over the rows where it is known."""
    weight = (is_labelled != UNKNOWN).float()
    return functional.binary_cross_entropy_with_logits(
        logits, is_labelled.clamp(min=0).float(), weight=weight, reduction="sum"
    )


def compute_token_loss(logits: Tensor, right: Tensor) -> Tensor:
    """Return the binary cross-entropy per token, averaged per row, summed over rows."""
    is_labelled = right != UNKNOWN
    entropy = functional.binary_cross_entropy_with_logits(
        logits, right.clamp(min=0).float(), reduction="none"
    )
    return ((entropy * is_labelled).sum(1) / is_labelled.sum(1).clamp(min=1)).sum()
