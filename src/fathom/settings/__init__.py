"""The settings: one frozen tree with its defaults, and a file for each strategy's section."""

from fathom.settings.tree import MOST_HITS, AskSettings, IndexSettings, Settings, as_before

__all__ = ["MOST_HITS", "AskSettings", "IndexSettings", "Settings", "as_before"]
