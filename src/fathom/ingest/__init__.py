"""Files become an index: survey, batches, workers, progress."""
