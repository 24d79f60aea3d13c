"""Words, numbers, dates and names in every language."""
