"""A search as a run does it: paid, cut at the deadline, recorded with the texts it found.

The hits are recorded whole, so that a run can be replayed after the index has changed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fathom.errors import ModelError
from fathom.index.trace_retention import Held
from fathom.jsonable import Json
from fathom.retrieval.base import Retriever
from fathom.runs.context import RunContext
from fathom.runs.reservation import CostBound
from fathom.runs.trace import Trace
from fathom.types import Chunk, ChunkBlock, Hit, Query, Span
from fathom.usage import Usage

KIND = "search"


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Ranks chunks for a query.

    Attributes:
        retriever: Gives what ranks them; not called in a replay.
        fallback: Ranks them where the local model that the first one needs has a fault.
        identity: All settings that a ranking depends on, beside query and index.
    """

    retriever: Callable[[], Retriever]
    identity: Mapping[str, Json]
    fallback: Callable[[], Retriever] | None = None

    async def __call__(self, query: Query, *, k: int, context: RunContext) -> tuple[Hit, ...]:
        """At most `k` hits, best first, as one step of the run.

        Raises:
            BudgetRefused: If the budget does not allow it, or the deadline came first.
            ModelError: If a local model has a fault and there is no fallback.
        """
        with context.step(
            "search", agent="retriever", inputs={"query": query.text, "k": k}
        ) as here:
            found, usage = await self._ask(query, k, here)
            hits = tuple(_hit(each) for each in found["hits"])
            listed = [[hit.chunk.id, hit.score] for hit in hits]
            here.done(
                outputs={"hits": listed},
                usage=usage,
                verdict="fallback" if found["fault"] else "",
                reason=found["fault"] or f"{len(hits)} hits",
            )
        return hits

    async def _ask(self, query: Query, k: int, context: RunContext) -> tuple[Json, Usage]:
        request = {"query": query, "k": k, **self.identity}

        async def ask() -> Json:
            hits, fault = await context.thread(lambda: self._retrieve(query, k))
            return {"hits": hits, "fault": fault}

        return await context.spend(KIND, request, CostBound(retrievals=1), ask)

    def _retrieve(self, query: Query, k: int) -> tuple[list[Hit], str]:
        """Hits, and why they are not those of the retriever itself; empty where they are."""
        try:
            return self.retriever().retrieve(query, k=k), ""
        except ModelError as error:
            if self.fallback is None:
                raise
            fallback = self.fallback()
            return fallback.retrieve(query, k=k), f"{fallback.name} search instead: {error}"


def texts_of(trace: Trace) -> frozenset[Held]:
    """The texts of documents that stand in a trace."""
    told = (event.value for event in trace.events if event.kind == KIND)
    done = (value["value"] for value in told if isinstance(value, dict) and "value" in value)
    hits = (hit for value in done for hit in value["hits"])
    chunks = (_hit(hit).chunk for hit in hits)
    verified = trace.origin.arguments.get("verified") or {"citations": ()}
    quotes = (
        Held.of(each["document"], each["title"], Span(each["start"], each["end"]), each["quote"])
        for each in verified["citations"]
    )
    found = (Held.of(each.document_id, each.title, each.span, each.text) for each in chunks)
    return frozenset((*found, *quotes))


def _hit(found: Json) -> Hit:
    chunk = dict(found["chunk"])
    chunk["span"] = Span(**chunk["span"])
    chunk["headings"] = tuple(chunk["headings"])
    chunk["blocks"] = tuple(ChunkBlock(*each) for each in chunk.get("blocks", ()))
    return Hit(**{**found, "chunk": Chunk(**chunk)})
