"""The parts of an assembly that a worker of an ingestion has, made where the worker is."""

import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import NoReturn

from fathom.assembly import Assembly
from fathom.assembly.models import Models
from fathom.documents.base import ParseLimits
from fathom.documents.chunking.base import Chunker
from fathom.errors import IndexMismatch, UsageError
from fathom.models.base import Embedder
from fathom.models.runtime import cores
from fathom.settings import Settings


@dataclass(frozen=True, slots=True)
class WorkerTools:
    """See `fathom.index.workers.base.Tools`."""

    parse_limits: ParseLimits
    chunker: Chunker
    embedders: Mapping[str, Embedder]


def packed_tools(assembly: Assembly, embedder: Embedder | None, workers: int) -> bytes:
    """What gives a worker its tools, pickled.

    Args:
        assembly: Of who writes to the index; the workers must have the same parts.
        embedder: Used instead of the one that the settings name.
        workers: How many share the cores of this machine; 0 for one on a core of its own.

    Raises:
        UsageError: If that embedder cannot be sent to another process.
    """
    models = assembly.settings.models
    threads = models.threads or (max(1, cores() // workers) if workers else 1)
    own = models.model_copy(update={"threads": threads})
    settings = assembly.settings.model_copy(update={"models": own})
    try:
        return pickle.dumps(partial(worker_tools, settings, embedder, assembly.identity))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise UsageError(
            f"workers need an embedder that can be sent to other processes ({error}); name one "
            "in models.embedder, or use one worker"
        ) from error


def worker_tools(
    settings: Settings, embedder: Embedder | None, identity: Mapping[str, str]
) -> WorkerTools:
    """The tools of a worker.

    Raises:
        IndexMismatch: If what is installed where the worker is would make another index.
    """
    made = Assembly(settings, index=_nobody, models=Models(settings, embedder=embedder))
    differing = [key for key, value in identity.items() if made.identity.get(key) != value]
    if differing:
        raise IndexMismatch(
            f"a worker has another {', '.join(differing)} than who writes to the index; install "
            "the same version of Fathom and its models there"
        )
    return WorkerTools(made.parse_limits, made.chunker, {"": made.embedder, **made.models.further})


def _nobody() -> NoReturn:
    raise RuntimeError("a worker asked the index; it must not")
