"""Where chunks live: one truth, and what is derived from it."""
