"""Hybrid retrieval: the fused rankings of vector search and keyword search."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, wait
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from fathom.index.base import IndexReader, Match, check_k
from fathom.question.definition import build_definition_check
from fathom.question.question import Question
from fathom.retrieval.base import rank_hits, to_hits
from fathom.retrieval.fusion import Fusion, ReciprocalRank, WeightedSum
from fathom.retrieval.vector_side import VectorSide
from fathom.settings.tree import RetrievalSettings
from fathom.types import Hit, Query

if TYPE_CHECKING:  # the assembly makes the retriever, and imports every part
    from fathom.assembly import Assembly

FURTHER_WEIGHT = 0.4
"""The weight of a further vector space, unless the settings give one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HybridRetriever:
    """A retriever that fuses the rankings of vector spaces and of keyword search.

    Attributes:
        index: The index.
        sides: The vector spaces to search.
        fusion: The fusion of the rankings.
        choose_weights: A function that takes the text of a query and returns the weight of the
            keyword search, then that of each vector space.
        candidates: The least number of hits of each ranking; there are never fewer than `k`.
        vote_depth: The number of best hits of each ranking that count for `Hit.found_by`, however
            many hits are asked for.
        executor: The threads in which the keyword search runs while the query is embedded; `None`
            to run it after that, in the caller's thread.
        definition_depth: The number of best hits among which those that define a term are moved to
            the top, for questions like "What is a quay?"; 0 moves none.
        name: The name of the retriever in the hits.
    """

    index: IndexReader
    sides: Sequence[VectorSide]
    fusion: Fusion
    choose_weights: Callable[[str], Sequence[float]]
    candidates: int = 100
    vote_depth: int = 8
    executor: Executor | None = None
    definition_depth: int = 50
    name: str = "hybrid"

    @classmethod
    def of(cls, assembly: "Assembly", index: IndexReader, embedder: str = "") -> Self:
        """Build the retriever from the assembly.

        Args:
            assembly: The assembly.
            index: The index to search.
            embedder: The name of the embedder whose vector space is searched; empty for all spaces.
        """
        settings = assembly.settings.retrieval
        spaces = [embedder] if embedder else ["", *settings.embedders]
        return cls(
            index=index,
            sides=[assembly.side(space) for space in spaces],
            fusion=ReciprocalRank(settings.rrf_k) if settings.fusion == "rrf" else WeightedSum(),
            choose_weights=lambda text: [
                settings.keyword_weight,
                *(choose_vector_weight(space, text, settings) for space in spaces),
            ],
            executor=assembly.models.lookup_pool,
            candidates=settings.candidates,
            definition_depth=settings.definitions,
            name=f"hybrid:{embedder}" if embedder else "hybrid",
        )

    def retrieve(self, query: Query, *, k: int) -> list[Hit]:
        """Return at most `k` hits, best first.

        Scores are those of the fusion; `found_by` counts the rankings that have a hit among their
        `vote_depth` best.
        """
        check_k(k)
        # Rankings are longer than `k`, because a chunk may win by a middling rank in each of them.
        depth = max(k, self.candidates)
        with self._run_concurrently(
            lambda: self.index.keyword_search(query.text, k=depth, filters=query.filters)
        ) as wait_for_words:
            vectors = [side.embedder.embed([query.text])[0] for side in self.sides]
            rankings = [wait_for_words()]
        rankings += [
            side.search(self.index, query, vector, k=depth, by_words=rankings[0])
            for side, vector in zip(self.sides, vectors, strict=True)
        ]
        fused = self.fusion(rankings, self.choose_weights(query.text))
        votes = Counter(
            match.chunk_id for ranking in rankings for match in ranking[: self.vote_depth]
        )
        # Only a question for the meaning of a term has one; hits for other queries stay in order.
        term = Question(query.text).term if self.definition_depth else ""
        hits = to_hits(
            fused[: max(k, self.definition_depth) if term else k],
            self.index,
            self.name,
            votes.__getitem__,
        )
        return put_definitions_first(hits, term)[:k] if term else hits

    @contextmanager
    def _run_concurrently(
        self, job: Callable[[], list[Match]]
    ) -> Iterator[Callable[[], list[Match]]]:
        """Start a job in another thread and yield a function that returns its outcome.

        Without a thread, the function runs the job itself.
        """
        future = self._submit(job)
        if future is None:
            yield job
            return
        try:
            # A job that still waits for a thread is done sooner in this one.
            yield lambda: job() if future.cancel() else future.result()
        finally:
            # The caller may close the index after this, so the job must not read on.
            future.cancel() or wait([future])

    def _submit(self, job: Callable[[], list[Match]]) -> Future[list[Match]] | None:
        """Start a job in another thread; return `None` if there is no thread for it."""
        try:
            # The context variables hold the revision of the index that the question sees.
            return self.executor.submit(copy_context().run, job) if self.executor else None
        # The executor was shut down because the engine is being closed.
        except RuntimeError:
            return None


def choose_vector_weight(space: str, text: str, settings: RetrievalSettings) -> float:
    """Return the weight of the vectors of a space for a query.

    Args:
        space: One of `retrieval.embedders`; any other name means the space of `models.embedder`.
        text: The text of the query.
        settings: The settings with the weights.
    """
    if space in settings.embedders:
        weights = settings.embedder_weights or [FURTHER_WEIGHT] * len(settings.embedders)
        return weights[settings.embedders.index(space)]
    # The shipped embedder was made for English; its vectors of Indonesian text say little.
    is_indonesian = Question(text).language == "id"
    return settings.foreign_vector_weight if is_indonesian else settings.vector_weight


def put_definitions_first(hits: Sequence[Hit], term: str) -> list[Hit]:
    """Return the hits with new ranks, those that define a term first.

    Vectors and keywords cannot tell a definition from a mention, so many chunks that mention a term
    rank above the chunk that defines it. The score of the best hit is added to those of the hits
    that move up, so that scores still fall with the rank.

    Args:
        hits: The hits, best first.
        term: The term.
    """
    defines = build_definition_check(term)
    defining = [hit for hit in hits if defines(hit.chunk.text)]
    others = [hit for hit in hits if hit not in defining]
    best = hits[0].score if hits else 0.0
    raised = [replace(hit, score=hit.score + best) for hit in defining]
    return list(rank_hits([*raised, *others]))
