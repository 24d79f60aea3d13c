"""The report on an ingestion and on each of its files."""

from collections.abc import Callable
from dataclasses import dataclass, field

from fathom.ingest.progress import IngestState

MAX_LISTED = 100_000
"""From so many listed files on good ones are only counted; from twice as many on all are."""


@dataclass(frozen=True, slots=True)
class FileReport:
    """The outcome of one file.

    Attributes:
        reason: One line; empty if there is nothing to say.
        is_partial: Whether a part of the file was left out, which the reason names.
    """

    path: str
    outcome: str
    reason: str
    is_partial: bool = False

    @property
    def is_bad(self) -> bool:
        """True if somebody may want to act on the outcome."""
        return self.outcome not in {"ok", "skipped"}


@dataclass(slots=True, kw_only=True)
class IngestReport:
    """The report on an ingestion; counts are of documents, `failed` also of files without one.

    Attributes:
        failed: Files, folders and records that could not be read.
        stale: Documents that stay although their place could not be read or is gone.
        skipped: Files that are no documents (pictures, programs) and were not named.
        filled: New vectors of chunks that an earlier run had stored without them.
        unembedded: Vectors that could not be made, as the embedder failed at the text or died of
            it. Searches find those chunks by their words only, and the next run tries them again.
        files: One entry per file (for a corpus also one per failed record), in order. Files that
            were read or skipped are listed up to `MAX_LISTED` entries, others up to twice as many.
        untold: The number of those others that are not listed.
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
        """The documents that are in the index now, of those examined."""
        return self.new + self.changed + self.unchanged

    def add_file(self, path: str, outcome: str, reason: str, *, is_partial: bool = False) -> None:
        """Add the outcome of a file, if there is room."""
        report = FileReport(path, outcome, reason, is_partial)
        # Good files stop at half of the list, so they never crowd out the bad ones.
        if len(self.files) < (2 * MAX_LISTED if report.is_bad else MAX_LISTED):
            self.files.append(report)
        else:
            self.untold += report.is_bad


IngestProgress = Callable[[IngestReport, IngestState], None]
"""Called with the counts so far and the progress."""
