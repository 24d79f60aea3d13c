"""The small local models: the embedder and what it runs on."""
