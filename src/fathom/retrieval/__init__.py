"""Ranked hits for a query."""
