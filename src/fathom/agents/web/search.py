"""The web search: untrusted evidence from outside; there is none unless one is configured."""

import asyncio
import html
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Protocol
from urllib.parse import urlsplit

from fathom.errors import RunError
from fathom.jsonable import Json
from fathom.runs.context import RunContext
from fathom.runs.reservation import CostBound
from fathom.types import Chunk, Hit, Span

NAME = "web"

LIST_PRICES = MappingProxyType({"searxng": 0.0, "tavily": 0.008, "brave": 0.005})
"""USD of one search, by provider."""

_LONGEST_QUERY = 400  # more is refused by some engines
_LONGEST_TEXT = 4_000
_LONGEST_URL = 2_000
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
_HIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


class WebFailed(RunError):
    """A web search that gave nothing usable; the message names the engine and holds no key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebPage:
    """What an engine says of a page, as it said it: nothing in it is to be trusted."""

    url: str
    title: str
    text: str


class WebEngine(Protocol):
    """Asks the web."""

    async def search(self, query: str, *, k: int) -> Sequence[WebPage]:
        """At most about `k` pages, best first; cancelling the call ends its connection.

        Raises:
            WebFailed: If there was no usable reply.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSearch:
    """Turns what an engine says into hits that are marked as coming from the web.

    The pages themselves are not opened: evidence is the text that the engine gives of them. It is
    recorded, and quotes are verified against that record, so that a replay needs no network.

    Attributes:
        engine: Gives what asks; not called in a replay.
        identity: What the result depends on beside the query: who is asked, and where.
        results: At most so many hits.
        seconds: The longest a search may take, from the first byte sent to the last one read.
        fee_usd: What one search costs; `None` is unknown, and refused where money is limited.
    """

    engine: Callable[[], WebEngine]
    identity: Mapping[str, Json]
    results: int = 5
    seconds: float = 10.0
    fee_usd: float | None = 0.0

    async def __call__(self, question: str, context: RunContext) -> tuple[Hit, ...]:
        """Hits from the web, best first, as one step of the run; none if the search failed.

        Raises:
            BudgetRefused: If the budget does not allow it, or the deadline came first.
        """
        query = " ".join(question.split())[:_LONGEST_QUERY]
        with context.step("web", agent="web search", inputs={"query": query}) as here:
            worst = CostBound(retrievals=1, fee_usd=self.fee_usd)
            request = {"query": query, "k": self.results, **self.identity}
            found, usage = await here.spend(NAME, request, worst, lambda: self._ask(query))
            hits = hits_of([WebPage(**page) for page in found["pages"]])[: self.results]
            here.done(
                outputs={"hits": [hit.chunk.document_id for hit in hits]},
                usage=usage,
                verdict="failed" if found["failed"] else "found" if hits else "nothing",
                reason=found["failed"] or f"{len(hits)} hits",
            )
        return hits

    async def _ask(self, query: str) -> Json:
        try:
            async with asyncio.timeout(self.seconds):
                pages = await self.engine().search(query, k=self.results)
        except TimeoutError:
            return {"pages": [], "failed": f"the web search took more than {self.seconds:g} s"}
        except WebFailed as failed:
            return {"pages": [], "failed": str(failed)}
        return {"pages": [asdict(page) for page in pages], "failed": ""}


def hits_of(pages: Sequence[WebPage]) -> tuple[Hit, ...]:
    """Hits of the pages that have an address and a text; each address comes once."""
    chunks: dict[str, Chunk] = {}
    for page in pages:
        text = plain(page.text)[:_LONGEST_TEXT]
        if text and _is_address(page.url) and page.url not in chunks:
            chunks[page.url] = _chunk(page, text)
    return tuple(
        Hit(chunk=chunk, score=1 / rank, rank=rank, retriever=NAME)
        for rank, chunk in enumerate(chunks.values(), start=1)
    )


def plain(text: str) -> str:
    """The text without markup and without characters that cannot be seen, in one line."""
    return " ".join(_HIDDEN.sub(" ", html.unescape(_TAG.sub(" ", text))).split())


def _chunk(page: WebPage, text: str) -> Chunk:
    document = f"{NAME}:{page.url}"
    return Chunk(
        id=f"{document}#0",
        document_id=document,
        text=text,
        span=Span(0, len(text)),
        ordinal=0,
        title=plain(page.title)[:200] or page.url,
        source="web",
    )


def _is_address(url: str) -> bool:
    if len(url) > _LONGEST_URL or not url.isprintable() or " " in url:
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)
