"""Words of a subject.

They are data files, never code.
"""
