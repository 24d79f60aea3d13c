"""What the model is taught: one loss a task, summed over the rows that know the task."""

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


def losses(outputs: Outputs, batch: Batch) -> dict[str, Tensor]:
    """The sum of every task's loss over the rows that know it."""
    scores = dict(zip(SCORES, outputs.scores.unbind(-1), strict=True))
    return {
        "span": span_loss(outputs, batch),
        "answerable": binary_loss(scores["answerable"], batch.answerable),
        "relevance": binary_loss(scores["relevance"], batch.relevant),
        "yesno": functional.cross_entropy(
            outputs.scores[:, 2:5], batch.yesno, ignore_index=UNKNOWN, reduction="sum"
        ),
        "support": any_of_loss(outputs.scores[:, 5:8], batch.support),
        "rests": token_loss(outputs.rests, batch.rests),
    }


def total(parts: Mapping[str, Tensor], rows: int) -> Tensor:
    """The weighted sum, per row of the batch."""
    return torch.stack([WEIGHTS[name] * part for name, part in parts.items()]).sum() / rows


def span_loss(outputs: Outputs, batch: Batch) -> Tensor:
    """Mean of the start's and the end's loss; all acceptable places count together."""
    starts = outputs.starts.masked_fill(~batch.places, LOW)
    ends = outputs.ends.masked_fill(~batch.places, LOW)
    return (any_of_loss(starts, batch.starts) + any_of_loss(ends, batch.ends)) / 2


def any_of_loss(logits: Tensor, right: Tensor) -> Tensor:
    """-log of the probability that one of the `right` classes holds; 0 for rows without any."""
    right = right | ~right.any(-1, keepdim=True)  # all are right where nothing is known
    hit = logits.masked_fill(~right, -torch.inf).logsumexp(-1)
    return (logits.logsumexp(-1) - hit).sum()


def binary_loss(logits: Tensor, known: Tensor) -> Tensor:
    """Cross-entropy of a yes/no label over the rows where it is known."""
    weight = (known != UNKNOWN).float()
    return functional.binary_cross_entropy_with_logits(
        logits, known.clamp(min=0).float(), weight=weight, reduction="sum"
    )


def token_loss(logits: Tensor, right: Tensor) -> Tensor:
    """Binary cross-entropy a token, averaged over each row's known tokens, summed over rows."""
    known = right != UNKNOWN
    each = functional.binary_cross_entropy_with_logits(
        logits, right.clamp(min=0).float(), reduction="none"
    )
    return ((each * known).sum(1) / known.sum(1).clamp(min=1)).sum()
