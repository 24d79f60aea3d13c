"""Numbers from values: no records, no files, nothing else of Fathom."""
