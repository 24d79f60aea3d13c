"""Runs: what one question may spend, what it did, and its replay."""
