"""Documents: from files to text with structure, and from text to chunks."""
