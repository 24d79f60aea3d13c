"""Ways of answering, one graph per file; the only room that knows LangGraph."""
