"""The web search role: `search` makes hits of pages, `engines` calls the search engines."""
