"""Test tools for authors of extensions.

Use: docs/extending.md.

The doubles load nothing and are the same on every machine: `HashingEmbedder`, `ScriptedChat`,
`ScriptedCrossReader`, and `make_engine` and `run_context`, which use them. A file of tests
subclasses a suite, such as `StrategyConformance`. Suites need pytest, which is imported with the
first of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fathom.testing.conformance import (
        EmbedderConformance,
        FormatConformance,
        JudgeConformance,
        ReaderConformance,
        RetrieverConformance,
        StrategyConformance,
    )
    from fathom.testing.doubles import (
        OVERLAP,
        HashingEmbedder,
        ScriptedChat,
        ScriptedCrossReader,
        completion,
        make_engine,
        reading,
        run_context,
    )
    from fathom.testing.index_conformance import IndexConformance
    from fathom.testing.source_conformance import (
        SidecarChangeConformance,
        SidecarConformance,
        SidecarSecrecyConformance,
        SourceChangeConformance,
        SourceConformance,
    )

__all__ = [
    "OVERLAP",
    "EmbedderConformance",
    "FormatConformance",
    "HashingEmbedder",
    "IndexConformance",
    "JudgeConformance",
    "ReaderConformance",
    "RetrieverConformance",
    "ScriptedChat",
    "ScriptedCrossReader",
    "SidecarChangeConformance",
    "SidecarConformance",
    "SidecarSecrecyConformance",
    "SourceChangeConformance",
    "SourceConformance",
    "StrategyConformance",
    "completion",
    "make_engine",
    "reading",
    "run_context",
]

_MODULES = {
    "IndexConformance": "index_conformance",
    "SidecarChangeConformance": "source_conformance",
    "SidecarConformance": "source_conformance",
    "SidecarSecrecyConformance": "source_conformance",
    "SourceChangeConformance": "source_conformance",
    "SourceConformance": "source_conformance",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - names have different types
    if name not in __all__:
        raise AttributeError(f"module 'fathom.testing' has no attribute {name!r}")
    if not name.endswith("Conformance"):
        return getattr(import_module("fathom.testing.doubles"), name)
    module = _MODULES.get(name, "conformance")
    try:
        import pytest
    except ModuleNotFoundError:
        raise ImportError(f"fathom.testing.{name} needs pytest; run: pip install pytest") from None
    # Otherwise a failing assertion would show no values, because pytest rewrites only test files.
    pytest.register_assert_rewrite(f"fathom.testing.{module}")
    return getattr(import_module(f"fathom.testing.{module}"), name)
