"""Outputs of the cross-reader that are kept, so that arms which read the same pairs run it once."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar, cast

from typing_extensions import override

from fathom.assembly.models import Models
from fathom.models.cache import ModelCache
from fathom.models.runtime import Ids, Output, Runtime, load_runtime

T = TypeVar("T")
READER = "cross-reader.onnx"
"""The name of the model's file, in whatever folder it lies."""


class KeepingRuntime:
    """A `Runtime` that runs another one only on inputs which it has not seen before.

    It keeps about 2 kB for each pair of a question and a chunk.
    """

    def __init__(self, runtime: Runtime) -> None:
        """Wrap `runtime`."""
        self.name, self.precision, self.inputs = runtime.name, runtime.precision, runtime.inputs
        self._runtime = runtime
        self._outputs: dict[object, Output] = {}

    def run(self, inputs: Mapping[str, Ids]) -> Output:
        """Return the kept output of equal inputs, or run the model; safe from several threads."""
        key = tuple((name, ids.shape, ids.tobytes()) for name, ids in sorted(inputs.items()))
        output = self._outputs.get(key)
        if output is None:
            output = self._outputs[key] = self._runtime.run(inputs)
            # Later readers get the same array.
            output.setflags(write=False)
        return output


class KeepingCache(ModelCache):
    """A cache of models in which the cross-readers keep their outputs."""

    @override
    def load(self, load: Callable[..., T], file: Path, **options: object) -> T:
        if load is load_runtime and file.name == READER:
            # `T` is the runtime here. The loader is a part of the cache's key, so it must be the
            # same object at each call.
            load = cast("Callable[..., T]", _load_keeping_runtime)
        return super().load(load, file, **options)


@contextmanager
def load_models_through(cache: ModelCache) -> Iterator[None]:
    """Let engines that are made in a `with` block load their models through a cache."""
    former, Models.cache = Models.cache, cache
    try:
        yield
    finally:
        Models.cache = former


def _load_keeping_runtime(file: Path, *, runtime: str, threads: int) -> KeepingRuntime:
    return KeepingRuntime(load_runtime(file, runtime=runtime, threads=threads))
