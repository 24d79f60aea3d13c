"""The reader role: drafts an answer with its evidence from the hits."""
