"""The stored chunks, their search, and the protocol of an index.

There is one truth, the database; the other files of an index are derived from it.
"""
