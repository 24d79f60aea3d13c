"""What a run learned from, for the manifest of its model; see `research.contamination`."""

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from research.contamination import Manifest, fingerprint_all

HERE = Path(__file__).parent
MANIFESTS = HERE / "manifests"
CHOSEN = HERE / "chosen.toml"


class Learnable(Protocol):
    """A row that is learned from: `training.cross_reader.rows.Row`, or another with these."""

    @property
    def question(self) -> str:
        """A question, or a claim."""
        ...

    @property
    def title(self) -> str:
        """Of the article that the text is from, or empty."""
        ...

    @property
    def text(self) -> str:
        """What was read."""
        ...


def learned_from(rows: Iterable[Learnable]) -> Manifest:
    """What a model learned from; give it every row that a run may have seen."""
    seen = list(rows)
    return Manifest(
        what="the cross-reader learned from them, their articles or their documents",
        questions=fingerprint_all(row.question for row in seen),
        articles=fingerprint_all(row.title for row in seen),
        documents=fingerprint_all(row.text for row in seen),
    )
