"""The cross-reader that is shipped, or another one from a folder."""

import json
from importlib import resources
from pathlib import Path
from typing import Any

from fathom.errors import ModelError
from fathom.models.cross_reader import CrossReader, Shape, load_cross_reader
from fathom.models.reading import Calibration
from fathom.models.runtime import sha256_of

SHIPPED = "shipped"
_NAME = "cross-reader"
_CARD = f"{_NAME}.json"


def load_shipped_reader(
    name: str = SHIPPED, *, runtime: str = "onnxruntime", threads: int = 0
) -> CrossReader:
    """The cross-reader called `name`: `shipped`, or a folder.

    A folder holds `cross-reader.onnx`, `cross-reader.json` (its `sha256` and `calibration`; where
    they are others, `tokenizer`, `limit` and `alone` of its `Shape`) and `vocab.txt`.

    Raises:
        ModelError: If a file is missing or is not the one that belongs to the card.
        SettingsError: If there is no such runtime.
    """
    folder = _folder(name)
    about = card_of(name)
    try:
        law = Calibration(
            relevance=tuple(about["calibration"]["relevance"]),
            answerable=tuple(about["calibration"]["answerable"]),
            support=float(about["calibration"]["support"]),
        )
        shape = Shape(**{name: about[name] for name in ("limit", "alone") if name in about})
        sha256 = str(about["sha256"])
    except (ValueError, KeyError, TypeError) as error:
        raise _broken(folder) from error
    model = folder / f"{_NAME}.onnx"
    if sha256_of(model) != sha256:
        raise ModelError(f"model file {str(model)!r} is not the shipped one: reinstall fathom")
    return load_cross_reader(
        model,
        folder / about.get("tokenizer", "vocab.txt"),
        law,
        shape=shape,
        runtime=runtime,
        threads=threads,
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
    return here if name == SHIPPED else Path(name)


def _broken(folder: Path) -> ModelError:
    return ModelError(
        f"{str(folder / _CARD)!r} is missing or broken: reinstall fathom, or name a folder that "
        "holds a cross-reader in models.cross_reader"
    )
