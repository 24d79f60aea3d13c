"""Probabilities of right answers, and certified error rates."""
