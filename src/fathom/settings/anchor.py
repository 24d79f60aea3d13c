"""Settings of the strategy `anchor`: anchors, selection and the gate."""

from typing import Literal

from pydantic import Field

from fathom.settings.section import Section

Config = Literal["A", "B", "C"]


class AnchorSettings(Section):
    """The constants of `anchor`, as the study has them where nothing else is said."""

    config: Config = "A"
    """A: one round. B: two rounds, HyDE in the second, the judge always. C: A, reranked."""
    anchors: int = Field(default=6, ge=0)
    """At most so many anchors of a question count."""
    workers: int = Field(default=4, ge=0)
    """So many of them have a search of their own."""
    min_score: float = Field(default=0.5, ge=0, le=1)
    """Weaker anchors are searched for with the whole question only."""
    required_score: float = Field(default=0.6, ge=0, le=1)
    """From this score on the evidence must hold a name before the gate stops; times always."""
    pool: int = Field(default=24, ge=1)
    """The rough ranking."""
    fine: int = Field(default=8, ge=1)
    """What is read of it, at most."""
    first_k: int = Field(default=50, ge=1)
    """Hits of the search for the whole question. Ours."""
    hop_k: int = Field(default=10, ge=1)
    """Hits of every anchor and bridge."""
    anchor_weight: float = Field(default=0.5, ge=0)
    """Of a hit's score in an anchor's search, beside 1 for the whole question. Ours."""
    bridges: int = Field(default=8, ge=0)
    """So many names of the first hits are followed; 0 is the study's single hop. Ours."""
    bridge_hits: int = Field(default=5, ge=1)
    """So many of the first hits are searched for bridges. Ours."""
    second_hop_bridges: int = Field(default=4, ge=0)
    """So many more are followed from what those led to. Ours."""
    bridge_weight: float = Field(default=1.5, ge=0)
    """Of a hit's score in the search of the strongest bridge. Ours."""
    hop_decay: float = Field(default=0.7, ge=0, le=1)
    """What the further bridges count of it. Ours."""
    title_mismatch_weight: float = Field(default=0.2, ge=0, le=1)
    """What is not called like its anchor or bridge counts so much. Ours."""
    title_bonus: float = Field(default=0.07, ge=0)
    title_overlap: float = Field(default=0.3, ge=0, le=1)
    """The bonus needs a text that holds more than this share of the question's words. Ours."""
    per_source: int = Field(default=2, ge=1)
    per_document: int = Field(default=2, ge=1)
    list_slots: int = Field(default=3, ge=0)
    diversity: float = Field(default=0.45, ge=0, le=1)
    """MMR, 0 is pure relevance."""
    factoid_diversity: float = Field(default=0.1, ge=0, le=1)
    """Instead, where one fact is asked for ("lower for factoid")."""
    list_diversity: float = Field(default=0.6, ge=0, le=1)
    """Instead, where a list is asked for ("higher for list")."""
    context_tokens: int = Field(default=900, ge=50)
    context_tokens_b: int = Field(default=700, ge=50)
    """For each round of config B."""
    answer_tokens: int = Field(default=160, ge=16)
    """The longest answer; sentences beyond it are dropped."""
    prompt_tokens: int = Field(default=350, ge=0)
    """What a language model is told beside the chunks; for the gate's arithmetic. Ours."""
    gate: bool = True
    """Whether the gate decides; without it the first draft is the last. For comparison only."""
    tau_overlap: float = Field(default=0.42, ge=0, le=1)
    new_hits: float = Field(default=0.15, ge=0, le=1)
    coverage_min: float = Field(default=0.0, ge=0, le=1)
    """With less of the required anchors in its evidence no draft is shown; 1 is the strictest."""
    tau_missing: float = Field(default=0.42, ge=0, le=1)
    """Least support of quotes that are shown though an anchor is missing; none is where the
    evidence has something else in its place. The study's tau, as `benchmarks/wrong_contexts.py`
    bears out. Ours."""
    grey_low: float = Field(default=0.40, ge=0, le=1)
    grey_high: float = Field(default=0.60, ge=0, le=1)
    faith: float = Field(default=0.65, ge=0, le=1)
    """Least confidence of the judge in sentences."""
    faith_quotes: float = Field(default=0.2, ge=0, le=1)
    """And in quotes, which say what stands there; the question is whether they answer. Ours."""
    regeneration: int = Field(default=300, ge=0)
    """Tokens that must be left for round 1b."""
    ceiling: float = Field(default=1.2, ge=0)
    """A further round runs only within so many times the baseline's tokens."""
    like_weight: float = Field(default=0.9, ge=0, le=1)
    """Another answer with this share of the best one's support is an open conflict. Ours."""
    conflict_abstains: bool = False
    """Whether an open conflict withholds the answer; else it is shown with both readings."""

    @property
    def context(self) -> int:
        """Tokens of the context of one round."""
        return self.context_tokens_b if self.config == "B" else self.context_tokens

    def diversity_for(self, form: Literal["one", "several", "yes or no"]) -> float:
        """How much repetition costs, for this form of answer."""
        special = {"one": self.factoid_diversity, "several": self.list_diversity}
        return special.get(form, self.diversity)
