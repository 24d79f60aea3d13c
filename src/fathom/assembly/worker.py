"""The parts of an assembly for the workers of an ingestion, built in the worker's process."""

import pickle
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn

from fathom.assembly import Assembly
from fathom.assembly.models import Models
from fathom.documents.base import ParseLimits
from fathom.documents.chunking.base import Chunker
from fathom.errors import IndexMismatch, UsageError
from fathom.ingest.cut_apart import IsolatedChunker
from fathom.ingest.workers.local import LocalWorkers
from fathom.models.base import Embedder
from fathom.models.runtime import count_cores
from fathom.settings import Settings

_UNPACKABLE = (pickle.PicklingError, AttributeError, TypeError)


@dataclass(frozen=True, slots=True)
class IngestTools:
    """The parts that a worker uses.

    Attributes:
        parse_limits: The limits on parsing one file.
        chunker: The chunker of documents.
        embedders: The embedders by vector space, with an empty name for the main one; empty if the
            worker makes no vectors.
    """

    parse_limits: ParseLimits
    chunker: Chunker
    embedders: Mapping[str, Embedder]


def pack_worker_tools(assembly: Assembly, embedder: Embedder | None, workers: int) -> bytes:
    """Return a pickled function that builds the tools of a worker.

    Args:
        assembly: The assembly of the process that writes; the workers must have equal parts.
        embedder: An embedder in place of the one that the settings name, or `None`.
        workers: The number of workers that share the cores of this machine; 0 for workers with one
            core each.

    Raises:
        UsageError: If the given embedder cannot be sent to another process.
    """
    models = assembly.settings.models
    threads = models.threads or (max(1, count_cores() // workers) if workers else 1)
    worker_models = models.model_copy(update={"threads": threads})
    settings = assembly.settings.model_copy(update={"models": worker_models})
    try:
        return pickle.dumps(partial(make_worker_tools, settings, embedder, assembly.identity))
    except _UNPACKABLE as error:
        raise UsageError(
            f"workers need an embedder that can be sent to other processes ({error}); name one "
            "in models.embedder, or use one worker"
        ) from error


@contextmanager
def open_chunker(
    assembly: Assembly, embedder: Embedder | None, paths: Iterable[Path]
) -> Iterator[Chunker]:
    """Yield the chunker of documents, which cuts long documents in a separate process.

    Args:
        assembly: The assembly of the process that writes to the index.
        embedder: An embedder in place of the one that the settings name, or `None`. It counts
            tokens, so if it cannot be sent to another process, all documents are cut in this one,
            even if that takes long.
        paths: The files and folders that are read.
    """
    try:
        tools = pickle.dumps(partial(make_cutter_tools, assembly.settings, embedder))
    except _UNPACKABLE:
        yield assembly.chunker
        return
    with closing(IsolatedChunker(assembly.chunker, partial(LocalWorkers, 1, tools))) as apart:
        apart.prepare_for(paths)
        yield apart


def make_cutter_tools(settings: Settings, embedder: Embedder | None) -> IngestTools:
    """Build the tools of a process that only cuts documents into chunks."""
    models = Models(settings, embedder=embedder)
    assembly = Assembly(settings, index=_refuse_index, models=models)
    return IngestTools(assembly.parse_limits, assembly.chunker, {})


def make_worker_tools(
    settings: Settings, embedder: Embedder | None, identity: Mapping[str, str]
) -> IngestTools:
    """Build the tools of a worker.

    Args:
        settings: The settings.
        embedder: An embedder in place of the one that the settings name, or `None`.
        identity: The identity of the index.

    Raises:
        IndexMismatch: If the models or versions installed on the worker would make another index.
    """
    assembly = Assembly(settings, index=_refuse_index, models=Models(settings, embedder=embedder))
    differing = [key for key, value in identity.items() if assembly.identity.get(key) != value]
    if differing:
        raise IndexMismatch(
            f"a worker has another {', '.join(differing)} than who writes to the index; install "
            "the same version of Fathom and its models there"
        )
    return IngestTools(
        assembly.parse_limits, assembly.chunker, {"": assembly.embedder, **assembly.models.further}
    )


def _refuse_index() -> NoReturn:
    """Raise `RuntimeError`, because a worker must not read the index."""
    raise RuntimeError("a worker asked the index; it must not")
