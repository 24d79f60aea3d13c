"""Strategies: ways of answering, one graph per file; the only room that knows LangGraph."""

from fathom.strategies.light import import_langgraph

import_langgraph()
