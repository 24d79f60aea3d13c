"""Integrations of Fathom with other frameworks; each needs a separate extra."""
