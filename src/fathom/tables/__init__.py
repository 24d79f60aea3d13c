"""Typed tables.

The columns of a table get a kind and a unit, and its cells numbers, dates and durations. Questions
are answered by computations over tables, and each result lists the cells that went into it.
"""
