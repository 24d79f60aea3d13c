"""The reader: answers drafted from hits."""
