"""The lookup of the text of documents at the places that an answer quotes."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import inf
from typing import NamedTuple

from fathom.documents.base import CELL_SEPARATOR
from fathom.documents.block_lookup import find_block, find_table_head
from fathom.jsonable import Json
from fathom.runs.context import RunContext
from fathom.types import BlockKind, Document, Span

_LONGEST_LABEL = 12
"""The most characters of the label of a list item; longer text before a quote is a sentence."""


class QuotePlace(NamedTuple):
    """A place in a document.

    Attributes:
        document: The id of the document.
        span: The span in its text.
        heading: The text of a heading; empty for none. With one, the place is that of the last
            heading with this text that begins at or before the start of the span.
    """

    document: str
    span: Span
    heading: str = ""

    @property
    def request(self) -> list[str | int]:
        """The place as traces record it."""
        fields: list[str | int] = [self.document, self.span.start, self.span.end]
        return [*fields, self.heading] if self.heading else fields


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentQuote:
    """The text at a place in a document; fields without a description are as in `Citation`.

    Fields with defaults are missing in older traces and for web pages.

    Attributes:
        text: The text at the place, verbatim.
        kind: The kind of the block around the place.
        label: The label that stands before the text of a list item; empty otherwise.
        head: The row of column names above a row of a table; empty otherwise.
        start: The offset of a heading that was looked up; `None` for other quotes, whose start is
            known.
        date: The day of the document, as in `Citation`.
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
    date: str = ""


@dataclass(frozen=True, slots=True)
class QuoteLookup:
    """The lookup of places in the index, within the time reserved for the last step.

    Attributes:
        find_document: A function that returns the index's document of an id, or `None` if it is
            gone; it is not called in a replay.
    """

    find_document: Callable[[str], Document | None]

    async def __call__(
        self, places: Sequence[QuotePlace], context: RunContext
    ) -> tuple[DocumentQuote | None, ...]:
        """Return the text at each place, as one recorded event of the run.

        Returns:
            One item for each place, in their order: `None` if the document or the heading is gone,
            or if the time was over.
        """
        request = [place.request for place in places]

        async def ask() -> Json:
            seconds = None if context.end == inf else max(0.0, context.end - time.monotonic())
            try:
                async with asyncio.timeout(seconds):
                    return await context.run_in_thread(lambda: self._look_up_all(places))
            except TimeoutError:
                return [None] * len(places)

        records = await context.scope.aobserve("quotes", request, ask) if places else []
        return tuple(None if record is None else DocumentQuote(**record) for record in records)

    def _look_up_all(self, places: Sequence[QuotePlace]) -> list[Json]:
        """Return the record of each place; each document is read once."""
        ids = dict.fromkeys(place.document for place in places)
        documents = {document_id: self.find_document(document_id) for document_id in ids}
        return [_look_up(place, documents[place.document]) for place in places]


def _look_up(place: QuotePlace, document: Document | None) -> Json:
    """Return the record of a place; `None` if its document or heading is gone."""
    span = place.span if document is None else _locate_span(document, place)
    if document is None or span is None:
        return None
    place_fields = asdict(document.place_at(span.start))
    heading_fields = {"start": span.start} if place.heading else {}
    date_fields = {"date": document.date} if document.date else {}
    return {
        "text": span.cut(document.text),
        **place_fields,
        **_describe_block(document, span),
        **heading_fields,
        **date_fields,
    }


def _locate_span(document: Document, place: QuotePlace) -> Span | None:
    """Return the span of a place; `None` if its heading is gone."""
    if not place.heading:
        return place.span
    headings = [
        block.span
        for block in document.blocks
        if block.kind == "heading"
        and block.span.start <= place.span.start
        and block.span.cut(document.text) == place.heading
    ]
    return headings[-1] if headings else None


def _describe_block(document: Document, span: Span) -> Json:
    """Return the fields of a quote that depend on the block around it."""
    block = find_block(document.blocks, span.start)
    if block is None:
        return {}
    fields: dict[str, str] = {"kind": block.kind}
    label = document.text[block.span.start : span.start].strip()
    if block.kind == "list_item" and len(label) <= _LONGEST_LABEL:
        fields["label"] = label
    head = find_table_head(document.blocks, span.start)
    if head is not None:
        columns = head.span.cut(document.text)
        # Rows of spreadsheets already hold the names of their columns.
        if not span.cut(document.text).startswith(f"{columns.partition(CELL_SEPARATOR)[0]}:"):
            fields["head"] = columns
    return fields
