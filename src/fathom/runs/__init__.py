"""The budget, the record and the replay of one question."""
