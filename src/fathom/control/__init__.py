"""Decisions from numbers: pure functions without model calls, texts, input or output.

docs/control.md describes each law with its reasons.
"""
