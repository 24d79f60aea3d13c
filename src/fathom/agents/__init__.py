"""The roles of an answer, one per file or folder."""
