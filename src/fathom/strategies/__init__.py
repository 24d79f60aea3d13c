"""Ways of answering, one LangGraph graph per file.

This is the only room that knows LangGraph.
"""

from fathom.strategies.langgraph_import import import_langgraph

import_langgraph()
