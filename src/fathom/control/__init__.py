"""Decisions from numbers: no model call, no text, nothing outside."""
