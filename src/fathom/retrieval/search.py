"""Search as a step of a run: it is paid for, cut at the deadline, and recorded.

The hits are recorded with their texts, so that a run can be replayed after the index has changed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fathom.errors import ModelError
from fathom.index.trace_retention import QuotedText
from fathom.jsonable import Json
from fathom.retrieval.base import Retriever
from fathom.runs.context import RunContext
from fathom.runs.reservation import CostBound
from fathom.runs.trace import Trace
from fathom.types import Chunk, ChunkBlock, Hit, Query, Span
from fathom.usage import Usage

KIND = "search"
"""The kind of the events that record searches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A search by one retriever, as a step of a run.

    Attributes:
        open_retriever: A function that returns the retriever; it is not called in a replay.
        identity: All settings that the ranking depends on, besides query and index.
        open_fallback: A function that returns the retriever to use if the local model of the first
            one has a fault; `None` for no fallback.
    """

    open_retriever: Callable[[], Retriever]
    identity: Mapping[str, Json]
    open_fallback: Callable[[], Retriever] | None = None

    async def __call__(self, query: Query, *, k: int, context: RunContext) -> tuple[Hit, ...]:
        """Return at most `k` hits, best first, as one step of the run.

        Raises:
            BudgetRefused: If the budget does not allow the search, or the deadline came first.
            ModelError: If a local model has a fault and there is no fallback.
        """
        with context.step(
            "search", agent="retriever", inputs={"query": query.text, "k": k}
        ) as step:
            record, usage = await self._ask(query, k, step)
            hits = tuple(_load_hit(item) for item in record["hits"])
            hit_scores = [[hit.chunk.id, hit.score] for hit in hits]
            step.set_outcome(
                outputs={"hits": hit_scores},
                usage=usage,
                verdict="fallback" if record["fault"] else "",
                reason=record["fault"] or f"{len(hits)} hits",
            )
        return hits

    async def _ask(self, query: Query, k: int, context: RunContext) -> tuple[Json, Usage]:
        """Return the record of the search, new or replayed, and its usage."""
        request = {"query": query, "k": k, **self.identity}

        async def ask() -> Json:
            hits, fault = await context.run_in_thread(lambda: self._retrieve(query, k))
            return {"hits": hits, "fault": fault}

        return await context.spend(KIND, request, CostBound(retrievals=1), ask)

    def _retrieve(self, query: Query, k: int) -> tuple[list[Hit], str]:
        """Return the hits, and the reason for using the fallback; empty if it was not used."""
        try:
            return self.open_retriever().retrieve(query, k=k), ""
        except ModelError as error:
            if self.open_fallback is None:
                raise
            retriever = self.open_fallback()
            return retriever.retrieve(query, k=k), f"{retriever.name} search instead: {error}"


def collect_texts(trace: Trace) -> frozenset[QuotedText]:
    """Return the texts of documents that a trace holds: hits, and quotes of a verified answer."""
    recorded = (event.value for event in trace.events if event.kind == KIND)
    # A search that was refused or failed is recorded without a value.
    values = (value["value"] for value in recorded if isinstance(value, dict) and "value" in value)
    hits = (hit for value in values for hit in value["hits"])
    chunks = (_load_hit(hit).chunk for hit in hits)
    verified = trace.origin.arguments.get("verified") or {"citations": ()}
    quotes = (
        QuotedText.of(
            cited["document"], cited["title"], Span(cited["start"], cited["end"]), cited["quote"]
        )
        for cited in verified["citations"]
    )
    texts = (
        QuotedText.of(chunk.document_id, chunk.title, chunk.span, chunk.text) for chunk in chunks
    )
    return frozenset((*texts, *quotes))


def _load_hit(record: Json) -> Hit:
    """Build a hit from its record in a trace."""
    chunk = dict(record["chunk"])
    chunk["span"] = Span(**chunk["span"])
    chunk["headings"] = tuple(chunk["headings"])
    # Traces from before chunks had blocks hold none.
    chunk["blocks"] = tuple(ChunkBlock(*block) for block in chunk.get("blocks", ()))
    return Hit(**{**record, "chunk": Chunk(**chunk)})
