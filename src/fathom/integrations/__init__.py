"""Fathom as a part of other frameworks; each needs an extra of its own."""
