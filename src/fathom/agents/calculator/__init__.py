"""The calculator role: answers computed from the tables of the hits."""
