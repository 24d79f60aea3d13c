"""Files are read in a process of their own, under limits."""
