"""The web search."""
