"""The loader of cross-readers: the shipped ones, or another one from a folder."""

import json
from importlib import resources
from pathlib import Path
from typing import Any

from fathom.errors import ModelError
from fathom.models.cache import ModelCache, load_through
from fathom.models.cross_reader import InputShape, OnnxCrossReader, load_cross_reader
from fathom.models.reading import ReadingCalibration
from fathom.models.runtime import hash_file

ENGLISH, MULTILINGUAL = "english", "multilingual"
SHIPPED = "shipped"
"""The name of this release's default for all languages, which is the multilingual reader."""

# The folders of the shipped readers, below the package's resources.
_FOLDERS = {SHIPPED: MULTILINGUAL, MULTILINGUAL: MULTILINGUAL, ENGLISH: ""}
_NAME = "cross-reader"
_CARD = f"{_NAME}.json"


def load_shipped_reader(
    name: str = SHIPPED,
    *,
    runtime: str = "onnxruntime",
    threads: int = 0,
    cache: ModelCache | None = None,
) -> OnnxCrossReader:
    """Load a shipped cross-reader, or one from a folder.

    A folder holds `cross-reader.onnx`, its tokenizer and the card `cross-reader.json`, an object
    with these keys:

    - `sha256`: The digest of the model.
    - `calibration`: The numbers of its `ReadingCalibration`.
    - `tokenizer`: The file of the tokenizer; by default `vocab.txt`.
    - `limit` and `alone`: Those of its `InputShape`, if they are not the defaults.
    - `fitted_as`: The digest of an older file with the same weights, if there is one. The
      calibrations of answers that were fitted with that file apply to this one.
    - `follows`: The digests of readers from which this one was trained further, if any. The
      calibrations of language models' answers that were fitted with them apply to this one.

    Args:
        name: `shipped`, `multilingual`, `english` (half the size), or a folder.
        runtime: `onnxruntime` or `openvino`. A reader with 8-bit products (`alone` in its card)
            always runs on ONNX Runtime, because only that runtime has these operators.
        threads: The number of threads of a run; 0 for the number of cores of this process.
        cache: A cache of the files' contents; by default nothing is cached.

    Raises:
        ModelError: If a file is missing, or the model is not the one of the card.
        SettingsError: If there is no such runtime.
    """
    folder = _locate_folder(name)
    card = read_card(name)
    try:
        shape = InputShape(**{key: card[key] for key in ("limit", "alone") if key in card})
        sha256, fitted = str(card["sha256"]), card["calibration"]
        calibration = ReadingCalibration(
            relevance=tuple(fitted["relevance"]),
            answerable=tuple(fitted["answerable"]),
            support=float(fitted["support"]),
        )
    except (AttributeError, ValueError, KeyError, TypeError) as error:
        raise _make_card_error(folder) from error
    model = folder / f"{_NAME}.onnx"
    # A calibration fits only one model; with another one every probability would be wrong.
    if load_through(cache, hash_file, model) != sha256:
        raise ModelError(f"model file {str(model)!r} is not the shipped one: reinstall fathom")
    tokenizer = folder / card.get("tokenizer", "vocab.txt")
    if shape.alone:
        runtime = "onnxruntime"
    return load_cross_reader(
        model, tokenizer, calibration, shape=shape, runtime=runtime, threads=threads, cache=cache
    )


def read_card(name: str = SHIPPED) -> dict[str, Any]:
    """Return the card of a cross-reader, as `load_shipped_reader` describes it.

    Args:
        name: The name or the folder of the reader.

    Raises:
        ModelError: If the card is missing or is not a JSON object.
    """
    folder = _locate_folder(name)
    try:
        card = json.loads((folder / _CARD).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _make_card_error(folder) from error
    if not isinstance(card, dict):
        raise _make_card_error(folder)
    return card


def _locate_folder(name: str) -> Path:
    """Return the folder of a shipped reader; any other name is itself a folder."""
    resources_folder = Path(str(resources.files("fathom.models") / "resources"))
    return resources_folder / _FOLDERS[name] if name in _FOLDERS else Path(name)


def _make_card_error(folder: Path) -> ModelError:
    return ModelError(
        f"{str(folder / _CARD)!r} is missing or broken: reinstall fathom, or name a folder that "
        "holds a cross-reader in models.cross_reader"
    )
