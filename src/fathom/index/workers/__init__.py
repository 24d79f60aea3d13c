"""Workers: who reads files and embeds texts, while one process alone writes to the index."""
