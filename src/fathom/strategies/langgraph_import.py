"""The import of LangGraph without the client of its server.

`langgraph.runtime` takes one type from `langgraph_sdk`, and importing that package means importing
an HTTP client and websockets: a fifth of a second before every first question, for code that no
graph in this process uses.
"""

import sys
from importlib.util import find_spec
from types import ModuleType

SDK = "langgraph_sdk"


def import_langgraph() -> None:
    """Import LangGraph without its SDK; a later import of the SDK gets all of it."""
    spec = find_spec(SDK)
    is_imported = SDK in sys.modules or "langgraph.runtime" in sys.modules
    if is_imported or spec is None or spec.submodule_search_locations is None:
        return
    # Modules of the SDK can be imported below the bare package, but its `__init__` does not run.
    bare = ModuleType(SDK)
    bare.__path__ = list(spec.submodule_search_locations)
    sys.modules[SDK] = bare
    try:
        import langgraph.runtime  # noqa: F401
    except ImportError:
        # A version that needs more of the SDK imports all of it, later.
        pass
    finally:
        for name in [module for module in list(sys.modules) if module.split(".")[0] == SDK]:
            del sys.modules[name]
