"""Trusted sources: documents that win a conflict with all others (setting `sources.trusted`)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from fathom.index.base import is_address
from fathom.types import Chunk, Draft, Hit


@dataclass(frozen=True, slots=True)
class TrustedSources:
    """The path patterns of trusted documents.

    Attributes:
        patterns: Patterns with `*`, `?` and `[...]`. One matches a whole path or its end, from the
            start of a folder's name on; a folder matches all files below it. Web addresses are
            matched only by patterns that are addresses, because a site chooses its own paths.
    """

    patterns: tuple[str, ...] = ()

    def is_trusted(self, chunk: Chunk) -> bool:
        """Return whether a chunk is of a trusted document; results of a web search never are."""
        if chunk.source != "corpus":
            return False
        patterns = self.patterns
        if is_address(chunk.path):
            patterns = tuple(pattern for pattern in patterns if is_address(pattern))
        return any(fnmatchcase(chunk.path, form) for form in _list_forms(patterns))

    def select_trusted(self, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits of trusted documents, in their order."""
        return [hit for hit in hits if self.is_trusted(hit.chunk)] if self.patterns else []

    def settles(self, draft: Draft) -> bool:
        """Return whether the draft's best quote is trusted and no quote against it is."""
        if not self.patterns or not draft.evidence:
            return False
        denials = [place for reading in draft.alternatives for place in reading.evidence]
        return self._is_trusted_at(draft, 0) and not any(
            self._is_trusted_at(draft, place) for place in denials
        )

    def _is_trusted_at(self, draft: Draft, place: int) -> bool:
        """Return whether the evidence at an index is of a trusted document."""
        return self.is_trusted(draft.evidence[place].hit.chunk)


def _list_forms(patterns: Iterable[str]) -> Iterable[str]:
    """Yield the four `fnmatch` patterns of each path pattern: file or folder, whole or end."""
    for pattern in patterns:
        folder = pattern.rstrip("/")
        yield from (folder, f"*/{folder}", f"{folder}/*", f"*/{folder}/*")
