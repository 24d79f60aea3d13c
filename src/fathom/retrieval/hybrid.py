"""Vector and keyword search fused."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, wait
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, replace

from fathom.index.base import IndexReader, Match, Space, check_k
from fathom.models.base import Embedder
from fathom.question.definition import asked_term, definer
from fathom.retrieval.base import to_hits
from fathom.retrieval.fusion import Fusion
from fathom.types import Hit, Query


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorSide:
    """The embedder of questions for one space of an index, by default the one that all have."""

    embedder: Embedder
    space: Space | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HybridRetriever:
    """Asks the vector spaces and the words of the index and fuses their rankings.

    Attributes:
        sides: The spaces that are asked.
        weights: For a query's text, the weights of the words and of each space.
        candidates: How many hits each leg gives, at least; never fewer than `k`.
        agreeing: A ranking speaks for what is among so many of its best, however many hits are
            asked for.
        beside: The words are asked here while a model embeds the question; by default before.
        defining: "What is a quay?": of so many of the best, those come first that say what it is;
            of none with 0.
    """

    index: IndexReader
    sides: Sequence[VectorSide]
    fusion: Fusion
    weights: Callable[[str], Sequence[float]]
    candidates: int = 100
    agreeing: int = 8
    beside: Executor | None = None
    defining: int = 50
    name: str = "hybrid"

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        """See `Retriever.retrieve`; scores are those of the fusion, `found_by` says who agrees."""
        check_k(k)
        depth = max(k, self.candidates)
        with self._beside(
            lambda: self.index.keyword_search(query.text, k=depth, filters=query.filters)
        ) as words:
            vectors = [side.embedder.embed([query.text])[0] for side in self.sides]
            found = [words()]
        for side, vector in zip(self.sides, vectors, strict=True):
            near = self.index.vector_search(
                vector, k=depth, filters=query.filters, space=side.space
            )
            found.append(near)
        fused = self.fusion(found, self.weights(query.text))
        votes = Counter(match.chunk_id for ranking in found for match in ranking[: self.agreeing])
        term = asked_term(query.text) if self.defining else ""
        hits = to_hits(
            fused[: max(k, self.defining) if term else k],
            self.index,
            self.name,
            votes.__getitem__,
        )
        return definitions_first(hits, term)[:k] if term else hits

    @contextmanager
    def _beside(self, job: Callable[[], list[Match]]) -> Iterator[Callable[[], list[Match]]]:
        """Begin a job in another thread; gives what waits for it, or does it where none has."""
        begun = self._begun(job)
        if begun is None:
            yield job
            return
        try:
            yield lambda: job() if begun.cancel() else begun.result()
        finally:
            begun.cancel() or wait([begun])  # it asks an index that may be closed hereafter

    def _begun(self, job: Callable[[], list[Match]]) -> Future[list[Match]] | None:
        try:
            return self.beside.submit(copy_context().run, job) if self.beside else None
        except RuntimeError:  # the threads have ended: the engine is being closed meanwhile
            return None


def definitions_first(hits: Sequence[Hit], term: str) -> list[Hit]:
    """The hits with those first that say what `term` is; these gain the score of the best one.

    Words and vectors know of no such thing: what mentions a term often ranks above the one place
    that defines it.
    """
    defines = definer(term)
    said = [hit for hit in hits if defines(hit.chunk.text)]
    others = [hit for hit in hits if hit not in said]
    best = hits[0].score if hits else 0.0
    raised = [replace(hit, score=hit.score + best) for hit in said]
    return [replace(hit, rank=rank) for rank, hit in enumerate([*raised, *others], start=1)]
