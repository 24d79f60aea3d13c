"""What `anchor` is made of, from its settings."""

from fathom.agents.form import Form
from fathom.control.gate import Thresholds
from fathom.presets.anchor import AnchorSettings
from fathom.retrieval.hops import Hops
from fathom.retrieval.narrow import Narrow
from fathom.retrieval.search import Search
from fathom.retrieval.select import Selection
from fathom.strategies.cast import Cast
from fathom.strategies.signals import Purse


def hops_of(own: AnchorSettings, search: Search, cast: Cast) -> Hops:
    """Workers for the anchors and bridges."""
    return Hops(
        search=search,
        terms=cast.terms,
        pool=own.look,
        each=own.each,
        from_hits=own.bridge_hits,
        most=own.bridges,
        further=own.further,
        anchor_weight=own.anchor_weight,
        bridge_weight=own.bridge_weight,
        fading=own.fading,
        untitled=own.untitled,
    )


def narrow_of(own: AnchorSettings, cast: Cast) -> Narrow:
    """What makes the fine ranking."""
    return Narrow(
        selection=Selection(
            terms=cast.terms,
            keep=own.fine,
            title_bonus=own.title_bonus,
            title_overlap=own.title_overlap,
            per_source=own.per_source,
            per_document=own.per_document,
            list_slots=own.list_slots,
        ),
        count=cast.embedder.count,
    )


def thresholds_of(own: AnchorSettings, overlap: float | None = None) -> Thresholds:
    """The gate's constants in the configuration that is set; `overlap` instead of its tau."""
    return Thresholds(
        gated=own.gate,
        rounds=2 if own.config == "B" else 1,
        tau_overlap=own.tau_overlap if overlap is None else overlap,
        new_hits=own.new_hits,
        coverage_min=own.coverage_min,
        judge="always" if own.config == "B" else "grey_zone",
        grey_low=own.grey_low,
        grey_high=own.grey_high,
        faith=own.faith,
        regeneration=own.regeneration,
        ceiling=own.ceiling,
        conflict_abstains=own.conflict_abstains,
    )


def purse_of(own: AnchorSettings, cast: Cast, chunks: int) -> Purse:
    """What rounds cost, against a baseline that reads `chunks` hits."""
    return Purse(
        metered=cast.model("reader") is not None,
        count=cast.embedder.count,
        chunks=chunks,
        overhead=own.prompt_tokens + own.answer_tokens,
        ceiling=own.ceiling,
    )


def diversity_of(own: AnchorSettings, form: Form) -> float:
    """How much repetition costs, for this form of answer."""
    special = {"one": own.factoid_diversity, "several": own.list_diversity}
    return special.get(form, own.diversity)
