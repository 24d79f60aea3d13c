"""The checks of `fathom doctor`."""

import os
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version

from fathom.assembly import WARM
from fathom.documents.ocr.availability import describe_extra
from fathom.documents.sandbox.parent import probe_layers
from fathom.engine import Engine
from fathom.errors import FathomError, IndexMissing, ModelError, UsageError
from fathom.extensions import Extension, find_entry, find_extension, iterate_extensions
from fathom.llm.automatic import find_model
from fathom.llm.local import describe_installation


@dataclass(frozen=True, slots=True)
class Check:
    """The outcome of one check.

    Attributes:
        name: The name of the checked part.
        ok: Whether the part works.
        detail: One line about the part, or the error.
    """

    name: str
    ok: bool
    detail: str


def diagnose(engine: Engine, *, fix: bool) -> list[Check]:
    """Check the installation, the models, the index, the traces and the environment.

    The checks build everything that `ask` builds before it asks, so they find its errors.

    Args:
        engine: The engine over the present settings.
        fix: Whether to rebuild damaged data that can be derived from other data.
    """
    return [
        _check_python(),
        _try_check("embedder", lambda: _describe_embedder(engine)),
        *_check_query_encoder(engine),
        *(_check_further_embedder(engine, name) for name in engine.settings.retrieval.embedders),
        _try_check("cross-reader", lambda: _describe_cross_reader(engine)),
        _try_check("language model", lambda: _describe_language_models(engine)),
        Check("local language model", True, describe_installation()),
        _try_check("-m auto", lambda: _describe_automatic_model(engine)),
        Check("ray", True, _describe_ray()),
        Check("text recognition", True, describe_extra()),
        Check("sandbox", True, probe_layers().describe()),
        _try_check("strategy", lambda: _describe_strategy(engine)),
        *_check_index(engine, fix=fix),
        *_check_traces(engine),
        *_check_calibrations(engine),
        *_check_extensions(),
        *_check_environment(),
    ]


def _try_check(name: str, make: Callable[[], str]) -> Check:
    """Return a check with the text that `make` returns, or a failed check with its error."""
    try:
        return Check(name, True, make())
    except FathomError as error:
        return Check(name, False, str(error))


def _check_python() -> Check:
    python_version = platform.python_version()
    return Check(
        "python", sys.version_info >= (3, 11), f"{python_version} on {platform.platform()}"
    )


def _describe_embedder(engine: Engine) -> str:
    vector = engine.embedder.embed(["fathom"])[0]
    if len(vector) != engine.embedder.dimension:
        raise ModelError(
            f"gives {len(vector)} numbers instead of {engine.embedder.dimension}; reinstall it"
        )
    return " ".join(f"{key}={value}" for key, value in engine.embedder.identity.items())


def _check_query_encoder(engine: Engine) -> list[Check]:
    """Return the check of the query encoder; none if the embedder embeds questions too."""

    def embed_sample() -> str:
        encoder = engine.assembly.question_embedder
        encoder.embed(["fathom"])
        return " ".join(f"{key}={value}" for key, value in encoder.identity.items())

    same = engine.settings.models.query_encoder == "same"
    return [] if same else [_try_check("query encoder", embed_sample)]


def _describe_ray() -> str:
    try:
        return f"{version('ray')}; `fathom ingest --workers ray` reads and embeds with it"
    except PackageNotFoundError:
        return "not installed; pip install 'fathom-qa[ray]' for ingesting on a cluster"


def _check_further_embedder(engine: Engine, name: str) -> Check:
    def embed_sample() -> str:
        side = engine.assembly.side(name)
        return f"{len(side.embedder.embed(['fathom'])[0])} numbers a vector"

    return _try_check(f"embedder {name}", embed_sample)


def _describe_cross_reader(engine: Engine) -> str:
    engine.assembly.cross_reader.open_session("fathom").read([WARM])
    return engine.settings.models.cross_reader


def _describe_language_models(engine: Engine) -> str:
    engine.assembly.prepare()
    language_models = engine.models.language_models
    language_models.load()
    speed = language_models.measure_speed()
    pace = (
        f", {speed.prompt:.0f} tokens read and {speed.reply:.0f} written a second" if speed else ""
    )
    return (engine.settings.llm.model or "none; every question is answered locally") + pace


def _describe_automatic_model(engine: Engine) -> str:
    settings = engine.settings
    if not settings.llm.model.startswith("ollama:"):  # its address is that of another server
        llm = settings.llm.model_copy(update={"base_url": None})
        settings = settings.model_copy(update={"llm": llm})
    choice = find_model(settings)
    return f"takes {choice.name}, {choice.reason}" if choice.name else f"none: {choice.reason}"


def _describe_strategy(engine: Engine) -> str:
    find_entry("strategy", engine.settings.ask.strategy)
    return f"{engine.settings.ask.strategy}, domain {engine.assembly.domain.name}"


def _check_index(engine: Engine, *, fix: bool) -> list[Check]:
    try:
        faults = engine.verify(fix=fix)
        if not faults:
            engine.reader()  # `ask` opens the index this way
    except IndexMissing as error:
        # A new installation has no index yet, which is no error.
        return [Check("index", True, str(error))]
    except FathomError as error:
        return [Check("index", False, str(error))]
    if not faults:
        state = engine.status()
        detail = f"{engine.index}: sound, {state.documents} documents, {state.chunks} chunks"
        return [Check("index", True, detail)]
    return [Check("index", False, detail) for detail in faults]


def _check_traces(engine: Engine) -> list[Check]:
    try:
        if not engine.traces.exist():
            return []
        faults = engine.index.verify_traces()
    except FathomError as error:
        return [Check("traces", False, str(error))]
    if not faults:
        return [Check("traces", True, f"{engine.index.trace_place}: sound")]
    return [Check("traces", False, detail) for detail in faults]


def _check_calibrations(engine: Engine) -> list[Check]:
    """Return a check for each calibration of the index, which fails if it needs to be made anew."""

    def check_calibration(name: str) -> str:
        if stale := engine.calibration.get_current(name).stale:
            raise UsageError(stale)
        if moved := engine.calibration.find_drift(name):
            raise UsageError(
                f"the questions to {name} differ from those it was calibrated on "
                f"({', '.join(moved)}); run `fathom calibrate` with such questions"
            )
        return f"{name}: made for these settings"

    try:
        calibrations = engine.reader(checked=False).get_calibrations()
    except FathomError:
        return []  # the check of the index reports that
    return [_try_check("calibration", partial(check_calibration, name)) for name in calibrations]


def _check_extensions() -> list[Check]:
    """Return a check for each installed extension."""
    return [
        _try_check("extension", partial(_describe_extension, extension))
        for extension in iterate_extensions()
    ]


def _describe_extension(extension: Extension) -> str:
    if extension.is_refused:
        raise UsageError(
            f"{extension} is not used: Fathom itself uses the name; rename the extension"
        )
    find_extension(extension.kind, extension.name)
    # A parser is imported in the sandbox only, because it handles untrusted files.
    if extension.kind != "format":
        extension.load()
    return str(extension)


def _check_environment() -> list[Check]:
    # LangGraph sends every run with its texts to LangSmith if one of these variables is set.
    leaks = [name for name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2") if name in os.environ]
    return [
        Check("environment", False, f"{name} is set: it can send your documents out; unset it")
        for name in leaks
    ]
