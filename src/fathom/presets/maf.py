"""Settings of the strategy `maf`: a ladder of confidence from vector search to debate and web."""

from fathom.presets.section import Section


class MafSettings(Section):
    """The constants of `maf`, as the paper has them."""
