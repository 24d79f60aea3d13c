"""Settings of the strategy `anchor`: anchors, selection and the gate."""

from fathom.presets.section import Section


class AnchorSettings(Section):
    """The constants of `anchor`, as the paper has them."""
