"""Decisions from numbers: no model call, no text, no input or output."""
