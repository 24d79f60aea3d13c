"""Embedders from other sentence-transformers models with an ONNX file, in a folder or the hub."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fathom.errors import ModelError
from fathom.models.onnx_embedder import OnnxEmbedder
from fathom.models.runtime import Ids, Output, Runtime, choose_lanes, hash_file, load_runtime

Pooling = Literal["mean", "cls"]
_MODEL = "onnx/model.onnx"
_FILES = [_MODEL, "tokenizer.json", "*.json", "1_Pooling/config.json"]
_STAGES = {"Transformer", "Pooling", "Normalize"}
_LIMIT = 512  # tokens, for models whose own files name no limit
_TINY = 1e-12


def load_hub_embedder(
    name: str, *, runtime: str = "onnxruntime", threads: int = 0, offline: bool = False
) -> OnnxEmbedder:
    """Load the embedder in the folder `name`, or the hub's model `name`.

    The folder must hold `onnx/model.onnx` and `tokenizer.json`. Models that need a prefix before
    queries, or that end in a dense layer, are not supported.

    Raises:
        ModelError: If a file or the extra `hub` is missing, or nothing could be downloaded.
    """
    folder = Path(name) if Path(name).is_dir() else _download(name, offline=offline)
    _check_stages(folder)
    model = folder / _MODEL
    digest = hash_file(model)
    limit = _read_limit(folder)
    loaded = _PoolingRuntime(
        load_runtime(model, runtime=runtime, threads=threads), _read_pooling(folder)
    )
    tokens = _HubTokens(folder / "tokenizer.json", limit)
    return OnnxEmbedder(loaded, tokens, {"model": name, "sha256": digest}, limit=limit)


class _PoolingRuntime:
    """A runtime that makes unit vectors from a model that returns one vector a token."""

    def __init__(self, runtime: Runtime, pooling: Pooling) -> None:
        self._runtime = runtime
        self._pooling = pooling
        self.name, self.precision, self.inputs = runtime.name, runtime.precision, runtime.inputs

    def run(self, inputs: Mapping[str, Ids]) -> Output:
        output = self._runtime.run(inputs)
        if output.ndim == 3:
            output = output[:, 0] if self._pooling == "cls" else output.mean(axis=1)
        lengths = np.linalg.norm(output, axis=1, keepdims=True)
        unit: Output = (output / np.maximum(lengths, _TINY)).astype(np.float32)
        return unit

    def split_lanes(self) -> tuple[Runtime, int]:
        """Return the pooled form of the runtime for many runs, and the number of runs at a time."""
        runtime, lanes = choose_lanes(self._runtime)
        return _PoolingRuntime(runtime, self._pooling), lanes


class _HubTokens:
    """The model's own `tokenizer.json`, read by the package `tokenizers`."""

    def __init__(self, path: Path, limit: int) -> None:
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise ModelError(_describe_missing_extra(str(path))) from error
        try:
            cut, whole = Tokenizer.from_file(str(path)), Tokenizer.from_file(str(path))
        except Exception as error:  # the package raises plain Exceptions
            raise ModelError(f"tokenizer {str(path)!r} cannot be read: {error}") from error
        for tokenizer in (cut, whole):
            tokenizer.no_padding()
            tokenizer.no_truncation()
        cut.enable_truncation(limit)
        self._cut: Any = cut
        self._whole: Any = whole

    def encode(self, text: str, limit: int) -> list[int]:  # noqa: ARG002 - fixed when loaded
        ids: list[int] = self._cut.encode(text).ids
        return ids

    def count(self, text: str) -> int:
        return len(self._whole.encode(text, add_special_tokens=False).ids)


def _download(name: str, *, offline: bool) -> Path:
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise ModelError(_describe_missing_extra(name)) from error
    try:
        return Path(snapshot_download(name, allow_patterns=_FILES, local_files_only=offline))
    except Exception as error:  # the client raises its own, the network's and ValueErrors
        reason = "is not on this machine and offline is set" if offline else "cannot be downloaded"
        raise ModelError(
            f"embedder {name!r} {reason}: name a folder that holds {_MODEL} and tokenizer.json, "
            "or the shipped all-MiniLM-L6-v2"
        ) from error


def _describe_missing_extra(name: str) -> str:
    return f"{name!r} needs the extra 'hub': pip install 'fathom-qa[hub]'"


def _check_stages(folder: Path) -> None:
    modules = _read_json(folder / "modules.json")
    for module in modules if isinstance(modules, list) else ():
        stage = str(module["type"]).rpartition(".")[2]
        # A stage that is left out would give vectors of another space, without an error.
        if stage not in _STAGES:
            raise ModelError(f"{str(folder)!r} has a stage {stage!r}: name a model without it")


def _read_pooling(folder: Path) -> Pooling:
    config = _read_settings(folder / "1_Pooling" / "config.json")
    modes = {key for key, value in config.items() if key.startswith("pooling_mode") and value}
    if modes <= {"pooling_mode_mean_tokens"}:
        return "mean"
    if modes == {"pooling_mode_cls_token"}:
        return "cls"
    raise ModelError(f"{str(folder)!r} pools by {sorted(modes)}: only mean or cls is supported")


def _read_limit(folder: Path) -> int:
    limit = _read_settings(folder / "sentence_bert_config.json").get("max_seq_length")
    return limit if isinstance(limit, int) and limit > 2 else _LIMIT


def _read_settings(path: Path) -> dict[str, object]:
    value = _read_json(path)
    return value if isinstance(value, dict) else {}


def _read_json(path: Path) -> object:
    """Return the content of a JSON file; `None` if there is no such file."""
    if not path.is_file():
        return None
    try:
        value: object = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelError(f"{str(path)!r} is not JSON: {error}; download the model again") from error
    return value
