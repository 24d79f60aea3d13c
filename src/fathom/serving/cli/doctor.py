"""What `fathom doctor` looks at."""

import os
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version

from fathom.assembly import WARM
from fathom.documents.ocr.extra import told as recognition
from fathom.engine import Engine
from fathom.errors import FathomError, IndexMissing, ModelError, UsageError
from fathom.extensions import Extension, find, registered
from fathom.llm.local import describe_installation


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at: whether it is well, and one line about it."""

    name: str
    ok: bool
    detail: str


def diagnose(engine: Engine, *, fix: bool) -> list[Check]:
    """Look at the installation, the models, the index, the traces and the environment.

    What `ask` would refuse is found by making all that it makes before it asks.

    Args:
        engine: Built from the settings in force.
        fix: Also rebuild what is derived and damaged.
    """
    return [
        _python(),
        _made("embedder", lambda: _embedder(engine)),
        *_query_encoder(engine),
        *(_further(engine, name) for name in engine.settings.retrieval.embedders),
        _made("cross-reader", lambda: _cross_reader(engine)),
        _made("language model", lambda: _language_models(engine)),
        Check("local language model", True, describe_installation()),
        Check("ray", True, _ray()),
        Check("text recognition", True, recognition()),
        _made("strategy", lambda: _strategy(engine)),
        *_index(engine, fix=fix),
        *_traces(engine),
        *_calibrations(engine),
        *_extensions(),
        *_environment(),
    ]


def _made(name: str, make: Callable[[], str]) -> Check:
    try:
        return Check(name, True, make())
    except FathomError as error:
        return Check(name, False, str(error))


def _python() -> Check:
    own = platform.python_version()
    return Check("python", sys.version_info >= (3, 11), f"{own} on {platform.platform()}")


def _embedder(engine: Engine) -> str:
    vector = engine.embedder.embed(["fathom"])[0]
    if len(vector) != engine.embedder.dimension:
        raise ModelError(
            f"gives {len(vector)} numbers instead of {engine.embedder.dimension}; reinstall it"
        )
    return " ".join(f"{key}={value}" for key, value in engine.embedder.identity.items())


def _query_encoder(engine: Engine) -> list[Check]:
    """What embeds questions, where it is not the embedder."""

    def embedded() -> str:
        asked = engine.assembly.question_embedder
        asked.embed(["fathom"])
        return " ".join(f"{key}={value}" for key, value in asked.identity.items())

    same = engine.settings.models.query_encoder == "same"
    return [] if same else [_made("query encoder", embedded)]


def _ray() -> str:
    try:
        return f"{version('ray')}; `fathom ingest --workers ray` reads and embeds with it"
    except PackageNotFoundError:
        return "not installed; pip install 'fathom-qa[ray]' for ingesting on a cluster"


def _further(engine: Engine, name: str) -> Check:
    def embedded() -> str:
        side = engine.assembly.side(name)
        return f"{len(side.embedder.embed(['fathom'])[0])} numbers a vector"

    return _made(f"embedder {name}", embedded)


def _cross_reader(engine: Engine) -> str:
    engine.assembly.cross_reader.open_session("fathom").read([WARM])
    return engine.settings.models.cross_reader


def _language_models(engine: Engine) -> str:
    engine.assembly.prepare()
    engine.models.language_models.load()
    return engine.settings.llm.model or "none; all is answered locally"


def _strategy(engine: Engine) -> str:
    from fathom.engine.calibration import check_strategy

    check_strategy(engine.settings.ask.strategy)
    return f"{engine.settings.ask.strategy}, domain {engine.assembly.domain.name}"


def _index(engine: Engine, *, fix: bool) -> list[Check]:
    try:
        found = engine.verify(fix=fix)
        if not found:
            engine.reader()  # as `ask` opens it
    except IndexMissing as error:
        return [Check("index", True, str(error))]
    except FathomError as error:
        return [Check("index", False, str(error))]
    if not found:
        state = engine.status()
        detail = f"{engine.index}: sound, {state.documents} documents, {state.chunks} chunks"
        return [Check("index", True, detail)]
    return [Check("index", False, detail) for detail in found]


def _traces(engine: Engine) -> list[Check]:
    try:
        if not engine.traces.exist():
            return []
        found = engine.index.trace_findings()
    except FathomError as error:
        return [Check("traces", False, str(error))]
    if not found:
        return [Check("traces", True, f"{engine.index.trace_place}: sound")]
    return [Check("traces", False, detail) for detail in found]


def _calibrations(engine: Engine) -> list[Check]:
    """Whether each calibration of the index counts with these settings."""

    def counts(name: str) -> str:
        if stale := engine.calibration.current(name).stale:
            raise UsageError(stale)
        if moved := engine.calibration.drift(name):
            raise UsageError(
                f"{name} is asked other things than it was calibrated on ({', '.join(moved)}); "
                "run `fathom calibrate` with such questions"
            )
        return f"{name}: made for these settings"

    try:
        kept = engine.reader(checked=False).calibrations()
    except FathomError:
        return []  # said of the index
    return [_made("calibration", partial(counts, name)) for name in kept]


def _extensions() -> list[Check]:
    """Each that is installed; formats are imported in the sandbox alone."""
    return [_made("extension", partial(_extension, added)) for added in registered()]


def _extension(added: Extension) -> str:
    if added.is_refused:
        raise UsageError(f"{added} is not used: the name is Fathom's own; it has to be another")
    find(added.kind, added.name)
    if added.kind != "format":
        added.load()
    return str(added)


def _environment() -> list[Check]:
    leaks = [name for name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2") if name in os.environ]
    return [
        Check("environment", False, f"{name} is set: it can send your documents out; unset it")
        for name in leaks
    ]
