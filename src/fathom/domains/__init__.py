"""What is known of the subject of the documents; data files, never code."""
