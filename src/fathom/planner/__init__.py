"""Planners: the choice of executors for a question, from numbers or by a language model."""
