"""Ways of answering, one LangGraph graph per file.

`run` runs a strategy's graph and replays it; `base` has the protocol. No other room imports
LangGraph.
"""

from fathom.strategies.langgraph_import import import_langgraph

import_langgraph()
