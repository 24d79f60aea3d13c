"""What really stands in the documents, at the places that an answer wants to quote."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import inf

from fathom.context import RunContext
from fathom.documents.base import CELLS
from fathom.documents.blocks import block_at, head_of
from fathom.jsonable import Json
from fathom.types import BlockKind, Document, Span

_LABEL = 12  # characters; what is longer before a quote is a sentence

QuotePlace = tuple[str, Span]
"""A document's id, and where in its text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quoted:
    """What stands at a place; see `Citation` for the fields.

    Those with defaults are missing in older traces and of the web.

    Attributes:
        kind: Of the block that it stands in.
        label: Printed before it, where it is an item of a list.
        head: The row that names the columns, where it is a row of a table.
    """

    text: str
    title: str
    path: str = ""
    section: str = ""
    page: int | None = None
    line: int | None = None
    kind: BlockKind = "paragraph"
    label: str = ""
    head: str = ""


@dataclass(frozen=True, slots=True)
class Quotes:
    """Looks places up in the index, in the time that is kept for the last step.

    Attributes:
        lookup: The index's document for an id; not called in a replay.
    """

    lookup: Callable[[str], Document | None]

    async def __call__(
        self, places: Sequence[QuotePlace], context: RunContext
    ) -> tuple[Quoted | None, ...]:
        """What stands at each of the places; `None` where the document is gone or late."""
        request = [[document, span.start, span.end] for document, span in places]

        async def ask() -> Json:
            left = None if context.end == inf else max(0.0, context.end - time.monotonic())
            try:
                async with asyncio.timeout(left):
                    return await context.thread(lambda: [self._at(place) for place in places])
            except TimeoutError:
                return [None] * len(places)

        found = await context.scope.aobserve("quotes", request, ask) if places else []
        return tuple(None if each is None else Quoted(**each) for each in found)

    def _at(self, place: QuotePlace) -> Json:
        name, span = place
        document = self.lookup(name)
        if document is None:
            return None
        found = asdict(document.place_at(span.start))
        return {"text": span.cut(document.text), **found, **_shape(document, span)}


def _shape(document: Document, span: Span) -> Json:
    """What is shown with a quote because of the block that it stands in."""
    block = block_at(document.blocks, span.start)
    if block is None:
        return {}
    found: dict[str, str] = {"kind": block.kind}
    before = document.text[block.span.start : span.start].strip()
    if block.kind == "list_item" and len(before) <= _LABEL:
        found["label"] = before
    head = head_of(document.blocks, span.start)
    if head is not None:
        names = head.span.cut(document.text)
        # Rows of sheets say the names of their columns themselves.
        if not span.cut(document.text).startswith(f"{names.partition(CELLS)[0]}:"):
            found["head"] = names
    return found
