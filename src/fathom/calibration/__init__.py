"""The probability that an answer is right, and the certificate of an error rate."""
