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
"""The default of this release for all languages: the multilingual one."""

# Folders below the package's resources.
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
    """Load the cross-reader called `name`: `shipped`, `english` (half the size), or a folder.

    A reader with 8-bit products (`alone` in its card) runs on ONNX Runtime whatever `runtime` says,
    because its products are operators of that runtime.

    A folder holds `cross-reader.onnx`, its tokenizer and the card `cross-reader.json`. The card
    holds `sha256` of the model and `calibration`; if they differ from those of the first
    cross-reader, also `tokenizer` (`vocab.txt`), and `limit` and `alone` of its `InputShape`. It
    may name as `fitted_as` the digest of an older file with the same weights, whose calibrations
    of answers then apply, and in `follows` those of readers from which it was trained further,
    whose calibrations of language models' answers then apply.

    A `cache` keeps what is read from the files; by default nothing is kept.

    Raises:
        ModelError: If a file is missing or is not the one that belongs to the card.
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
    # A calibration fits one model alone: with another one every probability would be wrong.
    if load_through(cache, hash_file, model) != sha256:
        raise ModelError(f"model file {str(model)!r} is not the shipped one: reinstall fathom")
    tokenizer = folder / card.get("tokenizer", "vocab.txt")
    if shape.alone:
        runtime = "onnxruntime"
    return load_cross_reader(
        model, tokenizer, calibration, shape=shape, runtime=runtime, threads=threads, cache=cache
    )


def read_card(name: str = SHIPPED) -> dict[str, Any]:
    """Return the card of a cross-reader, with its `sha256` and `calibration`.

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
    resources_folder = Path(str(resources.files("fathom.models") / "resources"))
    return resources_folder / _FOLDERS[name] if name in _FOLDERS else Path(name)


def _make_card_error(folder: Path) -> ModelError:
    return ModelError(
        f"{str(folder / _CARD)!r} is missing or broken: reinstall fathom, or name a folder that "
        "holds a cross-reader in models.cross_reader"
    )
