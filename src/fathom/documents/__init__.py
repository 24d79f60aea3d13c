"""Parsed and chunked files."""
