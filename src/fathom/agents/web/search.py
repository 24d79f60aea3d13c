"""The web search role: makes hits of web pages; it exists only if an engine is configured."""

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
from fathom.question.question import Question
from fathom.runs.context import RunContext
from fathom.runs.reservation import CostBound
from fathom.types import Chunk, Hit, Span

NAME = "web"

LIST_PRICES = MappingProxyType({"searxng": 0.0, "tavily": 0.008, "brave": 0.005})
"""The price of one search in USD, by provider."""

_LONGEST_QUERY = 400
"""The largest number of characters of a query; some engines refuse longer ones."""
_LONGEST_TEXT = 4_000
"""The largest number of characters of a page's text that are kept."""
_LONGEST_URL = 2_000
"""The largest number of characters of a page's address."""
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
_HIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


class WebFailure(RunError):
    """A web search without a usable reply; the message names the engine, never a key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebPage:
    """A page as an engine describes it: unchanged, untrusted text."""

    url: str
    title: str
    text: str


class WebEngine(Protocol):
    """A search engine of the web."""

    async def search(self, query: str, *, k: int) -> Sequence[WebPage]:
        """Return at most about `k` pages, best first; cancelling the call ends its connection.

        Raises:
            WebFailure: If there was no usable reply.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSearch:
    """A role that searches the web; its hits have the source "web".

    The pages are not opened: the evidence is the text that the engine returns. The run records that
    text and quotes are verified against the record, so a replay needs no network.

    Attributes:
        open_engine: The function that opens the engine; a replay does not call it.
        identity: The provider and address; the recorder needs them to recognise the request.
        results: The largest number of hits.
        seconds: The time limit of a search in seconds, connecting and reading included.
        fee_usd: The price of one search in USD; if it is unknown (`None`), a search is refused
            under a money limit.
    """

    open_engine: Callable[[], WebEngine]
    identity: Mapping[str, Json]
    results: int = 5
    seconds: float = 10.0
    fee_usd: float | None = 0.0

    async def __call__(self, question: Question, context: RunContext) -> tuple[Hit, ...]:
        """Return hits from the web, best first, as one step of the run; none if the search failed.

        Raises:
            BudgetRefused: If the budget does not allow the search, or the deadline came first.
        """
        query = " ".join(question.text.split())[:_LONGEST_QUERY]
        with context.step("web", agent="web search", inputs={"query": query}) as step:
            worst = CostBound(retrievals=1, fee_usd=self.fee_usd)
            request = {"query": query, "k": self.results, **self.identity}
            record, usage = await step.spend(NAME, request, worst, lambda: self._ask_engine(query))
            hits = make_hits([WebPage(**page) for page in record["pages"]])[: self.results]
            step.set_outcome(
                outputs={"hits": [hit.chunk.document_id for hit in hits]},
                usage=usage,
                verdict="failed" if record["failed"] else "found" if hits else "nothing",
                reason=record["failed"] or f"{len(hits)} hits",
            )
        return hits

    async def _ask_engine(self, query: str) -> Json:
        """Ask the engine; a failure is recorded like a reply, so that a replay repeats it."""
        try:
            async with asyncio.timeout(self.seconds):
                pages = await self.open_engine().search(query, k=self.results)
        except TimeoutError:
            return {"pages": [], "failed": f"the web search took more than {self.seconds:g} s"}
        except WebFailure as error:
            return {"pages": [], "failed": str(error)}
        return {"pages": [asdict(page) for page in pages], "failed": ""}


def make_hits(pages: Sequence[WebPage]) -> tuple[Hit, ...]:
    """Return hits of the pages with an address and a text; each address only once."""
    chunks: dict[str, Chunk] = {}
    for page in pages:
        text = clean_text(page.text)[:_LONGEST_TEXT]
        # The address becomes the document's id and a link, so it must be a real address.
        if text and _is_address(page.url) and page.url not in chunks:
            chunks[page.url] = _make_chunk(page, text)
    return tuple(
        Hit(chunk=chunk, score=1 / rank, rank=rank, retriever=NAME)
        for rank, chunk in enumerate(chunks.values(), start=1)
    )


def clean_text(text: str) -> str:
    """Return a text without markup and invisible characters, in one line."""
    # Tags are removed before entities are decoded, so that "&lt;b&gt;" stays text.
    return " ".join(_HIDDEN.sub(" ", html.unescape(_TAG.sub(" ", text))).split())


def _make_chunk(page: WebPage, text: str) -> Chunk:
    """Return the text of a page as a chunk of its own document."""
    document = f"{NAME}:{page.url}"
    return Chunk(
        id=f"{document}#0",
        document_id=document,
        text=text,
        span=Span(0, len(text)),
        ordinal=0,
        title=clean_text(page.title)[:200] or page.url,
        source="web",
    )


def _is_address(url: str) -> bool:
    """Return whether a text is a printable HTTP address of acceptable length."""
    if len(url) > _LONGEST_URL or not url.isprintable() or " " in url:
        return False
    try:
        parts = urlsplit(url)
    # `urlsplit` refuses a malformed IPv6 address.
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)
