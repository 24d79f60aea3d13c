"""Sources of documents: listed, compared with what is kept, fetched and ingested."""
