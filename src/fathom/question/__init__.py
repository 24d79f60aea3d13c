"""A question, and everything that is read off it."""
