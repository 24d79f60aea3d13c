"""Put a trained model into the package.

    python -m training.cross_reader.ship --model RUN/cross-reader.onnx --figures RUN/figures.json

Writes the model and its card: the file's sha256, the calibration that `evaluate` fitted, and the
licences of all it learned from. The manifest that training left beside the model
(`learned.json.gz`) goes to `training/manifests/` under the name of the model.
"""

import argparse
import hashlib
import json
import shutil
from pathlib import Path

from training.cross_reader.sources import RANKED, SHARES, SOURCES
from training.manifest import MANIFESTS, manifest_of

RESOURCES = Path(__file__).parents[2] / "src" / "fathom" / "models" / "resources"


def card(model: Path, figures: Path) -> dict[str, object]:
    """What is said of the model in the file `model`, measured in the file `figures`."""
    measured = json.loads(figures.read_text(encoding="utf-8"))
    learned = {name: source.licence for name, source in SOURCES.items() if source.group in SHARES}
    return {
        "sha256": hashlib.sha256(model.read_bytes()).hexdigest(),
        "calibration": measured["calibration"],
        "learned_from": {**learned, **RANKED},
    }


def ship(model: Path, figures: Path, folder: Path, manifests: Path = MANIFESTS) -> None:
    """Copy the model into `folder` with its card beside it, and its manifest into `manifests`."""
    shutil.copyfile(model.with_name("learned.json.gz"), manifest_of(model, manifests))
    about = json.dumps(card(model, figures), indent=1) + "\n"
    shutil.copyfile(model, folder / "cross-reader.onnx")
    (folder / "cross-reader.json").write_text(about, encoding="utf-8")


def main() -> None:
    """Read the arguments and ship."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--figures", type=Path, required=True)
    parser.add_argument("--into", type=Path, default=RESOURCES)
    settings = parser.parse_args()
    ship(settings.model, settings.figures, settings.into)


if __name__ == "__main__":
    main()
