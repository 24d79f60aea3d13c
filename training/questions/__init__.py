"""Training questions over real files, written by a language model and asked of it again."""
