"""Chunking: documents are cut into chunks."""
