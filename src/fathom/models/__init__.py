"""The small local models: embedders, the cross-reader, and their runtimes and tokenizers."""
