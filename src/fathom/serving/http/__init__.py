"""The HTTP interface: the native API, the OpenAI-compatible one, and the page."""
