"""The settings of the strategy `maf`: a ladder from vector search to debate and web."""

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
    `web.provider` there is no `web` either."""
    confidence: Literal["reader", "top1"] = constant("reader")
    """The number that the thresholds apply to. `top1`, as in the paper: the best hit's score, and
    in the debate the share of agents that give the leading reading. `reader`: the probability that
    the reader's answer or the leading reading is right, less the next reading's share of it."""
    known_from: Share = constant(0.5)
    """With `top1`, a reader less sure than this says "unknown", which is not accepted however near
    the hits are. The default drops whatever is more likely wrong than right; 0 is the paper."""
    debate_on: DebateCause = constant("conflict", advice='ask.paper = "maf" debates on doubt')
    """The cause of a debate. `conflict`: the best documents give different answers, however sure
    the reader is of one. `doubt`, as in the paper: EVR did not reach its threshold."""
    vor_k: int = constant(12, ge=1)
    """The hits of the phase `vor`."""
    vor_read: int = constant(5, ge=1)
    """The number of these hits that are read."""
    vor_threshold: Share = constant(0.75)
    """The confidence from which the answer of `vor` is accepted."""
    evr_k: int = constant(24, ge=1)
    """The hits of the phase `evr`."""
    evr_read: int = constant(5, ge=1)
    """The number of these hits that are read; the paper does not say."""
    evr_weight: Share = constant(0.7)
    """The weight of the cosine in the score of `evr`; the rest is KeyMatch's."""
    evr_floor: Share = constant(0.35)
    """Hits that score no more than this are dropped."""
    evr_threshold: Share = constant(0.60)
    """The confidence from which the answer of `evr` is accepted."""
    foreign_retriever: RetrieverName = constant("hybrid")
    """The retriever in place of `vector`, for a question in a language that the embedder was not
    made for."""
    agents: int = Field(default=4, ge=1)
    """The agents of the debate: each speaks for one of the best documents, by its best chunk."""
    debaters: tuple[str, ...] = ()
    """The implementation of each agent, in place of `roles.debater` for all: `local`, `llm` or
    `provider:model` for the first agent, the second and so on, then the first again. So put the
    strongest first, for the best documents; `openai:MODEL@http://host:port/v1` is a model at a
    server of one's own."""
    rounds: int = Field(default=3, ge=1)
    """The most rounds of the debate."""
    feedback: Literal["peers", "aggregate"] = constant("peers")
    """The text that the agents read from the second round on: the other agents' answers, or their
    summary (the paper has both)."""
    debate_threshold: Share = constant(0.65)
    """The confidence from which the outcome of the debate is accepted."""
    web_threshold: Share = constant(0.55)
    """An answer from the web is always accepted; below this confidence it is marked as
    uncertain."""
    peer_weight: float = constant(2.0, ge=0)
    """Local debate: the weight of a peer's score for an answer, beside 1 for that of the agent's
    own chunk."""
    min_score: Share = constant(0.1)
    """Local debate: an agent with no more probability than this for its answer says "unknown"."""
    ngram_overlap: Share = constant(0.75)
    """Local debate: from this share of equal runs of three words on, two texts speak of the same
    thing, and different answers contradict each other."""
    min_share: Share = constant(0.0)
    """Local debate: readings with less than this share of the leading reading's score are
    dropped."""

    @model_validator(mode="after")
    def _check_phases(self) -> Self:
        if not self.phases or self.phases != tuple(p for p in PHASES if p in self.phases):
            raise ValueError(f"maf.phases must be some of {', '.join(PHASES)}, in this order")
        return self
