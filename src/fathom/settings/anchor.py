"""The settings of the strategy `anchor`: anchors, selection and the gate."""

from typing import ClassVar, Literal

from fathom.settings.section import Section, constant

AnchorConfig = Literal["A", "B", "C"]


class AnchorSettings(Section):
    """The settings and constants of `anchor`, as in the study unless one is marked as ours."""

    PAGE: ClassVar[str] = "docs/strategies/anchor.md"

    config: AnchorConfig = "A"
    """The configuration. A: one round. B: two rounds, with HyDE in the second, and the judge
    always. C: like A, but reranked."""
    # Values that the study does not give are marked as ours.
    anchors: int = constant(6, ge=0)
    """The largest number of anchors of a question."""
    workers: int = constant(4, ge=0)
    """The largest number of anchors with their own search."""
    min_score: float = constant(0.5, ge=0, le=1)
    """The lowest score of an anchor with its own search; weaker ones are searched for only as part
    of the whole question."""
    required_score: float = constant(0.6, ge=0, le=1)
    """The lowest score of an anchor that the evidence must contain before the gate stops. Times are
    always required."""
    pool: int = constant(24, ge=1)
    """The number of hits of the rough ranking."""
    fine: int = constant(8, ge=1)
    """The largest number of these hits that are read."""
    first_k: int = constant(50, ge=1)
    """The number of hits of the search for the whole question. Ours."""
    hop_k: int = constant(10, ge=1)
    """The number of hits of the search for an anchor or a bridge."""
    anchor_weight: float = constant(0.5, ge=0)
    """The weight of a hit's score in an anchor's search; it is 1 for the whole question. Ours."""
    bridges: int = constant(8, ge=0)
    """The largest number of names in the first hits that are followed as bridges; 0 is the study's
    single hop. Ours."""
    bridge_hits: int = constant(5, ge=1)
    """The number of first hits in which bridges are looked for. Ours."""
    second_hop_bridges: int = constant(4, ge=0)
    """The largest number of further bridges that are followed from the hits of the first. Ours."""
    bridge_weight: float = constant(1.5, ge=0)
    """The weight of a hit's score in the search of the strongest bridge. Ours."""
    hop_decay: float = constant(0.7, ge=0, le=1)
    """The factor on that weight for the bridges of the second hop. Ours."""
    title_mismatch_weight: float = constant(0.2, ge=0, le=1)
    """The factor on the score of a hit whose title is not its anchor or bridge. Ours."""
    title_bonus: float = constant(0.07, ge=0)
    """The addition to the score of a hit whose title contains an anchor of the question."""
    title_overlap: float = constant(0.3, ge=0, le=1)
    """The share of the question's words that a text must exceed for the addition. Ours."""
    per_source: int = constant(2, ge=1)
    """The largest number of hits of one site, and of one folder while other folders have hits."""
    per_document: int = constant(2, ge=1)
    """The largest number of hits of one document."""
    list_slots: int = constant(3, ge=0)
    """The number of hits that are reserved for chunks with a list, if the question asks for a
    list."""
    diversity: float = constant(0.45, ge=0, le=1)
    """The weight of diversity in MMR; 0 is pure relevance."""
    factoid_diversity: float = constant(0.1, ge=0, le=1)
    """The weight of diversity for questions that ask for one fact ("lower for factoid")."""
    list_diversity: float = constant(0.6, ge=0, le=1)
    """The weight of diversity for questions that ask for a list ("higher for list")."""
    context_tokens: int = constant(900, ge=50)
    """The largest number of tokens of the context, in configurations A and C."""
    context_tokens_b: int = constant(700, ge=50)
    """The largest number of tokens of the context of each round in configuration B."""
    answer_tokens: int = constant(160, ge=16)
    """The largest number of tokens of an answer; further sentences are dropped."""
    prompt_tokens: int = constant(350, ge=0)
    """The tokens of a language model's prompt besides the chunks, as the gate counts them. Ours."""
    gate: bool = constant(True)
    """If true, the gate decides. Otherwise the first draft is the answer; for comparison only."""
    tau_overlap: float = constant(0.42, ge=0, le=1)
    """The support of a draft below which the gate searches again."""
    new_hits: float = constant(0.15, ge=0, le=1)
    """The share of new hits below which the gate ends the search."""
    coverage_min: float = constant(0.0, ge=0, le=1)
    """The lowest share of required anchors in the evidence of a draft that is shown; 1 is the
    strictest."""
    tau_missing: float = constant(0.42, ge=0, le=1)
    """The lowest support and probability of quotes that are shown although an anchor is missing. No
    quote is shown if the evidence has something else in the anchor's place. The value is the
    study's tau; `benchmarks/wrong_contexts.py` measures it. Ours."""
    tau_none: float = constant(0.65, ge=0, le=1)
    """The lowest support and probability of quotes that are shown although the evidence has none of
    the required anchors. Ours."""
    grey_low: float = constant(0.40, ge=0, le=1)
    """The lower end of the grey zone of support, in which the judge is asked."""
    grey_high: float = constant(0.60, ge=0, le=1)
    """The upper end of the grey zone of support."""
    faith: float = constant(0.65, ge=0, le=1)
    """The lowest confidence of the judge in written sentences."""
    faith_quotes: float = constant(0.2, ge=0, le=1)
    """The lowest confidence of the judge in quotes. A quote is true to its text, so the judge only
    decides whether it is an answer. Ours."""
    regeneration: int = constant(300, ge=0)
    """The number of tokens that must be left for round 1b."""
    ceiling: float = constant(1.2, ge=0)
    """The multiple of the baseline's tokens that a further round must not exceed."""
    like_weight: float = constant(0.9, ge=0, le=1)
    """The share of the best answer's support from which another answer is an open conflict.
    Ours."""
    conflict_abstains: bool = constant(False)
    """If true, an open conflict withholds the answer; otherwise the answer is shown with both
    readings."""

    @property
    def context(self) -> int:
        """The largest number of tokens of the context of one round."""
        return self.context_tokens_b if self.config == "B" else self.context_tokens

    def get_diversity(self, form: Literal["one", "several", "yes or no"]) -> float:
        """Return the weight of diversity for a form of answer."""
        special = {"one": self.factoid_diversity, "several": self.list_diversity}
        return special.get(form, self.diversity)
