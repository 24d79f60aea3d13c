"""The meaning of words by themselves: numbers, dates, names and answers, in every language."""
