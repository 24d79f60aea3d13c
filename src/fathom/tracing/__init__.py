"""What a run leaves behind: its trace, how it is written, kept whole, read and run again."""
