"""The debate of one agent per document."""
