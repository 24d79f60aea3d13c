"""What was learned from and what was chosen on: hashes of questions, articles and documents.

A figure says something only of questions that had no part in making what it measures. Training
writes down what it learned from, and a list names what constants were chosen on; who publishes
figures reads both. No texts are kept, so that published figures can be checked anywhere.
"""

import gzip
import hashlib
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

KINDS = ("questions", "articles", "documents")
DIGITS = 10
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """Fingerprints of what had a part in making something.

    Attributes:
        what: What was made of it, in plain words that go on with "them".
        systems: The strategies and retrievers that it is in; empty is all.
        questions: Of questions and claims.
        articles: Of titles.
        documents: Of whole texts.
    """

    what: str
    systems: frozenset[str] = frozenset()
    questions: frozenset[str] = frozenset()
    articles: frozenset[str] = frozenset()
    documents: frozenset[str] = frozenset()


def fingerprint(text: str) -> str:
    """10 hexadecimal digits for the words of a text, whatever their case and punctuation.

    Of 5,000 texts and 200,000 others, two agree by chance once in a thousand trials.
    """
    words = " ".join(_WORD.findall(text.casefold()))
    return hashlib.sha256(words.encode()).hexdigest()[:DIGITS]


def fingerprints(texts: Iterable[str]) -> frozenset[str]:
    """Those of all texts that have a word."""
    return frozenset(fingerprint(text) for text in set(texts) if _WORD.search(text))


def write(file: Path, manifest: Manifest) -> None:
    """Write the fingerprints; the same ones give the same bytes."""
    told = {kind: _packed(getattr(manifest, kind)) for kind in KINDS}
    text = json.dumps({"what": manifest.what, **told}, indent=1) + "\n"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(gzip.compress(text.encode(), mtime=0))


def read(file: Path) -> Manifest:
    """What `write` wrote."""
    told = json.loads(gzip.decompress(file.read_bytes()))
    return Manifest(what=told["what"], **{kind: _unpacked(told[kind]) for kind in KINDS})


def manifest_of(model: Path, folder: Path) -> Path:
    """Where the manifest of a model belongs: `learned-<10 digits of its sha256>.json.gz`.

    Args:
        model: Its file, or the card beside it that tells its sha256.
        folder: That of the manifests.
    """
    if model.suffix == ".json":
        digest = str(json.loads(model.read_text(encoding="utf-8"))["sha256"])
    else:
        digest = hashlib.sha256(model.read_bytes()).hexdigest()
    return folder / f"learned-{digest[:DIGITS]}.json.gz"


def choices(file: Path) -> Mapping[str, Mapping[str, Any]]:
    """The entries of a list of what was chosen on, by name."""
    return tomllib.loads(file.read_text(encoding="utf-8"))


def manifests(folder: Path, chosen: Path) -> Iterator[Manifest]:
    """All that is known to have been learned from or chosen on.

    Args:
        folder: Holds the manifests.
        chosen: Lists what was chosen on; see `choices`.

    Raises:
        FileNotFoundError: If a choice has no manifest.
    """
    for file in sorted(folder.glob("learned-*.json.gz")):
        yield read(file)
    for name, choice in choices(chosen).items():
        known = read(folder / f"chosen-{name}.json.gz")
        yield Manifest(
            what=choice["what"],
            systems=frozenset(choice.get("systems", ())),
            questions=known.questions,
        )


def _packed(prints: frozenset[str]) -> str:
    """In order, each as its distance from the one before: half the size."""
    numbers = sorted(int(each, 16) for each in prints)
    return " ".join(f"{b - a:x}" for a, b in zip([0, *numbers], numbers, strict=False))


def _unpacked(text: str) -> frozenset[str]:
    numbers = accumulate(int(each, 16) for each in text.split())
    return frozenset(f"{number:0{DIGITS}x}" for number in numbers)
