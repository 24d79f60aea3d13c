"""The index on a PostgreSQL server with pgvector."""
