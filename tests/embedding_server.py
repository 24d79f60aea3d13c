"""A scripted server that embeds: texts become hashed vectors, of another length for each model."""

import json
from dataclasses import dataclass, field

from tests.scripted_acts import Asked, Wire, raw
from tests.scripted_server import Extractive

from fathom.testing.doubles import HashingEmbedder

SIZES = {"small": 32, "large": 48}


@dataclass(frozen=True, slots=True)
class Embeds(Extractive):
    """Answers every request; `asked` holds the texts by model."""

    answer: object = None  # type: ignore[assignment]
    asked: dict[str, list[str]] = field(default_factory=dict)

    async def __call__(self, asked: Asked, wire: Wire) -> None:
        model, texts = asked.body["model"], asked.body["input"]
        self.asked.setdefault(model, []).extend(texts)
        rows = HashingEmbedder(SIZES[model]).embed(texts).tolist()
        data = [{"index": place, "embedding": row} for place, row in enumerate(rows)]
        await raw(json.dumps({"data": data}))(asked, wire)
