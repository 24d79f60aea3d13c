"""Workers that read files and embed texts, while a single process writes to the index."""
