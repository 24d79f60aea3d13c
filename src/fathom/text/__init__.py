"""What words mean by themselves: numbers and dates, in every language that is read."""
