"""Retrieval: from a query to ranked hits."""
