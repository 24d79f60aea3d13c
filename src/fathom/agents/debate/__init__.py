"""The debate roles: one debater per hit, the aggregator of their positions, and the rounds."""
