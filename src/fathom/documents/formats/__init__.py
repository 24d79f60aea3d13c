"""One module per format with `parse(data) -> ParsedDocument`; a large format has a folder."""
