"""PDF, by the places of its letters."""
