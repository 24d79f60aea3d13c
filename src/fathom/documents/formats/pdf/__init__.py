"""PDF, read by the positions of its letters."""
