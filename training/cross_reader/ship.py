"""The shipping of a trained model in the package.

    python -m training.cross_reader.ship --model FOLDER --figures FIGURES.json

Copies the model and its tokenizer from the folder that `export` wrote, and writes their card: what
`export` says of them, the calibration that `evaluate` fitted, and the licences of all it learned
from. The manifest of training (`learned.json.gz`) goes to `training/manifests/` under the name of
the model.
"""

import argparse
import hashlib
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from research.contamination import locate_manifest
from training.cross_reader.sources import RANKED, SHARES, SOURCES
from training.manifest import MANIFESTS

RESOURCES = Path(__file__).parents[2] / "src" / "fathom" / "models" / "resources"
MODEL, CARD, LEARNED = "cross-reader.onnx", "cross-reader.json", "learned.json.gz"


def make_card(model: Path, figures: Path, follows: Sequence[str] = ()) -> dict[str, object]:
    """Return the description of the model in the folder `model`, measured in the file `figures`.

    Args:
        model: The folder.
        figures: What `evaluate` wrote.
        follows: Digests of readers whose calibrations of language models' answers still apply.

    Raises:
        ValueError: If the model is not the one its card is of.
    """
    about: dict[str, object] = json.loads((model / CARD).read_text(encoding="utf-8"))
    if about["sha256"] != hashlib.sha256((model / MODEL).read_bytes()).hexdigest():
        raise ValueError(f"{model / CARD} is of another model: export again")
    measured = json.loads(figures.read_text(encoding="utf-8"))
    learned = {name: source.licence for name, source in SOURCES.items() if source.group in SHARES}
    return {
        **about,
        **({"follows": list(follows)} if follows else {}),
        "calibration": measured["calibration"],
        "learned_from": {**learned, **RANKED},
    }


def ship(
    model: Path,
    figures: Path,
    folder: Path,
    manifests: Path = MANIFESTS,
    follows: Sequence[str] = (),
) -> None:
    """Copy the model of one folder into another, with its card, and its manifest to `manifests`."""
    about = make_card(model, figures, follows)
    shutil.copyfile(model / LEARNED, locate_manifest(model / MODEL, manifests))
    for name in (MODEL, str(about["tokenizer"])):
        shutil.copyfile(model / name, folder / name)
    (folder / CARD).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Read the arguments and ship."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True, help="folder that `export` wrote")
    parser.add_argument("--figures", type=Path, required=True, help="file that `evaluate` wrote")
    parser.add_argument("--into", type=Path, default=RESOURCES)
    parser.add_argument("--follows", nargs="*", default=(), help="digests of readers before")
    settings = parser.parse_args()
    ship(settings.model, settings.figures, settings.into, follows=settings.follows)


if __name__ == "__main__":
    main()
