"""Hashes of the questions, articles and documents that training and tuning have seen.

A figure says something only about questions that had no part in making what it measures. Training
writes down what it learned from, and a list names what constants were chosen on; whoever
publishes figures reads both. No texts are kept, so that published figures can be checked anywhere.
"""

import gzip
import hashlib
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, repeat
from pathlib import Path
from typing import Any

KINDS = ("questions", "articles", "documents")
DIGITS = 10
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The fingerprints of everything that had a part in making something.

    Attributes:
        what: The use that was made of them, in plain words that call them "them".
        systems: The strategies and retrievers that contain it; empty means all.
        questions: Fingerprints of questions and claims.
        articles: Fingerprints of titles.
        documents: Fingerprints of whole texts.
    """

    what: str
    systems: frozenset[str] = frozenset()
    questions: frozenset[str] = frozenset()
    articles: frozenset[str] = frozenset()
    documents: frozenset[str] = frozenset()


def fingerprint(text: str) -> str:
    """Hash the words of a text into 10 hexadecimal digits, whatever their case and punctuation.

    Of 5,000 texts and 200,000 others, two agree by chance once in a thousand trials.
    """
    words = " ".join(_WORD.findall(text.casefold()))
    return hashlib.sha256(words.encode()).hexdigest()[:DIGITS]


def fingerprint_all(texts: Iterable[str]) -> frozenset[str]:
    """Return the fingerprints of all texts that have a word."""
    return frozenset(fingerprint(text) for text in set(texts) if _WORD.search(text))


def write_manifest(file: Path, manifest: Manifest) -> None:
    """Write the fingerprints to a file; equal manifests give equal bytes."""
    packed = {kind: _pack_fingerprints(getattr(manifest, kind)) for kind in KINDS}
    text = json.dumps({"what": manifest.what, **packed}, indent=1) + "\n"
    file.parent.mkdir(parents=True, exist_ok=True)
    # A time stamp in the gzip header would make equal manifests differ.
    file.write_bytes(gzip.compress(text.encode(), mtime=0))


def read_manifest(file: Path) -> Manifest:
    """Read a manifest that `write_manifest` wrote."""
    packed = json.loads(gzip.decompress(file.read_bytes()))
    return Manifest(
        what=packed["what"], **{kind: _unpack_fingerprints(packed[kind]) for kind in KINDS}
    )


def locate_manifest(model: Path, folder: Path) -> Path:
    """Return the path of a model's manifest: `learned-<10 digits of its sha256>.json.gz`.

    Args:
        model: The file of the model, or the card beside it that names its sha256.
        folder: The folder of the manifests.
    """
    if model.suffix == ".json":
        digest = str(json.loads(model.read_text(encoding="utf-8"))["sha256"])
    else:
        digest = hashlib.sha256(model.read_bytes()).hexdigest()
    return folder / f"learned-{digest[:DIGITS]}.json.gz"


def load_choices(file: Path) -> Mapping[str, Mapping[str, Any]]:
    """Return the entries of a list of tuning choices, by name."""
    return tomllib.loads(file.read_text(encoding="utf-8"))


def load_manifests(folder: Path, chosen: Path) -> Iterator[Manifest]:
    """Yield the manifests of everything that was learned from or chosen on.

    Args:
        folder: The folder of the manifests.
        chosen: The list of tuning choices, as `load_choices` reads it.

    Raises:
        FileNotFoundError: If a choice has no manifest.
    """
    for file in sorted(folder.glob("learned-*.json.gz")):
        yield read_manifest(file)
    for name, choice in load_choices(chosen).items():
        manifest = read_manifest(folder / f"chosen-{name}.json.gz")
        yield Manifest(
            what=choice["what"],
            systems=frozenset(choice.get("systems", ())),
            # Constants are chosen on questions alone, so a choice lists no articles or documents.
            questions=manifest.questions,
        )


def _pack_fingerprints(prints: frozenset[str]) -> str:
    """Write each fingerprint, in order, as its distance from the one before: half the size."""
    numbers = sorted(int(digits, 16) for digits in prints)
    return " ".join(f"{b - a:x}" for a, b in zip([0, *numbers], numbers, strict=False))


def _unpack_fingerprints(text: str) -> frozenset[str]:
    # A manifest has tens of thousands: without generators, they take a third less time.
    numbers = accumulate(map(int, text.split(), repeat(16)))
    return frozenset(map(f"%0{DIGITS}x".__mod__, numbers))
