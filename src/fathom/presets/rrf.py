"""Settings of the strategy `rrf`: the rankings of several retrievers, fused by reciprocal rank."""

from fathom.presets.section import Section


class RrfSettings(Section):
    """The constants of `rrf`, as the paper has them."""
