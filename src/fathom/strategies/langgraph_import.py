"""The import of LangGraph without its server's client, which would slow the first question.

`langgraph.runtime` needs one type of `langgraph_sdk`, but importing that package also imports an
HTTP client and websockets. That takes 0.2 seconds and no graph here uses them.
"""

import sys
from importlib.util import find_spec
from types import ModuleType

SDK = "langgraph_sdk"


def import_langgraph() -> None:
    """Import LangGraph without its SDK; a later import of the SDK loads all of it."""
    spec = find_spec(SDK)
    is_imported = SDK in sys.modules or "langgraph.runtime" in sys.modules
    if is_imported or spec is None or spec.submodule_search_locations is None:
        return
    # Submodules of the SDK can be imported below the bare package; its `__init__` does not run.
    bare = ModuleType(SDK)
    bare.__path__ = list(spec.submodule_search_locations)
    sys.modules[SDK] = bare
    try:
        import langgraph.runtime  # noqa: F401
    except ImportError:
        # A version of LangGraph that needs more of the SDK imports all of it later.
        pass
    finally:
        for name in [module for module in list(sys.modules) if module.split(".")[0] == SDK]:
            del sys.modules[name]
