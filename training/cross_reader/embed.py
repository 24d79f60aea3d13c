"""The vectors of an encoder, for mining wrong texts: the mean of its tokens, of unit length."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.utils.rnn import pad_sequence
from training.cross_reader.mining import Embed
from training.cross_reader.model import Encoder as Network

from fathom.models.unigram import UnigramPairs

_ROWS = 256
_LIMIT = 256


def make_embedder(network: Network, tokens: UnigramPairs, device: str) -> Embed:
    """Return a function that embeds with the current weights of `network`."""

    @torch.no_grad()
    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        network.eval()
        ids = [
            [tokens.start, *p.ids[: _LIMIT - 2], tokens.end]
            for p in map(tokens.locate_tokens, texts)
        ]
        order = sorted(range(len(ids)), key=lambda place: len(ids[place]))
        vectors = np.empty((len(ids), network.width), dtype=np.float32)
        for start in range(0, len(order), _ROWS):
            places = order[start : start + _ROWS]
            rows = [torch.tensor(ids[place]) for place in places]
            padded = pad_sequence(rows, batch_first=True, padding_value=1).to(device)
            mask = padded != 1
            hidden = network(padded, torch.zeros_like(padded), mask)
            mean = (hidden * mask.unsqueeze(-1)).sum(1)
            vectors[places] = torch.nn.functional.normalize(mean, dim=-1).float().cpu().numpy()
        return vectors

    return embed
