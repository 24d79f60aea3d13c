"""The loader of embedders by name: the shipped one, or another sentence-transformers model."""

from importlib import resources
from pathlib import Path

from fathom.errors import ModelError
from fathom.models import e5
from fathom.models.base import Embedder
from fathom.models.cache import ModelCache, load_through
from fathom.models.hub import load_hub_embedder
from fathom.models.onnx_embedder import OnnxEmbedder
from fathom.models.runtime import LazyRuntime, Runtime, hash_file, load_runtime
from fathom.models.tokens import WordPiece

SHIPPED = "all-MiniLM-L6-v2"
SHIPPED_SHA256 = {
    f"{SHIPPED}.onnx": "d87efbbedee282c2b6d119e205a621a60c15466747c7559bbedbe3a45e9aa948",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
DIMENSION, LIMIT = 384, 256
"""The vector length of the shipped model, and the tokens that it was trained with, with marks."""


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
        name: `all-MiniLM-L6-v2` is shipped; `multilingual-e5-small` comes with the extra
            `multilingual`; any other is a folder or a sentence-transformers model of the hub that
            holds `onnx/model.onnx` (extra `hub`).
        runtime: `onnxruntime`, or `openvino` (extra `openvino`); `multilingual-e5-small` always
            runs on ONNX Runtime, as its products of 4 bits are operators of that runtime.
        threads: The number of threads; 0 stands for the number of cores of this process.
        offline: Whether to open no socket; then a model of the hub must be downloaded already.
        cache: Keeps what is read of the shipped embedder's files; by default nothing is kept.

    Raises:
        ModelError: If it cannot be found or loaded.
        SettingsError: If there is no such runtime.
    """
    if name == e5.NAME:
        return e5.load_e5(threads=threads)
    if name != SHIPPED:
        return load_hub_embedder(name, runtime=runtime, threads=threads, offline=offline)
    folder = Path(str(resources.files("fathom.models") / "resources"))
    return load_shipped(folder, runtime, threads, cache)


def load_shipped(
    folder: Path, runtime: str, threads: int, cache: ModelCache | None = None
) -> OnnxEmbedder:
    """Load the shipped embedder from `folder`; ONNX Runtime loads its file at the first text.

    Raises:
        ModelError: If a file is missing or is not the one that was shipped.
        SettingsError: If there is no such runtime.
    """
    for name, digest in SHIPPED_SHA256.items():
        if load_through(cache, hash_file, folder / name) != digest:
            culprit = str(folder / name)
            raise ModelError(f"model file {culprit!r} is not the shipped one: reinstall fathom")
    model = folder / f"{SHIPPED}.onnx"
    loaded: Runtime
    if runtime == "onnxruntime":
        loaded = LazyRuntime(model, threads, frozenset({"input_ids"}), cache=cache)
    else:  # OpenVINO knows its precision, part of the identity, only once the model is loaded
        loaded = load_through(cache, load_runtime, model, runtime=runtime, threads=threads)
    tokens = WordPiece.read(folder / "vocab.txt")
    identity = {"model": SHIPPED, "sha256": SHIPPED_SHA256[model.name]}
    return OnnxEmbedder(loaded, tokens, identity, limit=LIMIT, dimension=DIMENSION)
