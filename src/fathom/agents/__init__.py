"""One role per file."""
