"""One file per format, with `parse(data) -> Parsed`; formats of several files have a folder."""
