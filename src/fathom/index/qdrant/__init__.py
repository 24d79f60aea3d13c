"""The searches of a Qdrant cluster, under an index whose truth is in PostgreSQL."""
