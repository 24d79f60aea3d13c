"""Settings of the strategy `hybrid`: two branches, weighted by complexity."""

from fathom.presets.section import Section


class HybridSettings(Section):
    """The constants of `hybrid`, as the paper has them."""
