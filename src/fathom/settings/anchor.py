"""The settings of the strategy `anchor`: anchors, selection and the gate."""

from typing import ClassVar, Literal

from fathom.settings.section import Section, constant

AnchorConfig = Literal["A", "B", "C"]


class AnchorSettings(Section):
    """The settings and constants of `anchor`, as in the study unless one is marked as ours."""

    PAGE: ClassVar[str] = "docs/strategies/anchor.md"

    # Values that the study does not give are marked as ours.
    config: AnchorConfig = "A"
    """The configuration. A: one round. B: two rounds, with HyDE in the second, and the judge
    always. C: like A, but reranked."""
    anchors: int = constant(6, ge=0)
    """The most anchors of a question."""
    workers: int = constant(4, ge=0)
    """The most anchors that get a search of their own."""
    min_score: float = constant(0.5, ge=0, le=1)
    """The least score of an anchor for a search of its own; weaker ones are searched for only with
    the whole question."""
    required_score: float = constant(0.6, ge=0, le=1)
    """The score from which the evidence must hold a name before the gate stops. Times are always
    required."""
    pool: int = constant(24, ge=1)
    """The length of the rough ranking."""
    fine: int = constant(8, ge=1)
    """The most hits of it that are read."""
    first_k: int = constant(50, ge=1)
    """The hits of the search for the whole question. Ours."""
    hop_k: int = constant(10, ge=1)
    """The hits of the search for an anchor or a bridge."""
    anchor_weight: float = constant(0.5, ge=0)
    """The weight of a hit's score in an anchor's search; it is 1 for the whole question. Ours."""
    bridges: int = constant(8, ge=0)
    """The most names in the first hits that are followed as bridges; 0 is the study's single hop.
    Ours."""
    bridge_hits: int = constant(5, ge=1)
    """The number of first hits in which bridges are looked for. Ours."""
    second_hop_bridges: int = constant(4, ge=0)
    """The most further bridges that are followed from the hits of the first ones. Ours."""
    bridge_weight: float = constant(1.5, ge=0)
    """The weight of a hit's score in the search of the strongest bridge. Ours."""
    hop_decay: float = constant(0.7, ge=0, le=1)
    """The factor on that weight for the bridges of the second hop. Ours."""
    title_mismatch_weight: float = constant(0.2, ge=0, le=1)
    """The factor on the score of a hit whose title is not its anchor or bridge. Ours."""
    title_bonus: float = constant(0.07, ge=0)
    """The bonus on the score of a hit whose title holds an anchor of the question."""
    title_overlap: float = constant(0.3, ge=0, le=1)
    """The bonus needs a text that holds more than this share of the question's words. Ours."""
    per_source: int = constant(2, ge=1)
    """The most hits of one site; of one folder too, while hits of other folders are left."""
    per_document: int = constant(2, ge=1)
    """The most hits of one document."""
    list_slots: int = constant(3, ge=0)
    """The places that are kept free for chunks with a list, if the question asks for a list."""
    diversity: float = constant(0.45, ge=0, le=1)
    """The weight of diversity in MMR; 0 is pure relevance."""
    factoid_diversity: float = constant(0.1, ge=0, le=1)
    """The weight for questions that ask for one fact ("lower for factoid")."""
    list_diversity: float = constant(0.6, ge=0, le=1)
    """The weight for questions that ask for a list ("higher for list")."""
    context_tokens: int = constant(900, ge=50)
    """The tokens of the context."""
    context_tokens_b: int = constant(700, ge=50)
    """The tokens of the context of each round of configuration B."""
    answer_tokens: int = constant(160, ge=16)
    """The tokens of the longest answer; sentences beyond it are dropped."""
    prompt_tokens: int = constant(350, ge=0)
    """The tokens of a language model's prompt beside the chunks; for the gate's arithmetic.
    Ours."""
    gate: bool = constant(True)
    """If true, the gate decides. Otherwise the first draft is the last one; for comparison only."""
    tau_overlap: float = constant(0.42, ge=0, le=1)
    """The least support of a draft; below it the gate searches again."""
    new_hits: float = constant(0.15, ge=0, le=1)
    """The least share of new hits; below it the gate ends the search."""
    coverage_min: float = constant(0.0, ge=0, le=1)
    """The least share of required anchors in the evidence of a draft that is shown; 1 is the
    strictest."""
    tau_missing: float = constant(0.42, ge=0, le=1)
    """The least support and probability of quotes that are shown although an anchor is missing. No
    quote is shown if the evidence has something else in the anchor's place. The value is the
    study's tau, as `benchmarks/wrong_contexts.py` bears out. Ours."""
    tau_none: float = constant(0.65, ge=0, le=1)
    """The least support and probability of quotes that are shown although no required anchor is in
    the evidence. Ours."""
    grey_low: float = constant(0.40, ge=0, le=1)
    """The lower end of the grey zone of support, in which the judge is asked."""
    grey_high: float = constant(0.60, ge=0, le=1)
    """The upper end of the grey zone of support."""
    faith: float = constant(0.65, ge=0, le=1)
    """The least confidence of the judge in sentences."""
    faith_quotes: float = constant(0.2, ge=0, le=1)
    """The least confidence of the judge in quotes. A quote is true to its text; the judge only
    decides whether it answers. Ours."""
    regeneration: int = constant(300, ge=0)
    """The tokens that must be left for round 1b."""
    ceiling: float = constant(1.2, ge=0)
    """A further round runs only within this multiple of the baseline's tokens."""
    like_weight: float = constant(0.9, ge=0, le=1)
    """Another answer with at least this share of the best answer's support is an open conflict.
    Ours."""
    conflict_abstains: bool = constant(False)
    """If true, an open conflict withholds the answer; otherwise the answer is shown with both
    readings."""

    @property
    def context(self) -> int:
        """The tokens of the context of one round."""
        return self.context_tokens_b if self.config == "B" else self.context_tokens

    def get_diversity(self, form: Literal["one", "several", "yes or no"]) -> float:
        """Return the weight of diversity for this form of answer."""
        special = {"one": self.factoid_diversity, "several": self.list_diversity}
        return special.get(form, self.diversity)
