"""A question and what can be read off it."""
