"""What a run may spend, what it did, and how it is repeated."""
