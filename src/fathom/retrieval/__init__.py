"""A query becomes ranked hits."""
