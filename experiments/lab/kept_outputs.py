"""Outputs of the cross-reader that are kept: a pair that several arms read is read once.

The arms of a table read mostly the same pairs, and reading takes nine tenths of the time. With its
output kept, a pair costs the next arm nothing, nor the next run on this machine. The time of an
answer is what it took and what kept outputs saved, so that it does not depend on what was kept.
"""

import fcntl
import hashlib
import json
import sqlite3
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TypeVar, cast

import numpy as np
from experiments.lab.provenance import read_processor
from typing_extensions import override

from fathom.assembly.models import Models
from fathom.models.cache import ModelCache
from fathom.models.runtime import Ids, Output, Runtime, hash_file, load_runtime

T = TypeVar("T")
READER = "cross-reader.onnx"
"""The name of the model's file, in whatever folder it lies."""
_WAIT = 60.0
"""Seconds to wait while another process writes into the file of outputs."""
_TABLE = "CREATE TABLE IF NOT EXISTS outputs(pair BLOB PRIMARY KEY, shape TEXT, o BLOB, s REAL)"


class KeptOutputs:
    """Outputs by the hash of the model and its input, in a file that several processes may share.

    An output takes about 2 kB. Outputs of another kind of processor are others, as its products of
    8 bits round differently.

    Attributes:
        saved_seconds: The processor time that the outputs which were found took when they were
            made, as counted in the thread that asked for them.
    """

    def __init__(self, file: Path) -> None:
        """Open the file, which need not exist."""
        self.saved_seconds = 0.0
        file.parent.mkdir(parents=True, exist_ok=True)
        self._lock = Lock()
        self._store = sqlite3.connect(
            file, timeout=_WAIT, isolation_level=None, check_same_thread=False
        )
        # It is read until the last arm ends, and Python 3.13 reports a connection left open.
        self._close = weakref.finalize(self, self._store.close)
        # After a loss of power some outputs are computed again, which is cheaper than to wait for
        # the disk at each of them.
        with file.with_suffix(".lock").open("w") as lock:
            # Two processes cannot set the journal at once; SQLite fails there without waiting.
            fcntl.flock(lock, fcntl.LOCK_EX)
            for statement in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=OFF", _TABLE):
                self._store.execute(statement)

    def find(self, pair: bytes) -> Output | None:
        """Return the output for the hash of an input."""
        with self._lock:
            query = "SELECT shape, o, s FROM outputs WHERE pair = ?"
            row = self._store.execute(query, (pair,)).fetchone()
            if row is None:
                return None
            shape, output, seconds = row
            self.saved_seconds += seconds
        # Arrays over bytes are read-only, so no reader can change what the next one gets.
        return np.frombuffer(output, np.float32).reshape(json.loads(shape))

    def add(self, pair: bytes, output: Output, seconds: float) -> None:
        """Keep an output, and the time that it took."""
        row = (pair, json.dumps(output.shape), output.tobytes(), seconds)
        with self._lock:
            self._store.execute("INSERT OR REPLACE INTO outputs VALUES (?, ?, ?, ?)", row)

    def close(self) -> None:
        """Close the file."""
        self._close()


class KeepingRuntime:
    """A `Runtime` that runs another one only on inputs which have no kept output."""

    def __init__(self, runtime: Runtime, outputs: KeptOutputs, model: str) -> None:
        """Wrap `runtime`; `model` identifies the weights, such as the digest of their file."""
        self.name, self.precision, self.inputs = runtime.name, runtime.precision, runtime.inputs
        self._runtime = runtime
        self._outputs = outputs
        self._identity = f"{model} {runtime.name} {runtime.precision} {read_processor()}".encode()

    def run(self, inputs: Mapping[str, Ids]) -> Output:
        """Return the kept output of equal inputs, or run the model; safe from several threads."""
        pair = hashlib.sha256(self._identity)
        for name, ids in sorted(inputs.items()):
            pair.update(f" {name} {ids.shape} ".encode())
            pair.update(ids.tobytes())
        output = self._outputs.find(pair.digest())
        if output is None:
            # Processor time of this thread, since other work on the machine is not the arm's.
            start = time.thread_time()
            output = self._runtime.run(inputs)
            self._outputs.add(pair.digest(), output, time.thread_time() - start)
        return output


class KeepingCache(ModelCache):
    """A cache of models in which the cross-readers keep their outputs."""

    def __init__(self, outputs: KeptOutputs, models: ModelCache | None = None) -> None:
        """Create a cache over kept outputs.

        Args:
            outputs: The outputs that the cross-readers keep.
            models: Loads and holds all that keeps no outputs; by default a cache of its own.
        """
        super().__init__()
        self._models = models or ModelCache()
        self._loader = partial(_load_keeping_runtime, outputs, self._models)

    @override
    def load(self, load: Callable[..., T], file: Path, **options: object) -> T:
        if load is load_runtime and file.name == READER:
            # `T` is the runtime here. The loader is a part of the cache's key, so it must be the
            # same object at each call.
            return super().load(cast("Callable[..., T]", self._loader), file, **options)
        return self._models.load(load, file, **options)


@contextmanager
def load_models_through(cache: ModelCache) -> Iterator[None]:
    """Let engines that are made in a `with` block load their models through a cache."""
    former, Models.cache = Models.cache, cache
    try:
        yield
    finally:
        Models.cache = former


def _load_keeping_runtime(
    outputs: KeptOutputs, models: ModelCache, file: Path, *, runtime: str, threads: int
) -> KeepingRuntime:
    loaded = models.load(load_runtime, file, runtime=runtime, threads=threads)
    return KeepingRuntime(loaded, outputs, hash_file(file))
