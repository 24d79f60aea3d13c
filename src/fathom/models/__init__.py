"""Small local models.

Embedders and the cross-reader, with their runtimes and tokenizers.
"""
