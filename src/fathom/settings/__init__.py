"""The settings: one frozen tree with its defaults, a file for each strategy's own section."""

from fathom.settings.tree import MOST_HITS, IndexSettings, Settings

__all__ = ["MOST_HITS", "IndexSettings", "Settings"]
