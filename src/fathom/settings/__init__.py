"""The tree of all settings and constants.

`tree.Settings` is the root, a frozen pydantic model with defaults. Each strategy's table has its
own file.
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
