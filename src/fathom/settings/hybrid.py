"""The settings of the strategy `hybrid`: two branches, weighted by complexity."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, ClassVar, Literal, Self

from pydantic import StringConstraints, model_validator

from fathom.settings.retrievers import RetrieverName
from fathom.settings.section import Section, Share, constant

Weighting = Literal["complexity", "50/50", "30/70", "70/30", "bm25", "dense"]

WeightsFile = Annotated[str, StringConstraints(pattern=r"\.json$")]
"""The path of weights that `fathom train weights` wrote."""

FIXED_WEIGHTS: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "50/50": (0.5, 0.5),
        "30/70": (0.3, 0.7),
        "70/30": (0.7, 0.3),
        "bm25": (1.0, 0.0),
        "dense": (0.0, 1.0),
    }
)
"""The weights (keyword, semantic) that do not depend on the question: the paper's baselines and its
Table 4. A branch without weight is not searched."""


class HybridSettings(Section):
    """The settings and constants of `hybrid`, as in the paper; weights are (keyword, semantic)."""

    PAGE: ClassVar[str] = "docs/strategies/hybrid.md"

    weights: Weighting | WeightsFile = "complexity"
    """The weights of the branches: by the complexity of the question (section 3.4), fixed, or
    learned. Learned weights are a file in `.json` that `fathom train weights` wrote."""
    simple: tuple[Share, Share] = constant((0.6, 0.4))
    """The weights for a simple question; our reading of the paper."""
    moderate: tuple[Share, Share] = constant((0.4, 0.6))
    """The weights for a moderate question; our reading of the paper."""
    complex: tuple[Share, Share] = constant((0.3, 0.7))
    """The weights for a complex question; the paper's one constant (section 3.1.3)."""
    joined: tuple[Share, Share] = constant((0.3, 0.7))
    """The weights for a complex question that joins several instructions or questions. Section 3.5
    of the paper asks for balanced weights; in its Table 4 these are the best."""
    prior: tuple[Share, Share] = constant((0.3, 0.7))
    """The weights if the analysis of the question fails."""
    foreign: tuple[Share, Share] | tuple[()] = constant((0.9, 0.1))
    """The weights for a question in a language that the embedder was not made for, of any
    complexity; empty for the weights by complexity."""
    agents: tuple[RetrieverName, ...] = ()
    """The retrieval agents besides the two of the paper, by the names of their retrievers, also
    those of packages. Their hits are not filtered."""
    agent_weights: tuple[Share, ...] = ()
    """One weight for each further agent; empty for 0.5 each. An agent with weight 0 is a reserve:
    it replaces a branch without hits, with the weight of that branch."""
    candidates: int = constant(50, ge=1)
    """The number of hits of each branch; the paper gives none."""
    filters: bool = constant(True)
    """If true, the hits of the branches are filtered."""
    tfidf_floor: Share = constant(0.1)
    """Keyword hits with less than this share of the best hit's TF-IDF weight are dropped."""
    domain_weight: float = constant(2.0, ge=1)
    """The factor of a term of the domain in that weight."""
    cosine_floor: float = constant(0.2, ge=-1, le=1)
    """Semantic hits with a lower cosine are dropped."""
    density_floor: Share = constant(0.1)
    """Semantic hits with a smaller share of sentences on the topic are dropped."""
    retries: int = constant(1, ge=0, le=5)
    """The largest number of times that the supervisor repeats a branch that failed or kept no
    hits."""
    relax: Share = constant(0.5)
    """The factor on the floors of a filter that kept no hits and on the weight of its branch, for
    each repetition; also the factor, once, on the weight of a branch with low confidence."""
    low_confidence: Share = constant(0.5)
    """The share of the surest branch's confidence below which a branch's is low. The confidence is
    the largest share of the question's words in one of the branch's ten best hits."""
    reorder: bool = constant(True)
    """If true, the fused hits are reordered by comparing them."""
    reorder_top: int = constant(50, ge=1)
    """The number of hits that a language model reorders; the others stay after them. The local
    implementation reads at most `retrieval.rerank_most`."""
    window: int = constant(20, ge=2)
    """The number of these hits that a language model compares at a time."""
    step: int = constant(10, ge=1)
    """The number of hits by which this window moves, from the last hits to the first."""
    k: int = constant(10, ge=1)
    """The number of hits that are read."""
    positions: Literal["rank", "ends"] = constant("rank")
    """The order of these hits: best first, or the best ones at both ends of a long context."""
    read: bool = constant(True)
    """If true, the hits are read. The paper's own system ends with its ranking (step 8): without
    reading there is no answer, and the trace has the `k` best hits."""

    @model_validator(mode="after")
    def _check_agents(self) -> Self:
        """Check the weights of the branches and the further agents."""
        for name in ("simple", "moderate", "complex", "joined", "prior", "foreign"):
            pair = getattr(self, name)
            if pair and not any(pair):
                raise ValueError(f"hybrid.{name} must give at least one branch a weight above 0")
        # The paper's two branches always run, so a further one of the same kind would count twice.
        if len({*self.agents, "keyword", "vector"}) < len(self.agents) + 2:
            raise ValueError(
                "hybrid.agents names an agent twice, or keyword or vector, which run anyway"
            )
        if self.agent_weights and len(self.agent_weights) != len(self.agents):
            raise ValueError("hybrid.agent_weights must have one number for each of hybrid.agents")
        return self

    @property
    def fixed_weights(self) -> tuple[float, float]:
        """The fixed weights of the paper's two branches; 1 each if the weights are not fixed."""
        return FIXED_WEIGHTS.get(self.weights, (1.0, 1.0))

    @property
    def weighted_agents(self) -> tuple[tuple[str, float], ...]:
        """The further agents with their weights."""
        weights = self.agent_weights or (0.5,) * len(self.agents)
        return tuple(zip(self.agents, weights, strict=True))
