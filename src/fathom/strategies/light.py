"""LangGraph without the client of its server.

`langgraph.runtime` takes one type from `langgraph_sdk`, and importing that package means an HTTP
client and websockets: a fifth of a second of every first question, for what no graph in this
process uses.
"""

import sys
from importlib.util import find_spec
from types import ModuleType

SDK = "langgraph_sdk"


def import_langgraph() -> None:
    """Import LangGraph so that its SDK stays unimported; whoever wants it later gets it whole."""
    found = find_spec(SDK)
    known = SDK in sys.modules or "langgraph.runtime" in sys.modules
    if known or found is None or found.submodule_search_locations is None:
        return
    bare = ModuleType(SDK)  # its modules are found there, but its `__init__` is not run
    bare.__path__ = list(found.submodule_search_locations)
    sys.modules[SDK] = bare
    try:
        import langgraph.runtime  # noqa: F401
    except ImportError:
        pass  # a version that needs more of it imports all of it, later
    finally:
        for name in [each for each in list(sys.modules) if each.split(".")[0] == SDK]:
            del sys.modules[name]
