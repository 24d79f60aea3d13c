"""What `fathom doctor` looks at."""

import os
import platform
import sys
from dataclasses import dataclass

from fathom.engine import Engine
from fathom.errors import FathomError, IndexMissing


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: whether it is well, and one line about it."""

    name: str
    ok: bool
    detail: str


def diagnose(engine: Engine, *, fix: bool) -> list[Finding]:
    """Look at the installation, the model, the index and the environment.

    Args:
        engine: Built from the settings in force.
        fix: Also rebuild what is derived and damaged.
    """
    return [_python(), _model(engine), *_index(engine, fix=fix), *_environment()]


def _python() -> Finding:
    version = platform.python_version()
    return Finding("python", sys.version_info >= (3, 11), f"{version} on {platform.platform()}")


def _model(engine: Engine) -> Finding:
    try:
        vector = engine.embedder.embed(["fathom"])[0]
    except FathomError as error:
        return Finding("embedder", False, str(error))
    identity = " ".join(f"{key}={value}" for key, value in engine.embedder.identity.items())
    return Finding("embedder", len(vector) == engine.embedder.dimension, identity)


def _index(engine: Engine, *, fix: bool) -> list[Finding]:
    try:
        found = engine.verify(fix=fix)
    except IndexMissing as error:
        return [Finding("index", True, str(error))]
    except FathomError as error:
        return [Finding("index", False, str(error))]
    if not found:
        state = engine.status()
        detail = f"{engine.directory}: sound, {state.documents} documents, {state.chunks} chunks"
        return [Finding("index", True, detail)]
    return [Finding("index", False, detail) for detail in found]


def _environment() -> list[Finding]:
    leaks = [name for name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2") if name in os.environ]
    return [
        Finding("environment", False, f"{name} is set: it can send your documents out; unset it")
        for name in leaks
    ]
