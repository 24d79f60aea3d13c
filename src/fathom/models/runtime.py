"""Runtimes of ONNX models: ONNX Runtime and OpenVINO."""

import ctypes
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from fathom.errors import ModelError, SettingsError
from fathom.models.cache import ModelCache, load_through

RuntimeName = Literal["onnxruntime", "openvino"]
Ids = NDArray[np.int64]
Output = NDArray[np.float32]
_SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
BATCH_TOKENS = 1024
"""The tokens of a batch; larger batches are no faster and need much more memory."""


class Runtime(Protocol):
    """A model that a library runs.

    Attributes:
        name: The library; a component of an embedder's identity.
        precision: The type of its multiplications, such as `fp32` or `bf16`; another component.
        inputs: The names of the inputs that the model expects.
    """

    name: str
    precision: str
    inputs: frozenset[str]

    def run(self, inputs: Mapping[str, Ids]) -> Output:
        """Return the model's first output for the inputs by name; safe from several threads."""
        ...


@runtime_checkable
class ParallelRuntime(Protocol):
    """A runtime that uses the processor better with several runs at the same time."""

    def split_lanes(self) -> tuple[Runtime, int]:
        """Return a runtime with the same outputs, and the best number of its concurrent runs."""
        ...


def choose_lanes(runtime: Runtime) -> tuple[Runtime, int]:
    """Return a runtime with the same outputs for many runs, and the number of concurrent runs."""
    return runtime.split_lanes() if isinstance(runtime, ParallelRuntime) else (runtime, 1)


def load_runtime(model: Path, *, runtime: str = "onnxruntime", threads: int = 0) -> Runtime:
    """Load the ONNX file `model`.

    Args:
        model: A file that ONNX Runtime or OpenVINO can read.
        runtime: `onnxruntime`, or `openvino` (extra `openvino`; bf16 where the processor has it).
        threads: The number of threads of a run; 0, or too many, for the number of cores of this
            process.

    Raises:
        SettingsError: If there is no such runtime.
        ModelError: If the file cannot be loaded or the runtime is not installed.
    """
    kinds: dict[str, Callable[[Path, int], Runtime]] = {
        "onnxruntime": _OnnxRuntime,
        "openvino": _OpenVino,
    }
    if runtime not in kinds:
        raise SettingsError(
            f"runtime {runtime!r} is unknown: choose from {', '.join(sorted(kinds))}"
        )
    try:
        return kinds[runtime](model, min(threads or count_cores(), count_cores()))
    except ImportError as error:
        raise ModelError(
            f"{runtime} is not installed: pip install 'fathom-qa[{runtime}]'"
        ) from error
    except Exception as error:  # both libraries raise their own errors and plain RuntimeErrors
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise ModelError(
            f"model file {str(model)!r} cannot be loaded: {reason}; reinstall it"
        ) from error


class LazyRuntime:
    """A model that ONNX Runtime loads at its first run, because many processes never run it."""

    name = "onnxruntime"
    precision = "fp32"

    def __init__(
        self,
        model: Path,
        threads: int,
        inputs: frozenset[str],
        *,
        cache: ModelCache | None = None,
    ) -> None:
        """Name the model without loading it.

        Args:
            model: The file, as in `load_runtime`.
            threads: The number of threads of a run, as in `load_runtime`.
            inputs: The names of the inputs that the model expects.
            cache: A cache of loaded models; by default nothing is cached.
        """
        self.inputs = inputs
        self._model, self._threads, self._cache = model, threads, cache
        self._loading = Lock()
        self._loaded: Runtime | None = None

    def run(self, inputs: Mapping[str, Ids]) -> Output:
        """Run the model, and load it first if it is not loaded.

        Raises:
            ModelError: If the file cannot be loaded.
        """
        return self._load().run(inputs)

    def split_lanes(self) -> tuple[Runtime, int]:
        """Load the model, and return a runtime for many runs and the number of concurrent runs."""
        return choose_lanes(self._load())

    def _load(self) -> Runtime:
        """Return the loaded model, which the first call loads."""
        with self._loading:
            if self._loaded is None:
                self._loaded = load_through(
                    self._cache, load_runtime, self._model, threads=self._threads
                )
            return self._loaded


