"""What really stands in the documents, at the places that an answer wants to quote."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import inf
from typing import NamedTuple

from fathom.documents.base import CELLS
from fathom.documents.blocks import block_at, head_of
from fathom.jsonable import Json
from fathom.runs.context import RunContext
from fathom.types import BlockKind, Document, Span

_LABEL = 12  # characters; what is longer before a quote is a sentence


class QuotePlace(NamedTuple):
    """A place of a document.

    Attributes:
        document: Its id.
        span: Where in its text.
        heading: Instead of what stands there, the last heading with this text that begins before
            the span does, or where it does.
    """

    document: str
    span: Span
    heading: str = ""

    @property
    def request(self) -> list[str | int]:
        """As traces keep it."""
        own: list[str | int] = [self.document, self.span.start, self.span.end]
        return [*own, self.heading] if self.heading else own


@dataclass(frozen=True, slots=True, kw_only=True)
class Quoted:
    """What stands at a place; see `Citation` for the fields.

    Those with defaults are missing in older traces and of the web.

    Attributes:
        kind: Of the block that it stands in.
        label: Printed before it, where it is an item of a list.
        head: The row that names the columns, where it is a row of a table.
        start: Where a heading was found; of other quotes it is known.
    """

    text: str
    title: str
    path: str = ""
    section: str = ""
    page: int | None = None
    line: int | None = None
    recognised: float | None = None
    kind: BlockKind = "paragraph"
    label: str = ""
    head: str = ""
    start: int | None = None


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
        request = [place.request for place in places]

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
        document = self.lookup(place.document)
        span = place.span if document is None else _span(document, place)
        if document is None or span is None:
            return None
        found = asdict(document.place_at(span.start))
        moved = {"start": span.start} if place.heading else {}
        return {"text": span.cut(document.text), **found, **_shape(document, span), **moved}


def _span(document: Document, place: QuotePlace) -> Span | None:
    """Where it stands; `None` of a heading that is not there."""
    if not place.heading:
        return place.span
    above = [
        block.span
        for block in document.blocks
        if block.kind == "heading"
        and block.span.start <= place.span.start
        and block.span.cut(document.text) == place.heading
    ]
    return above[-1] if above else None


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
