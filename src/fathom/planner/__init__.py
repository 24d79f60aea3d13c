"""Planners of executors, and their training.

They choose the executors for a question, from numbers or by a language model.
"""
