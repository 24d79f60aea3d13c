"""The embedded index: one directory, SQLite as the truth, tantivy and usearch derived from it."""
