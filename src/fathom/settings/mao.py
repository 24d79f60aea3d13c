"""Settings of the strategy `mao`: a planner composes executors into a workflow per question."""

from pydantic import Field

from fathom.settings.retrievers import Name
from fathom.settings.section import Section


class MaoSettings(Section):
    """The constants of `mao`, as the paper has them (MAO-ARAG, arXiv 2508.01005)."""

    retrieve: int = Field(default=5, ge=1, le=100)
    """So many hits R gives (section 4.1)."""
    questions: int = Field(default=4, ge=2, le=4)
    """At most so many sub-questions QDS and QDP make (section 3.1)."""
    turns: int = Field(default=5, ge=1, le=5)
    """At most so many turns, the first included; sub-questions beyond it are not asked."""
    keep: float = Field(default=0.3, ge=0, le=1)
    """DS keeps a hit whose score is at least this share of the best one's; ours."""
    score_gap: float = Field(default=0.3, ge=0, le=1)
    """The rule planner leaves DS out from this gap between the two best hits on; ours."""
    retriever: Name = "hybrid"
    """What R asks; the paper has one dense retriever (E5)."""
    coverage_threshold: float = Field(default=0.8, ge=0, le=1)
    """R follows anchors and bridges for a question whose best hit holds less than this share of
    its terms; 0 is never, as in the paper."""
    alpha: float = Field(default=0.1, ge=0, le=1)
    """What cost weighs against a right answer (section 3.2); a model that plans is told it."""
    policy: str = Field(default="rules", pattern="^(rules|QDS|QDP|((QR|R|DS),){0,3}AG)$")
    """Who plans where no language model does: rules, or always the same workflow."""
