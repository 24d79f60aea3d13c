"""The training data of a run, for its manifest; see `fathom.evaluation.contamination`."""

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from research.contamination import Manifest, fingerprint_all

FOLDER = Path(__file__).parent
MANIFESTS = FOLDER / "manifests"
CHOSEN = FOLDER / "chosen.toml"


class Learnable(Protocol):
    """A training row: `training.cross_reader.rows.Row`, or another with these fields."""

    @property
    def question(self) -> str:
        """A question, or a claim."""
        ...

    @property
    def title(self) -> str:
        """The title of the article that contains the text, or empty."""
        ...

    @property
    def text(self) -> str:
        """The text that was read."""
        ...


def make_manifest(rows: Iterable[Learnable]) -> Manifest:
    """Return the manifest of every row that a run may have seen."""
    entries = list(rows)
    return Manifest(
        what="the cross-reader learned from them, their articles or their documents",
        questions=fingerprint_all(row.question for row in entries),
        articles=fingerprint_all(row.title for row in entries),
        documents=fingerprint_all(row.text for row in entries),
    )
