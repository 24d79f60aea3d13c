"""Settings of the strategy `hybrid`: two branches, weighted by complexity."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, Self

from pydantic import Field, model_validator

from fathom.settings.retrievers import Name
from fathom.settings.section import Section, Share

Weighting = Literal["complexity", "50/50", "30/70", "70/30", "bm25", "dense"]

FIXED: Mapping[Weighting, tuple[float, float]] = MappingProxyType(
    {
        "50/50": (0.5, 0.5),
        "30/70": (0.3, 0.7),
        "70/30": (0.7, 0.3),
        "bm25": (1.0, 0.0),
        "dense": (0.0, 1.0),
    }
)
"""Weights (keyword, semantic) that do not depend on the question: the paper's baselines and its
Table 4. A branch without weight is not asked."""


class HybridSettings(Section):
    """The constants of `hybrid`, as the paper has them; weights are (keyword, semantic)."""

    weights: Weighting = "complexity"
    """Who weighs the branches: the complexity of the question (section 3.4), or nobody."""
    simple: tuple[Share, Share] = (0.6, 0.4)
    moderate: tuple[Share, Share] = (0.4, 0.6)
    complex: tuple[Share, Share] = (0.3, 0.7)
    """The paper's one constant (section 3.1.3); the other two are our reading of it."""
    prior: tuple[Share, Share] = (0.3, 0.7)
    """Where the analyser fails."""
    foreign: tuple[Share, Share] = (0.9, 0.1)
    """For a question in a language that the embedder was not made for, whatever its complexity."""
    agents: tuple[Name, ...] = ()
    """Further retrieval agents beside the two, by the names of their retrievers, also those that
    packages add; what they find is not filtered."""
    agent_weights: tuple[Share, ...] = ()
    """One for each of them; empty for 0.5 each. One with 0 stands by: it is sent out, with the
    weight of the branch that brings nothing, in its place."""
    candidates: int = Field(default=50, ge=1)
    """Hits of each branch; the paper does not say."""
    filters: bool = True
    tfidf_floor: Share = 0.1
    """Keyword hits with less of the best hit's TF-IDF weight are dropped."""
    domain_weight: float = Field(default=2.0, ge=1)
    """How often a word counts in that weight that is a term of the domain."""
    cosine_floor: float = Field(default=0.2, ge=-1, le=1)
    """Semantic hits with a lower cosine are dropped."""
    density_floor: Share = 0.1
    """Semantic hits with a smaller share of sentences on the topic are dropped."""
    retries: int = Field(default=1, ge=0, le=5)
    """How often the supervisor sends a branch out again that failed or kept nothing."""
    relax: Share = 0.5
    """By which the floors of a filter that kept nothing are multiplied for each time, and the
    weight of its branch."""
    reorder: bool = True
    reorder_top: int = Field(default=50, ge=1)
    """So many hits of the comparison a language model puts in order, the rest stay behind them;
    the local implementation reads at most `retrieval.rerank_most`."""
    window: int = Field(default=20, ge=2)
    """Of them a language model sees at once."""
    step: int = Field(default=10, ge=1)
    """By which the window moves, from the last hits to the first."""
    k: int = Field(default=10, ge=1)
    """How many hits are read."""
    positions: Literal["rank", "ends"] = "rank"
    """In which order: best first, or the best at both ends of a long context."""
    read: bool = True
    """Whether they are. The paper's own system ends with its ranking (step 8): without reading
    there is no answer, and the trace holds the `k` best hits."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        for name in ("simple", "moderate", "complex", "prior", "foreign"):
            if not any(getattr(self, name)):
                raise ValueError(f"hybrid.{name} must give one branch a weight above 0")
        if len({*self.agents, "keyword", "vector"}) < len(self.agents) + 2:
            raise ValueError("hybrid.agents names one twice, or keyword or vector, which are there")
        if self.agent_weights and len(self.agent_weights) != len(self.agents):
            raise ValueError("hybrid.agent_weights must have one number for each of hybrid.agents")
        return self

    @property
    def static(self) -> tuple[float, float]:
        """The fixed weights of the paper's two branches; 1 each where the question decides."""
        return (1.0, 1.0) if self.weights == "complexity" else FIXED[self.weights]

    @property
    def agents_weighed(self) -> tuple[tuple[str, float], ...]:
        """The further agents with their weights."""
        weights = self.agent_weights or (0.5,) * len(self.agents)
        return tuple(zip(self.agents, weights, strict=True))