class RowRuntime:
    """A model with products of 8 bits, which gets one row in each run and runs on one thread.

    The values of a run share rounding steps, so in a batch the output of a row would depend on the
    other rows.
    """

    precision = "int8"

    def __init__(self, runtime: Runtime) -> None:
        """Take a runtime of one thread."""
        self._runtime = runtime
        self.name, self.inputs = runtime.name, runtime.inputs

    def run(self, inputs: Mapping[str, Ids]) -> Output:
        """Return the model's first output for all rows, which are run one after the other."""
        number = len(next(iter(inputs.values())))
        rows = (
            {name: value[at : at + 1] for name, value in inputs.items()} for at in range(number)
        )
        return np.concatenate([self._runtime.run(row) for row in rows])

    def split_lanes(self) -> tuple[Runtime, int]:
        """Return this runtime, and one concurrent run for each core of this process."""
        return self, count_cores()


def hash_file(model: Path) -> str:
    """Return the sha256 of a model's file, in hexadecimal; it takes 30 ms for the shipped one.

    Raises:
        ModelError: If the file is missing or cannot be read.
    """
    try:
        with model.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        reason = error.strerror or "unreadable"
        raise ModelError(f"model file {str(model)!r}: {reason}; reinstall it") from error


def count_cores() -> int:
    """Return the number of cores that this process may use.

    A container or `taskset` can allow fewer than the machine has.
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def count_physical_cores() -> int:
    """Return the number of physical cores that this process may use.

    Two logical processors of one core share its arithmetic units, so matrix products gain nothing
    from a second thread there.
    """
    if not hasattr(os, "sched_getaffinity"):
        return count_cores()
    files = [_SIBLINGS.format(number) for number in os.sched_getaffinity(0)]
    try:
        return len({Path(file).read_text(encoding="ascii") for file in files})
    except OSError:  # the system does not say which processors belong together
        return count_cores()


class _OnnxRuntime:
    """A model that ONNX Runtime has loaded."""

    name = "onnxruntime"
    precision = "fp32"

    def __init__(self, model: Path, threads: int) -> None:
        import onnxruntime

        self._model, self._threads = model, threads
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        # Spinning saves half a millisecond for a query, but occupies cores that others need.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        # A processor without VNNI would add pairs of products of bytes in 16 bits, which overflow.
        options.add_session_config_entry("session.x64quantprecision", "1")
        self._session: Any = onnxruntime.InferenceSession(
            model, options, providers=["CPUExecutionProvider"]
        )
        _trim_memory()
        self.inputs = frozenset(item.name for item in self._session.get_inputs())
        self._output = self._session.get_outputs()[0].name

    def run(self, inputs: Mapping[str, Ids]) -> Output:
        output: Output = self._session.run([self._output], inputs)[0]
        return output

    def split_lanes(self) -> tuple[Runtime, int]:
        """Return a runtime of one thread, and as many concurrent runs as this one has threads."""
        # Two threads of one run wait for each other after every layer; two runs do not.
        if self._threads == 1:
            return self, 1
        return _OnnxRuntime(self._model, 1), self._threads


def _trim_memory() -> None:
    """Give the memory that loading has freed back to the system, 22 MB for the shipped model.

    Otherwise the process would keep it, because its free pieces lie between objects in use.
    """
    with suppress(AttributeError, OSError):  # only glibc has this call
        ctypes.CDLL(None).malloc_trim(0)


class _OpenVino:
    """A model that OpenVINO has compiled for the processor."""

    name = "openvino"

    def __init__(self, model: Path, threads: int) -> None:
        import openvino

        core = openvino.Core()
        options = {
            "INFERENCE_NUM_THREADS": threads,
            "PERFORMANCE_HINT": "LATENCY",
            # With pinning, two processes of one thread each would share the first core.
            "ENABLE_CPU_PINNING": False,
        }
        self._model: Any = core.compile_model(core.read_model(model), "CPU", options)
        kind = self._model.get_property("INFERENCE_PRECISION_HINT").get_type_name()
        self.precision = {"f32": "fp32", "f16": "fp16"}.get(kind, kind)
        self.inputs = frozenset(item.any_name for item in self._model.inputs)

    def run(self, inputs: Mapping[str, Ids]) -> Output:
        request = self._model.create_infer_request()
        output: Output = request.infer(dict(inputs))[0]
        return output.copy()


def group_batches(lengths: Sequence[int], tokens: int = BATCH_TOKENS) -> Iterator[list[int]]:
    """Yield batches of rows of equal length, each as the places of its rows.

    No row is ever padded, so a row gives the same output in any batch.

    Args:
        lengths: The number of tokens of each row.
        tokens: The largest number of tokens of a batch; a longer row makes a batch alone.
    """
    by_length: dict[int, list[int]] = {}
    for place, length in enumerate(lengths):
        by_length.setdefault(length, []).append(place)
    for length, places in sorted(by_length.items()):
        size = max(1, tokens // length)
        for start in range(0, len(places), size):
            yield places[start : start + size]
