"""The calculator: answers computed over the tables of hits."""
