"""The report on an ingestion and on each of its files."""

from collections.abc import Callable
from dataclasses import dataclass, field

from fathom.ingest.progress import IngestState

MAX_LISTED = 100_000
"""The number of listed files from which on files that were read or skipped are only counted.

From twice as many on, no file is listed.
"""


@dataclass(frozen=True, slots=True)
class FileReport:
    """The outcome of one file.

    Attributes:
        path: The place of the file.
        outcome: The outcome, such as `ok`, `stale`, `skipped`, `no_vectors` or a kind of failure.
        reason: The reason in one line; empty if there is nothing to say.
        is_partial: Whether a part of the file was left out, which the reason names.
    """

    path: str
    outcome: str
    reason: str
    is_partial: bool = False

    @property
    def is_bad(self) -> bool:
        """True if the user may want to act on the outcome."""
        return self.outcome not in {"ok", "skipped"}


@dataclass(slots=True, kw_only=True)
class IngestReport:
    """The report on an ingestion.

    Attributes:
        new: The number of new documents.
        changed: The number of documents with new content.
        unchanged: The number of documents whose content is in the index already.
        removed: The number of removed documents.
        failed: The number of files, folders and records that could not be read.
        stale: The number of documents that stay although their place cannot be read or is gone.
        skipped: The number of files that are no documents (pictures, programs) and that the user
            did not name.
        chunks: The number of stored chunks.
        filled: The number of new vectors of chunks that an earlier run had stored without them.
        unembedded: The number of vectors that could not be made, because the embedder failed at the
            text or died of it. Searches find those chunks only by their words, and the next run
            tries them again.
        seconds: The duration of the ingestion in seconds.
        files: An entry for each file (for a corpus also one for each failed record), in order.
            Files that were read or skipped are listed up to `MAX_LISTED` entries, others up to
            twice as many.
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
        """The number of examined documents that are in the index now."""
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
"""A callback with the counts so far and the progress."""
