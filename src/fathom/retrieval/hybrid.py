"""Hybrid retrieval: vector and keyword search, fused."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, wait
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from fathom.index.base import IndexReader, Match, Space, check_k
from fathom.models.base import Embedder
from fathom.question.definition import build_definition_check
from fathom.question.question import Question
from fathom.retrieval.base import rank_hits, to_hits
from fathom.retrieval.fusion import Fusion, ReciprocalRank, WeightedSum
from fathom.settings.tree import RetrievalSettings
from fathom.types import Hit, Query

if TYPE_CHECKING:  # the assembly makes the retriever, and imports every part
    from fathom.assembly import Assembly

FURTHER_WEIGHT = 0.4
"""The weight of a further vector space, unless the settings give one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorSide:
    """The embedder of questions for one vector space; by default the space that every index has."""

    embedder: Embedder
    space: Space | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HybridRetriever:
    """A retriever that fuses the rankings of vector spaces and of keyword search.

    Attributes:
        sides: The vector spaces to search.
        choose_weights: Returns the weights of the keywords and of each space, for the text of a
            query.
        candidates: The number of hits of each ranking, at least; never fewer than `k`.
        vote_depth: A ranking votes for this many of its best, whatever number of hits is asked for.
        executor: Runs the keyword search while a model embeds the question; by default it runs
            before.
        definition_depth: For "What is a quay?", the hits that define the term come first, out of
            this many of the best; 0 turns it off.
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
        """Build the retriever, over the words and all vector spaces or that of one embedder."""
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

        Scores are those of the fusion; `found_by` counts the rankings that agree on a hit.
        """
        check_k(k)
        # Deeper than `k`: a chunk may win by a middling place in every ranking.
        depth = max(k, self.candidates)
        with self._run_concurrently(
            lambda: self.index.keyword_search(query.text, k=depth, filters=query.filters)
        ) as wait_for_words:
            vectors = [side.embedder.embed([query.text])[0] for side in self.sides]
            rankings = [wait_for_words()]
        for side, vector in zip(self.sides, vectors, strict=True):
            matches = self.index.vector_search(
                vector, k=depth, filters=query.filters, space=side.space
            )
            rankings.append(matches)
        fused = self.fusion(rankings, self.choose_weights(query.text))
        votes = Counter(
            match.chunk_id for ranking in rankings for match in ranking[: self.vote_depth]
        )
        # Only questions for a meaning are rearranged; other queries have no term.
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
        """Start a job in another thread; yield the call that waits for it, or that runs it."""
        future = self._submit(job)
        if future is None:
            yield job
            return
        try:
            # A job that still waits for a thread is done faster here.
            yield lambda: job() if future.cancel() else future.result()
        finally:
            # The caller may close the index next, so the job must not go on reading it.
            future.cancel() or wait([future])

    def _submit(self, job: Callable[[], list[Match]]) -> Future[list[Match]] | None:
        try:
            # The context carries the revision of the index that the question sees.
            return self.executor.submit(copy_context().run, job) if self.executor else None
        # The executor was shut down, since the engine is being closed.
        except RuntimeError:
            return None


def choose_vector_weight(space: str, text: str, settings: RetrievalSettings) -> float:
    """Return the weight of the vectors of a space for a query.

    Args:
        space: One of `retrieval.embedders`, or any other name for `models.embedder`.
        text: The query.
        settings: The weights.
    """
    if space in settings.embedders:
        weights = settings.embedder_weights or [FURTHER_WEIGHT] * len(settings.embedders)
        return weights[settings.embedders.index(space)]
    # The embedder was made for English; in other languages its vectors are little more than noise.
    is_indonesian = Question(text).language == "id"
    return settings.foreign_vector_weight if is_indonesian else settings.vector_weight


def put_definitions_first(hits: Sequence[Hit], term: str) -> list[Hit]:
    """Return the hits with those first that define `term`; these gain the score of the best one.

    Neither vectors nor keywords see a definition: many chunks that mention a term rank above the
    one that defines it.
    """
    defines = build_definition_check(term)
    defining = [hit for hit in hits if defines(hit.chunk.text)]
    others = [hit for hit in hits if hit not in defining]
    best = hits[0].score if hits else 0.0
    raised = [replace(hit, score=hit.score + best) for hit in defining]
    return list(rank_hits([*raised, *others]))
