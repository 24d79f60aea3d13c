"""The surfaces of Fathom: command line, HTTP server and MCP tools."""
