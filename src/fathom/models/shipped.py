"""The cross-readers that are shipped, or another one from a folder."""

import json
from importlib import resources
from pathlib import Path
from typing import Any

from fathom.errors import ModelError
from fathom.models.cross_reader import OnnxCrossReader, Shape, load_cross_reader
from fathom.models.reading import Calibration
from fathom.models.runtime import sha256_of

ENGLISH, MULTILINGUAL = "english", "multilingual"
SHIPPED = "shipped"
"""The one that this release reads with, whatever the language: the multilingual one."""

# Folders below the package's own.
_OWN = {SHIPPED: MULTILINGUAL, MULTILINGUAL: MULTILINGUAL, ENGLISH: ""}
_NAME = "cross-reader"
_CARD = f"{_NAME}.json"


def load_shipped_reader(
    name: str = SHIPPED, *, runtime: str = "onnxruntime", threads: int = 0
) -> OnnxCrossReader:
    """The cross-reader called `name`: `shipped`, `english` (half the size), or a folder.

    One whose products are of 8 bits (`alone` in its card) runs on ONNX Runtime, whatever `runtime`
    says, as they are operators of that runtime.

    A folder holds `cross-reader.onnx`, its tokenizer and the card `cross-reader.json`: `sha256` of
    the model and `calibration`; where they are others than of the first cross-reader, `tokenizer`
    (`vocab.txt`), `limit` and `alone` of its `Shape`.

    Raises:
        ModelError: If a file is missing or is not the one that belongs to the card.
        SettingsError: If there is no such runtime.
    """
    folder = _folder(name)
    about = card_of(name)
    try:
        shape = Shape(**{name: about[name] for name in ("limit", "alone") if name in about})
        sha256, law = str(about["sha256"]), about["calibration"]
        calibration = Calibration(
            relevance=tuple(law["relevance"]),
            answerable=tuple(law["answerable"]),
            support=float(law["support"]),
        )
    except (AttributeError, ValueError, KeyError, TypeError) as error:
        raise _broken(folder) from error
    model = folder / f"{_NAME}.onnx"
    if sha256_of(model) != sha256:
        raise ModelError(f"model file {str(model)!r} is not the shipped one: reinstall fathom")
    tokenizer = folder / about.get("tokenizer", "vocab.txt")
    if shape.alone:
        runtime = "onnxruntime"
    return load_cross_reader(
        model, tokenizer, calibration, shape=shape, runtime=runtime, threads=threads
    )


def card_of(name: str = SHIPPED) -> dict[str, Any]:
    """What is written down of a cross-reader, its `sha256` and `calibration` among it.

    Raises:
        ModelError: If it is missing or no JSON object.
    """
    folder = _folder(name)
    try:
        about = json.loads((folder / _CARD).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _broken(folder) from error
    if not isinstance(about, dict):
        raise _broken(folder)
    return about


def _folder(name: str) -> Path:
    here = Path(str(resources.files("fathom.models") / "resources"))
    return here / _OWN[name] if name in _OWN else Path(name)


def _broken(folder: Path) -> ModelError:
    return ModelError(
        f"{str(folder / _CARD)!r} is missing or broken: reinstall fathom, or name a folder that "
        "holds a cross-reader in models.cross_reader"
    )
