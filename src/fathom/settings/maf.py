"""The settings of the strategy `maf`: phases from vector search to debate and web search."""

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from fathom.settings.retrievers import RetrieverName
from fathom.settings.section import Section, Share, constant

Phase = Literal["vor", "evr", "debate", "web"]
DebateCause = Literal["conflict", "doubt"]

PHASES: tuple[Phase, ...] = ("vor", "evr", "debate", "web")


class MafSettings(Section):
    """The settings and constants of `maf`, as in the paper, and those of our local debate."""

    PAGE: ClassVar[str] = "docs/strategies/maf.md"

    phases: tuple[Phase, ...] = constant(PHASES)
    """The phases, in this order. The paper's baselines run without `debate`. Without a
    `web.provider` the phase `web` does not run."""
    confidence: Literal["reader", "top1"] = constant("reader")
    """The number that the thresholds apply to. `top1`, as in the paper: the best hit's score, and
    in the debate the share of agents that give the leading reading. `reader`: the probability that
    the reader's answer or the leading reading is right, minus the next reading's share of it."""
    known_from: Share = constant(0.5)
    """With `top1`: the confidence below which the reader's answer counts as "unknown" and is not
    accepted, even if the hits are near. The default drops answers that are more probably wrong than
    right; 0 is the paper's."""
    debate_on: DebateCause = constant("conflict", advice='ask.paper = "maf" debates on doubt')
    """The cause of a debate. `conflict`: the best documents give different answers, even if the
    reader is sure of one. `doubt`, as in the paper: EVR did not reach its threshold."""
    vor_k: int = constant(12, ge=1)
    """The number of hits of the phase `vor`."""
    vor_read: int = constant(5, ge=1)
    """The number of these hits that are read."""
    vor_threshold: Share = constant(0.75)
    """The confidence from which the answer of `vor` is accepted."""
    evr_k: int = constant(24, ge=1)
    """The number of hits of the phase `evr`."""
    evr_read: int = constant(5, ge=1)
    """The number of these hits that are read; the paper gives none."""
    evr_weight: Share = constant(0.7)
    """The weight of the cosine in the score of `evr`; the rest is KeyMatch's."""
    evr_floor: Share = constant(0.35)
    """Hits of `evr` with at most this score are dropped."""
    evr_threshold: Share = constant(0.60)
    """The confidence from which the answer of `evr` is accepted."""
    foreign_retriever: RetrieverName = constant("hybrid")
    """The retriever in place of `vector` for a question in a language that the embedder was not
    made for."""
    agents: int = Field(default=4, ge=1)
    """The largest number of agents in the debate. Each argues for one of the best documents, with
    its best chunk."""
    debaters: tuple[str, ...] = ()
    """The implementations of the agents, in place of `roles.debater` for all: `local`, `llm` or
    `provider:model` for the first agent, the second and so on, then again from the first. Put the
    strongest first, for the best documents; `openai:MODEL@http://host:port/v1` is a model on your
    own server."""
    rounds: int = Field(default=3, ge=1)
    """The largest number of rounds of the debate."""
    feedback: Literal["peers", "aggregate"] = constant("peers")
    """The text that the agents read from the second round on: the other agents' answers, or their
    summary (the paper has both)."""
    debate_threshold: Share = constant(0.65)
    """The confidence from which the outcome of the debate is accepted."""
    web_threshold: Share = constant(0.55)
    """The confidence below which an answer from the web is marked as uncertain; it is always
    accepted."""
    peer_weight: float = constant(2.0, ge=0)
    """Local debate: the weight of a peer's score for an answer; that of the agent's own chunk has
    weight 1."""
    min_score: Share = constant(0.1)
    """Local debate: an agent whose answer has at most this probability says "unknown"."""
    ngram_overlap: Share = constant(0.75)
    """Local debate: the share of equal runs of three words from which two texts are about the same
    thing, so that different answers contradict each other."""
    min_share: Share = constant(0.0)
    """Local debate: readings with less than this share of the leading reading's score are
    dropped."""

    @model_validator(mode="after")
    def _check_phases(self) -> Self:
        """Check that the phases are some of `PHASES`, in their order."""
        if not self.phases or self.phases != tuple(p for p in PHASES if p in self.phases):
            raise ValueError(f"maf.phases must be some of {', '.join(PHASES)}, in this order")
        return self
