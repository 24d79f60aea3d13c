"""Settings of the strategy `maf`: a ladder of confidence from vector search to debate and web."""

from typing import Literal, Self

from pydantic import Field, model_validator

from fathom.settings.retrievers import Name
from fathom.settings.section import Section, Share

Phase = Literal["vor", "evr", "debate", "web"]
DebateCause = Literal["conflict", "doubt"]

PHASES: tuple[Phase, ...] = ("vor", "evr", "debate", "web")


class MafSettings(Section):
    """The constants of `maf`, as the paper has them, and those of our local debate."""

    phases: tuple[Phase, ...] = PHASES
    """Which phases there are, in this order. The paper's baselines are without `debate`; without a
    `web.provider` there is no `web` either."""
    confidence: Literal["reader", "top1"] = "reader"
    """What the thresholds apply to. `top1`, the paper: the best hit's score, and in the debate the
    share of agents that give the leading reading. `reader`: the probability of being right, of the
    reader's answer or of the leading reading, less what the next reading takes of that."""
    known_from: Share = 0.5
    """With `top1`: a reader that is less sure of its answer says "unknown", which is not accepted
    however near the hits are. By default what is more likely wrong than right; 0 is the paper."""
    debate_on: DebateCause = "conflict"
    """What a debate is held for. `conflict`: the best documents give different answers, however
    sure the reader is of one. `doubt`, the paper: EVR did not reach its threshold."""
    vor_k: int = Field(default=12, ge=1)
    vor_read: int = Field(default=5, ge=1)
    vor_threshold: Share = 0.75
    evr_k: int = Field(default=24, ge=1)
    evr_read: int = Field(default=5, ge=1)
    """Of EVR's hits; the paper does not say."""
    evr_weight: Share = 0.7
    """Of the cosine; the rest is KeyMatch's."""
    evr_floor: Share = 0.35
    """Hits that score no more are dropped."""
    evr_threshold: Share = 0.60
    foreign_retriever: Name = "hybrid"
    """Instead of `vector`, for a question in a language the embedder was not made for."""
    agents: int = Field(default=4, ge=1)
    """Of the debate: so many of the best documents are spoken for, each by its best chunk."""
    debaters: tuple[str, ...] = ()
    """Who speaks for them, instead of `roles.debater` for all: `local`, `llm` or `provider:model`
    for the first, the second and so on, then the first again. So the strongest stand first, for
    the best documents; `openai:MODEL@http://host:port/v1` is at a server of one's own."""
    rounds: int = Field(default=3, ge=1)
    """Of the debate, at most."""
    feedback: Literal["peers", "aggregate"] = "peers"
    """What the agents are told from the second round on: what the others said, or what was made of
    it (the paper has both)."""
    debate_threshold: Share = 0.65
    web_threshold: Share = 0.55
    """Whatever the web gives is accepted; below this it is marked as uncertain."""
    peer_weight: float = Field(default=2.0, ge=0)
    """Local debate: what a peer's score counts for an answer, beside that of the own chunk."""
    min_score: Share = 0.1
    """Local debate: an agent with no more probability for its answer says "unknown"."""
    ngram_overlap: Share = 0.75
    """Local debate: from this share of equal runs of three words on, two texts speak of the same,
    and different answers contradict each other."""
    min_share: Share = 0.0
    """Local debate: readings with less than this share of the leading one's scores are dropped."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.phases or self.phases != tuple(p for p in PHASES if p in self.phases):
            raise ValueError(f"maf.phases must be some of {', '.join(PHASES)}, in this order")
        return self
