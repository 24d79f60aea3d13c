"""Fathom answers questions from your own documents: cited, bounded, honest."""

__version__ = "0.1.0"
