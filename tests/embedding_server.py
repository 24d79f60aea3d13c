"""A scripted server that embeds texts as hashed vectors, of another length for each model."""

import json
from dataclasses import dataclass, field

from tests.scripted_acts import ReceivedRequest, Wire, raw
from tests.scripted_server import Extractive

from fathom.testing.doubles import HashingEmbedder

SIZES = {"small": 32, "large": 48}


@dataclass(frozen=True, slots=True)
class EmbeddingAct(Extractive):
    """Answers every embedding request; `texts` holds the texts by model."""

    answer: object = None  # type: ignore[assignment]
    texts: dict[str, list[str]] = field(default_factory=dict)

    async def __call__(self, request: ReceivedRequest, wire: Wire) -> None:
        model, texts = request.body["model"], request.body["input"]
        self.texts.setdefault(model, []).extend(texts)
        rows = HashingEmbedder(SIZES[model.rpartition("-")[2]]).embed(texts).tolist()
        data = [{"index": place, "embedding": row} for place, row in enumerate(rows)]
        await raw(json.dumps({"data": data}))(request, wire)
