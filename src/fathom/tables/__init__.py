"""Typed tables of documents, and answers that are computed over them, every cell cited."""
