"""The network: MiniLM's encoder, a span head on every token and eight scores of the whole pair."""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from transformers import BertConfig, BertModel

WIDTH = 384
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
    """What the model says; all are logits.

    Attributes:
        starts: (rows, tokens) start of the answer.
        ends: (rows, tokens) end of the answer, its last token.
        scores: (rows, len(SCORES)) scores of the pair.
    """

    starts: Tensor
    ends: Tensor
    scores: Tensor


class CrossReader(nn.Module):
    """One pass over a pair gives span, relevance, answerability, yes/no and support."""

    def __init__(self, encoder: BertModel) -> None:
        super().__init__()
        self.encoder = encoder
        self.span = nn.Linear(WIDTH, 2)
        self.dense = nn.Linear(2 * WIDTH, WIDTH)
        self.scores = nn.Linear(WIDTH, len(SCORES))

    def forward(self, ids: Tensor, kinds: Tensor, mask: Tensor) -> Outputs:
        """Read a batch."""
        hidden = self.encoder(
            input_ids=ids, attention_mask=mask.long(), token_type_ids=kinds
        ).last_hidden_state.float()
        share = mask.unsqueeze(-1).float()
        mean = (hidden * share).sum(1) / share.sum(1)
        pair = torch.cat([hidden[:, 0], mean], dim=-1)
        scores = self.scores(nn.functional.gelu(self.dense(pair)))
        starts, ends = self.span(hidden).unbind(-1)
        return Outputs(starts=starts.float(), ends=ends.float(), scores=scores.float())


def from_encoder(weights: Path) -> CrossReader:
    """A reader on the sentence encoder in the folder `weights`, its heads new.

    Dropout is off: no row is seen often enough to be learned by heart, and it costs time. The word
    vectors are not trained, so they stay those of the shipped embedder.
    """
    config = BertConfig.from_pretrained(
        weights, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )
    encoder = BertModel.from_pretrained(weights, config=config, add_pooling_layer=False)
    encoder.embeddings.word_embeddings.requires_grad_(False)
    return CrossReader(encoder)
