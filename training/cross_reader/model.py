"""The network: a BERT encoder (Devlin et al. 2019), three scores per token and eight per pair."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

HEADS = 12
EPSILON = 1e-12
# The scores of a pair, in the order the exported model gives them.
SCORES = (
    "relevance",
    "answerable",
    "yes",
    "no",
    "none",
    "supported",
    "contradicted",
    "unrelated",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The outputs of the model; all are logits.

    Attributes:
        starts: (rows, tokens) start of the answer.
        ends: (rows, tokens) end of the answer, its last token.
        rests: (rows, tokens) the answer rests on the text that this token is of.
        scores: (rows, len(SCORES)) scores of the pair.
    """

    starts: Tensor
    ends: Tensor
    rests: Tensor
    scores: Tensor


class Layer(nn.Module):
    """Attention, then the feed-forward block; modules are named as in BERT's checkpoints."""

    def __init__(self, width: int, wide: int, dropout: float) -> None:
        super().__init__()
        linear = nn.ModuleDict
        self.attention = linear(
            {
                "self": linear(
                    {part: nn.Linear(width, width) for part in ("query", "key", "value")}
                ),
                "output": _make_closing(width, width),
            }
        )
        self.intermediate = linear({"dense": nn.Linear(width, wide)})
        self.output = _make_closing(wide, width)
        self.dropout = dropout

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Compute one layer; `mask` is (rows, 1, 1, tokens), true where there is a token."""
        rows, tokens, width = hidden.shape
        projections = self.attention["self"]

        def split_heads(part: str) -> Tensor:
            return projections[part](hidden).view(rows, tokens, HEADS, -1).transpose(1, 2)

        drop = self.dropout if self.training else 0.0
        context = functional.scaled_dot_product_attention(
            split_heads("query"),
            split_heads("key"),
            split_heads("value"),
            attn_mask=mask,
            dropout_p=drop,
        )
        context = context.transpose(1, 2).reshape(rows, tokens, width)
        hidden = self._close(self.attention["output"], context, hidden)
        wide = functional.gelu(self.intermediate["dense"](hidden))
        return self._close(self.output, wide, hidden)

    def _close(self, closing: nn.ModuleDict, value: Tensor, rest: Tensor) -> Tensor:
        added = functional.dropout(closing["dense"](value), self.dropout, self.training)
        normed: Tensor = closing["LayerNorm"](added + rest)
        return normed


def _make_closing(inner: int, width: int) -> nn.ModuleDict:
    return nn.ModuleDict(
        {"dense": nn.Linear(inner, width), "LayerNorm": nn.LayerNorm(width, eps=EPSILON)}
    )


class Encoder(nn.Module):
    """Tokens to vectors; its sizes are those of its initial weights."""

    def __init__(self, weights: Mapping[str, NDArray[np.float32]], dropout: float) -> None:
        super().__init__()
        words, width = weights["embeddings.word_embeddings.weight"].shape
        places = len(weights["embeddings.position_embeddings.weight"])
        layers = 1 + max(int(n.split(".")[2]) for n in weights if n.startswith("encoder.layer."))
        wide = len(weights["encoder.layer.0.intermediate.dense.bias"])
        self.embeddings = nn.ModuleDict(
            {
                "word_embeddings": nn.Embedding(words, width),
                "position_embeddings": nn.Embedding(places, width),
                "token_type_embeddings": nn.Embedding(2, width),
                "LayerNorm": nn.LayerNorm(width, eps=EPSILON),
            }
        )
        self.encoder = nn.ModuleDict(
            {"layer": nn.ModuleList(Layer(width, wide, dropout) for _ in range(layers))}
        )
        self.width, self.layers, self.dropout = width, layers, dropout
        self.load_state_dict({name: torch.from_numpy(np.array(w)) for name, w in weights.items()})

    def forward(self, ids: Tensor, kinds: Tensor, mask: Tensor) -> Tensor:
        """Map (rows, tokens) to (rows, tokens, width)."""
        table = self.embeddings
        places = torch.arange(ids.shape[1], device=ids.device)
        summed = (
            table["word_embeddings"](ids)
            + table["position_embeddings"](places)
            + table["token_type_embeddings"](kinds)
        )
        hidden = functional.dropout(table["LayerNorm"](summed), self.dropout, self.training)
        for layer in self.encoder["layer"]:
            hidden = layer(hidden, mask[:, None, None, :])
        return hidden


class CrossReader(nn.Module):
    """One pass over a pair gives span, relevance, answerability, yes/no and support."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.span = nn.Linear(encoder.width, 3)
        self.dense = nn.Linear(2 * encoder.width, encoder.width)
        self.scores = nn.Linear(encoder.width, len(SCORES))

    def forward(self, ids: Tensor, kinds: Tensor, mask: Tensor) -> Outputs:
        """Read a batch."""
        hidden = self.encoder(ids, kinds, mask).float()
        share = mask.unsqueeze(-1).float()
        mean = (hidden * share).sum(1) / share.sum(1)
        pair = torch.cat([hidden[:, 0], mean], dim=-1)
        pair = functional.dropout(pair, self.encoder.dropout, self.training)
        scores = self.scores(functional.gelu(self.dense(pair)))
        starts, ends, rests = self.span(hidden).unbind(-1)
        return Outputs(
            starts=starts.float(), ends=ends.float(), rests=rests.float(), scores=scores.float()
        )
