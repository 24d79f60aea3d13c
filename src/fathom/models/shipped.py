"""The cross-reader that is shipped, or another one from a folder."""

import json
from importlib import resources
from pathlib import Path

from fathom.errors import ModelError
from fathom.models.cross_reader import CrossReader, load_cross_reader
from fathom.models.reading import Calibration

SHIPPED = "shipped"
_NAME = "cross-reader"


def load_shipped_reader(
    name: str = SHIPPED, *, runtime: str = "onnxruntime", threads: int = 0
) -> CrossReader:
    """The cross-reader called `name`: `shipped`, or a folder.

    A folder holds `cross-reader.onnx`, `cross-reader.json` (its `sha256` and `calibration`) and
    `vocab.txt`.

    Raises:
        ModelError: If a file is missing or is not the one that belongs to the card.
        SettingsError: If there is no such runtime.
    """
    here = Path(str(resources.files("fathom.models") / "resources"))
    folder = here if name == SHIPPED else Path(name)
    card = folder / f"{_NAME}.json"
    try:
        about = json.loads(card.read_text(encoding="utf-8"))
        law = Calibration(
            relevance=tuple(about["calibration"]["relevance"]),
            answerable=tuple(about["calibration"]["answerable"]),
            support=float(about["calibration"]["support"]),
        )
        sha256 = str(about["sha256"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(
            f"{str(card)!r} is missing or broken: reinstall fathom, or name a folder that holds "
            "a cross-reader in models.cross_reader"
        ) from error
    return load_cross_reader(
        folder / f"{_NAME}.onnx",
        folder / "vocab.txt",
        law,
        sha256=sha256,
        runtime=runtime,
        threads=threads,
    )
