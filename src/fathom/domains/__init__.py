"""Knowledge about the subject of the documents: data files, never code."""
