"""The sandbox: files are read in a separate process, under limits."""
