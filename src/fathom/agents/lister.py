"""The lister: for whoever wants a ranking and no answer."""

from collections.abc import Sequence
from dataclasses import dataclass

from fathom.context import RunContext
from fathom.types import Draft, Hit


@dataclass(frozen=True, slots=True)
class Lister:
    """A `Reader` that reads nothing: it records the hits, and its draft is always empty."""

    async def read(self, question: str, hits: Sequence[Hit], context: RunContext) -> Draft:
        """See `Reader.read`."""
        inputs = {"question": question, "chunks": [hit.chunk.id for hit in hits]}
        with context.step("list", agent="reader", inputs=inputs) as here:
            here.done(reason=f"{len(hits)} chunks, none read")
        return Draft()
