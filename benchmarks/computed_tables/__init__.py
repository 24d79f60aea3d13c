"""Computed questions over tables of all formats, with the values that plain Python gives."""
