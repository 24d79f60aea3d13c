"""Embedders from sentence-transformers models with an ONNX file, in a folder or on the hub."""

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

    Args:
        name: The folder, or the model's name on the hub.
        runtime: `onnxruntime` or `openvino`.
        threads: The number of threads of a run; 0 for the number of cores of this process.
        offline: Whether no socket may be opened; then a hub's model must be downloaded already.

    Raises:
        ModelError: If a file or the extra `hub` is missing, the model cannot be downloaded, or it
            is of a kind that is not supported.
        SettingsError: If there is no such runtime.
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
    """A runtime that pools the vectors of tokens to one unit vector for each text."""

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
        """Return this runtime for many runs, and the number of runs at the same time."""
        runtime, lanes = choose_lanes(self._runtime)
        return _PoolingRuntime(runtime, self._pooling), lanes


class _HubTokens:
    """The tokenizer in the model's own `tokenizer.json`, read by the package `tokenizers`."""

    def __init__(self, path: Path, limit: int) -> None:
        """Read the file.

        Args:
            path: The file.
            limit: The number of tokens, marks included, at which texts are cut.

        Raises:
            ModelError: If the file cannot be read, or the package is not installed.
        """
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
        ids: list[int] = self._cut.encode(_replace_surrogates(text)).ids
        return ids

    def count(self, text: str) -> int:
        return len(self._whole.encode(_replace_surrogates(text), add_special_tokens=False).ids)


def _replace_surrogates(text: str) -> str:
    """Return the text with `?` for lone surrogates, which the package refuses."""
    return text.encode("utf-8", "replace").decode()


def _download(name: str, *, offline: bool) -> Path:
    """Return the folder of the hub's model `name`, downloaded if need be.

    Raises:
        ModelError: If the extra `hub` is missing, or the model cannot be downloaded.
    """
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise ModelError(_describe_missing_extra(name)) from error
    try:
        return Path(snapshot_download(name, allow_patterns=_FILES, local_files_only=offline))
    except Exception as error:  # the client raises its own errors, the network's and ValueErrors
        reason = "is not on this machine and offline is set" if offline else "cannot be downloaded"
        raise ModelError(
            f"embedder {name!r} {reason}: name a folder that holds {_MODEL} and tokenizer.json, "
            "or the shipped all-MiniLM-L6-v2"
        ) from error


def _describe_missing_extra(name: str) -> str:
    return f"{name!r} needs the extra 'hub': pip install 'fathom-qa[hub]'"


def _check_stages(folder: Path) -> None:
    """Check that the model in a folder has no other stages than those that are computed here.

    Raises:
        ModelError: If it has another stage, such as a dense layer.
    """
    modules = _read_json(folder / "modules.json")
    for module in modules if isinstance(modules, list) else ():
        stage = str(module["type"]).rpartition(".")[2]
        # Without one of its stages, a model would silently give vectors of another space.
        if stage not in _STAGES:
            raise ModelError(f"{str(folder)!r} has a stage {stage!r}: name a model without it")


def _read_pooling(folder: Path) -> Pooling:
    """Return the pooling of the model in a folder; `mean` if its files name none.

    Raises:
        ModelError: If it pools in another way.
    """
    config = _read_settings(folder / "1_Pooling" / "config.json")
    modes = {key for key, value in config.items() if key.startswith("pooling_mode") and value}
    if modes <= {"pooling_mode_mean_tokens"}:
        return "mean"
    if modes == {"pooling_mode_cls_token"}:
        return "cls"
    raise ModelError(f"{str(folder)!r} pools by {sorted(modes)}: only mean or cls is supported")


def _read_limit(folder: Path) -> int:
    """Return the number of tokens at which the model's files cut a text; else `_LIMIT`."""
    limit = _read_settings(folder / "sentence_bert_config.json").get("max_seq_length")
    return limit if isinstance(limit, int) and limit > 2 else _LIMIT


def _read_settings(path: Path) -> dict[str, object]:
    """Return the JSON object in a file; empty if there is no such file or no object in it."""
    value = _read_json(path)
    return value if isinstance(value, dict) else {}


def _read_json(path: Path) -> object:
    """Return the content of a JSON file; `None` if there is no such file.

    Raises:
        ModelError: If the file is not JSON.
    """
    if not path.is_file():
        return None
    try:
        value: object = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelError(f"{str(path)!r} is not JSON: {error}; download the model again") from error
    return value
