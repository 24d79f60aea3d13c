"""Decisions from numbers.

They are pure functions without model calls, texts, input or output. docs/control.md describes them.
"""
