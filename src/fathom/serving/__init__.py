"""The command line, HTTP and MCP."""
