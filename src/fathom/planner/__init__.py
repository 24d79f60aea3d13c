"""Planners of executors, and their training.

A planner chooses the executors for a question, from numbers or by a language model. docs/planner.md
describes the policies and their training.
"""
