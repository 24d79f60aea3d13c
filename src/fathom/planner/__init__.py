"""Learning which executors to run on a question: from numbers, no model call, no text."""
