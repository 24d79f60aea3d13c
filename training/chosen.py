"""The questions that choices were made on: python -m training.chosen --data DATA.

Reads `chosen.toml` and the data sets, and writes the fingerprints of the questions that each entry
names to `manifests/chosen-<entry>.json.gz`. Manifests of entries that are gone are removed.
"""

import argparse
import random
from collections.abc import Iterator
from pathlib import Path

from research.contamination import Manifest, fingerprint_all, load_choices, write_manifest
from training.cross_reader.rows import hash_to_number
from training.manifest import CHOSEN, MANIFESTS

from fathom.evaluation.datasets import Dataset, DatasetQuestion, load

ROOT = Path(__file__).parents[1]


def select_named(dataset: Dataset, parts: str) -> Iterator[DatasetQuestion]:
    """Return the questions of a data set that an entry names, such as "even, drawn 300".

    Raises:
        ValueError: If a part is unknown.
    """
    for part in parts.split(","):
        match part.split():
            case ["all"]:
                yield from dataset.questions
            case ["even"]:
                yield from _select_half(dataset, rest=0)
            case ["odd"]:
                yield from _select_half(dataset, rest=1)
            case ["first", count]:
                yield from dataset.judged_questions[: int(count)]
            case ["drawn", count]:
                odd = _select_half(dataset, rest=1)
                yield from random.Random(1).sample(odd, min(int(count), len(odd)))
            case ["question", name]:
                yield from (question for question in dataset.questions if question.id == name)
            case _:
                raise ValueError(f"{dataset.name}: {part!r} names no questions; see chosen.toml")


def _select_half(dataset: Dataset, *, rest: int) -> list[DatasetQuestion]:
    return [question for question in dataset.questions if hash_to_number(question.id) % 2 == rest]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    data = parser.parse_args().data
    entries = load_choices(CHOSEN)
    sets: dict[str, Dataset] = {}
    for name, entry in entries.items():
        texts: list[str] = []
        for set_name, parts in entry["sets"].items():
            if set_name not in sets:
                sets[set_name] = load(ROOT / set_name if set_name == "samples" else data / set_name)
            texts += [question.text for question in select_named(sets[set_name], parts)]
        manifest = Manifest(what=entry["what"], questions=fingerprint_all(texts))
        write_manifest(MANIFESTS / f"chosen-{name}.json.gz", manifest)
        print(f"{name}: {len(manifest.questions)} questions")
    for file in MANIFESTS.glob("chosen-*.json.gz"):
        if file.name.removeprefix("chosen-").removesuffix(".json.gz") not in entries:
            file.unlink()


if __name__ == "__main__":
    main()
