"""Decisions from numbers.

No model call, no text, no input or output.
"""
