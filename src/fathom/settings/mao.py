"""The settings of the strategy `mao`: a planner composes executors into a workflow per question."""

from typing import ClassVar

from fathom.settings.retrievers import RetrieverName
from fathom.settings.section import Section, constant


class MaoSettings(Section):
    """The settings and constants of `mao`, as in the paper (MAO-ARAG, arXiv 2508.01005)."""

    PAGE: ClassVar[str] = "docs/strategies/mao.md"

    retrieve: int = constant(5, ge=1, le=100)
    """The number of hits of the executor R (section 4.1)."""
    questions: int = constant(4, ge=2, le=4)
    """The largest number of sub-questions of the executors QDS and QDP (section 3.1)."""
    turns: int = constant(5, ge=1, le=5)
    """The largest number of turns, the first included; further sub-questions are dropped."""
    keep: float = constant(0.3, ge=0, le=1)
    """The executor DS keeps a hit whose score is at least this share of the best hit's; ours."""
    score_gap: float = constant(0.3, ge=0, le=1)
    """The difference of the two best hits' scores from which on the rule planner omits DS; ours."""
    retriever: RetrieverName = constant("hybrid")
    """The retriever of the executor R; the paper has one dense retriever (E5)."""
    coverage_threshold: float = constant(0.8, ge=0, le=1)
    """R follows anchors and bridges if the best hit contains less than this share of the question's
    terms; 0 means never, as in the paper."""
    alpha: float = constant(0.1, ge=0, le=1)
    """The weight of cost against a right answer (section 3.2); it is in the prompt of a model that
    plans."""
    policy: str = "rules"
    """The planner if no language model plans: `rules`, one workflow for all questions (`R,DS,AG`),
    `learned` (the shipped policy), or the file of a trained policy."""
