"""Fathom answers questions from your own documents: cited, bounded, honest.

    from fathom import Engine

    with Engine.open("my-index") as engine:
        engine.ingest("reports")
        answer = engine.ask("When does the harbour office open?")

docs/python.md is the guide. Names are imported on first use: `import fathom` loads nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fathom.config import load_settings
    from fathom.engine import Engine
    from fathom.errors import (
        FathomError,
        IndexCorrupt,
        IndexLocked,
        IndexMismatch,
        IndexMissing,
        Interrupted,
        MalformedReply,
        ModelError,
        ModelRefused,
        ModelUnavailable,
        RunError,
        SettingsError,
        UsageError,
    )
    from fathom.runs.events import (
        FinalEvent,
        Listener,
        RunEvent,
        StepEnd,
        StepEvent,
        StepStart,
        StreamEvent,
        TextEvent,
    )
    from fathom.runs.trace import Step, Trace
    from fathom.settings import Settings
    from fathom.types import Answer, Chunk, Citation, Conflict, Document, Filter, Hit, Place
    from fathom.usage import Budget, Usage

__version__ = "0.1.0"
__all__ = [
    "Answer",
    "Budget",
    "Chunk",
    "Citation",
    "Conflict",
    "Document",
    "Engine",
    "FathomError",
    "Filter",
    "FinalEvent",
    "Hit",
    "IndexCorrupt",
    "IndexLocked",
    "IndexMismatch",
    "IndexMissing",
    "Interrupted",
    "Listener",
    "MalformedReply",
    "ModelError",
    "ModelRefused",
    "ModelUnavailable",
    "Place",
    "RunError",
    "RunEvent",
    "Settings",
    "SettingsError",
    "Step",
    "StepEnd",
    "StepEvent",
    "StepStart",
    "StreamEvent",
    "TextEvent",
    "Trace",
    "Usage",
    "UsageError",
    "load_settings",
]
# The imports above are for type checkers only; this map imports the same names on first use.
_MODULES = {
    "runs.events": (
        "FinalEvent",
        "Listener",
        "RunEvent",
        "StepEnd",
        "StepEvent",
        "StepStart",
        "StreamEvent",
        "TextEvent",
    ),
    "config": ("load_settings",),
    "engine": ("Engine",),
    "errors": (
        "FathomError",
        "IndexCorrupt",
        "IndexLocked",
        "IndexMismatch",
        "IndexMissing",
        "Interrupted",
        "MalformedReply",
        "ModelError",
        "ModelRefused",
        "ModelUnavailable",
        "RunError",
        "SettingsError",
        "UsageError",
    ),
    "settings": ("Settings",),
    "runs.trace": (
        "Step",
        "Trace",
    ),
    "types": (
        "Answer",
        "Chunk",
        "Citation",
        "Conflict",
        "Document",
        "Filter",
        "Hit",
        "Place",
    ),
    "usage": (
        "Budget",
        "Usage",
    ),
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a class or a function
    for module, exported in _MODULES.items():
        if name in exported:
            return getattr(import_module(f"fathom.{module}"), name)
    raise AttributeError(f"module 'fathom' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
