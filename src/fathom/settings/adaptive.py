"""The settings of the strategy `adaptive`: a planner chooses the steps after a first look."""

from typing import ClassVar

from fathom.settings.retrievers import RetrieverName
from fathom.settings.section import Section, Share, constant


class AdaptiveSettings(Section):
    """The settings and constants of `adaptive`; its executors share those of other strategies."""

    PAGE: ClassVar[str] = "docs/strategies/adaptive.md"

    policy: str = "rules"
    """The planner: `rules`, `learned` (the shipped policy), or the file of a trained policy."""
    forced: tuple[str, ...] = constant(())
    """The executors to run, in this order, instead of the planner's choice; for measurements.
    Empty lets the planner choose."""
    executors: int = constant(3, ge=0, le=3)
    """The largest number of executors for one question."""
    retriever: RetrieverName = "hybrid"
    """The retriever of the first look and of every further search."""
    pool: int = constant(24, ge=1, le=1000)
    """The number of hits of a search. The first `ask.chunks` of them are read; the executor
    `deeper` looks at all."""
    min_share: Share = constant(0.2)
    """Executor `debate`: readings with less than this share of the leading reading's score are
    dropped."""
