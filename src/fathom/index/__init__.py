"""The stored chunks: protocol, stores, search and status.

There is one truth, the database; the other files of an index are derived from it.
"""
