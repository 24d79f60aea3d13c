"""What really stands in the documents, at the places that an answer wants to quote."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import inf

from fathom.plain import Json
from fathom.run import Run
from fathom.types import Document, Span

Place = tuple[str, Span]
"""A document's id, and where in its text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quoted:
    """What stands at a place; see `Citation` for the fields.

    Those with defaults are missing in older traces and of the web.
    """

    text: str
    title: str
    path: str = ""
    section: str = ""
    page: int | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Quotes:
    """Looks places up in the index, in the time that is kept for the last step.

    Attributes:
        lookup: The index's document for an id; not called in a replay.
    """

    lookup: Callable[[str], Document | None]

    async def __call__(self, places: Sequence[Place], run: Run) -> tuple[Quoted | None, ...]:
        """What stands at each of the places; `None` where the document is gone or late."""
        request = [[document, span.start, span.end] for document, span in places]

        async def ask() -> Json:
            left = None if run.end == inf else max(0.0, run.end - time.monotonic())
            try:
                async with asyncio.timeout(left):
                    return await run.thread(lambda: [self._at(place) for place in places])
            except TimeoutError:
                return [None] * len(places)

        found = await run.scope.aobserve("quotes", request, ask) if places else []
        return tuple(None if each is None else Quoted(**each) for each in found)

    def _at(self, place: Place) -> Json:
        name, span = place
        document = self.lookup(name)
        if document is None:
            return None
        found = asdict(document.place_at(span.start))
        return {"text": span.cut(document.text), **found}
