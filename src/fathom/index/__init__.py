"""The stored chunks, and the ingestion of documents.

There is one truth, the database; the other files of an index are derived from it.
"""
