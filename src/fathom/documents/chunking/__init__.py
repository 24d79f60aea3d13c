"""Documents become chunks."""
