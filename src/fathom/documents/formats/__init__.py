"""One module per format with `parse(data) -> Parsed`; a large format has a folder."""
