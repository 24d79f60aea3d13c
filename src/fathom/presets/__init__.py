"""The constants of the papers, one file of named settings per strategy."""
