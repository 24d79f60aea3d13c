"""The loader of embedders by name: the shipped one, or another sentence-transformers model."""

from importlib import resources
from pathlib import Path

from fathom.errors import ModelError
from fathom.models import e5
from fathom.models.base import Embedder
from fathom.models.cache import ModelCache, load_through
from fathom.models.hub import load_hub_embedder
from fathom.models.onnx_embedder import OnnxEmbedder
from fathom.models.runtime import LazyRuntime, RowRuntime, Runtime, hash_file, load_runtime
from fathom.models.tokens import WordPiece

SHIPPED = "all-MiniLM-L6-v2"
SHIPPED_INT8 = f"{SHIPPED}-int8"
SHIPPED_SHA256 = {
    f"{SHIPPED_INT8}.onnx": "0b2a9d2ddfd51a57f9bb1544bb7223f8a6ffc9f80897d2a3b3b9bbf1cf57ad7c",
    f"{SHIPPED}.onnx": "d87efbbedee282c2b6d119e205a621a60c15466747c7559bbedbe3a45e9aa948",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
SHIPPED_IDENTITY = {
    "model": SHIPPED,
    "sha256": SHIPPED_SHA256[f"{SHIPPED}.onnx"],
    "runtime": "onnxruntime",
    "precision": "fp32",
}
DIMENSION, LIMIT = 384, 256
"""The vector length of the shipped model, and the number of tokens, marks included, at which it
cuts a text, because it was trained with as many."""


def load_embedder(
    name: str = SHIPPED,
    *,
    runtime: str = "onnxruntime",
    threads: int = 0,
    offline: bool = False,
    cache: ModelCache | None = None,
) -> Embedder:
    """Load the embedder called `name`.

    Args:
        name: `all-MiniLM-L6-v2` and `all-MiniLM-L6-v2-int8` (the same with products of 8 bits) are
            shipped; `multilingual-e5-small` comes with the extra `multilingual`; any other is a
            folder or a sentence-transformers model of the hub that holds `onnx/model.onnx` (extra
            `hub`).
        runtime: `onnxruntime`, or `openvino` (extra `openvino`). Models with products of 8 or 4
            bits always run on ONNX Runtime, because only that runtime has these operators.
        threads: The number of threads of a run; 0 for the number of cores of this process.
        offline: Whether no socket may be opened; then a hub's model must be downloaded already.
        cache: A cache of the contents of shipped files; by default nothing is cached.

    Raises:
        ModelError: If the model cannot be found or loaded.
        SettingsError: If there is no such runtime.
    """
    if name == e5.NAME:
        return e5.load_e5(threads=threads)
    if name == SHIPPED_INT8:
        return load_int8(cache=cache)
    if name != SHIPPED:
        return load_hub_embedder(name, runtime=runtime, threads=threads, offline=offline)
    return load_shipped(_locate_resources(), runtime, threads, cache)


def load_shipped(
    folder: Path, runtime: str, threads: int, cache: ModelCache | None = None
) -> OnnxEmbedder:
    """Load the shipped embedder; ONNX Runtime loads the model file only at the first text.

    Args:
        folder: The folder of the model and its vocabulary.
        runtime: `onnxruntime` or `openvino`.
        threads: The number of threads of a run; 0 for the number of cores of this process.
        cache: A cache of the files' contents; by default nothing is cached.

    Raises:
        ModelError: If a file is missing or is not the one that was shipped.
        SettingsError: If there is no such runtime.
    """
    model = folder / f"{SHIPPED}.onnx"
    _check_files(cache, model, folder / "vocab.txt")
    loaded: Runtime
    if runtime == "onnxruntime":
        loaded = LazyRuntime(model, threads, frozenset({"input_ids"}), cache=cache)
    else:  # OpenVINO knows its precision, a component of the identity, only after loading
        loaded = load_through(cache, load_runtime, model, runtime=runtime, threads=threads)
    tokens = load_through(cache, WordPiece.read, folder / "vocab.txt")
    identity = {"model": SHIPPED, "sha256": SHIPPED_SHA256[model.name]}
    return OnnxEmbedder(loaded, tokens, identity, limit=LIMIT, dimension=DIMENSION)


def load_int8(folder: Path | None = None, *, cache: ModelCache | None = None) -> OnnxEmbedder:
    """Load the shipped embedder with products of 8 bits; its file is loaded at the first text.

    The file holds only a graph. The weights are read from the file of the fp32 embedder and rounded
    while they are loaded. The model runs on one thread, because more are no faster with the few
    tokens of one text.

    Args:
        folder: The folder of both files; by default the package's own.
        cache: A cache of the files' contents; by default nothing is cached.

    Raises:
        ModelError: If a file is missing or is not the shipped one.
    """
    folder = folder or _locate_resources()
    model = folder / f"{SHIPPED_INT8}.onnx"
    _check_files(cache, model, folder / f"{SHIPPED}.onnx", folder / "vocab.txt")
    # ONNX Runtime refuses weights behind a symbolic link that leaves the folder of the graph.
    graph = LazyRuntime(model.resolve(), 1, frozenset({"input_ids"}), cache=cache)
    tokens = load_through(cache, WordPiece.read, folder / "vocab.txt")
    identity = {
        "model": SHIPPED_INT8,
        "sha256": SHIPPED_SHA256[model.name],
        "space": SHIPPED_IDENTITY["sha256"],
    }
    return OnnxEmbedder(RowRuntime(graph), tokens, identity, limit=LIMIT, dimension=DIMENSION)


def _locate_resources() -> Path:
    return Path(str(resources.files("fathom.models") / "resources"))


def _check_files(cache: ModelCache | None, *files: Path) -> None:
    """Check the digests of shipped files.

    Raises:
        ModelError: If a file is missing or has another digest.
    """
    for file in files:
        if load_through(cache, hash_file, file) != SHIPPED_SHA256[file.name]:
            raise ModelError(f"model file {str(file)!r} is not the shipped one: reinstall fathom")
