"""What an ingestion did, and what became of its files."""

from collections.abc import Callable
from dataclasses import dataclass, field

from fathom.index.ingest_progress import Advance

MOST_TOLD = 100_000
"""When so many files are told of, those that were read well are only counted; at twice that all."""


@dataclass(frozen=True, slots=True)
class FileReport:
    """What became of one file; `reason` is one line, empty when there is nothing to say."""

    path: str
    outcome: str
    reason: str

    @property
    def is_bad(self) -> bool:
        """Whether somebody may want to do something about it."""
        return self.outcome not in {"ok", "skipped"}


@dataclass(slots=True, kw_only=True)
class IngestReport:
    """What an ingestion did; the counts are of documents, `failed` also of files without one.

    Attributes:
        failed: Files, folders and records that could not be read.
        stale: Documents that stay although their place could not be read or is gone.
        skipped: Files that are no documents (pictures, programs) and were not asked for.
        filled: Vectors that chunks got which an earlier run had stored without.
        unembedded: Vectors that could not be made, as the embedder failed at the text or did not
            survive it; those chunks are found by their words only, and tried again next time.
        files: One entry a file (of a corpus also one a record that failed), in order; those that
            were read or skipped up to `MOST_TOLD` entries, the others up to twice as many.
        untold: Of the others, those that are not among them.
    """

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    failed: int = 0
    stale: int = 0
    skipped: int = 0
    chunks: int = 0
    filled: int = 0
    unembedded: int = 0
    seconds: float = 0.0
    files: list[FileReport] = field(default_factory=list)
    untold: int = 0

    @property
    def documents(self) -> int:
        """Documents that are in the index now, of those looked at."""
        return self.new + self.changed + self.unchanged

    def tell(self, path: str, outcome: str, reason: str) -> None:
        """Add what became of a file, if there is room."""
        one = FileReport(path, outcome, reason)
        if len(self.files) < (2 * MOST_TOLD if one.is_bad else MOST_TOLD):
            self.files.append(one)
        else:
            self.untold += one.is_bad


IngestProgress = Callable[[IngestReport, Advance], None]
"""Told the counts so far and how far it all is."""
