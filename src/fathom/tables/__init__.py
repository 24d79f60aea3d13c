"""Typed tables.

A table of a document has columns with a kind and a unit, and cells with their place; a question is
computed over it, and every cell that went in is told.
"""
