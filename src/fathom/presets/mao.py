"""Settings of the strategy `mao`: a planner composes executors into a workflow per question."""

from fathom.presets.section import Section


class MaoSettings(Section):
    """The constants of `mao`, as the paper has them."""
