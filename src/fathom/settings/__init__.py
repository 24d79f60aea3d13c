"""The tree of all settings and constants.

There is one frozen tree with its defaults, and a file for each strategy's section.
"""

from fathom.settings.tree import (
    MOST_HITS,
    AskSettings,
    Caution,
    IndexSettings,
    Settings,
    drop_later_settings,
)

__all__ = [
    "MOST_HITS",
    "AskSettings",
    "Caution",
    "IndexSettings",
    "Settings",
    "drop_later_settings",
]
