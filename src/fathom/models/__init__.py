"""Small local models.

The room holds embedders and the cross-reader, with their runtimes and tokenizers.
"""
