"""The settings: one frozen tree with its defaults, a file for each strategy's own section."""

from fathom.settings.tree import MOST_HITS, AskSettings, IndexSettings, Settings, as_before

__all__ = ["MOST_HITS", "AskSettings", "IndexSettings", "Settings", "as_before"]
