"""The sources that the operator trusts: their documents decide a conflict with all others."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from fathom.index.base import is_address
from fathom.types import Chunk, Draft, Hit


@dataclass(frozen=True, slots=True)
class TrustedSources:
    """The paths of trusted documents.

    Attributes:
        patterns: Patterns with `*`, `?` and `[...]` for whole paths or their ends from a folder's
            name on; a folder stands for all that is in it. An address must be named as one: a page
            of a site chooses its own path.
    """

    patterns: tuple[str, ...] = ()

    def is_trusted(self, chunk: Chunk) -> bool:
        """Return whether a chunk is of a trusted document; of the web nothing is."""
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
        """Return whether the draft's best quote is trusted and none that denies it is."""
        if not self.patterns or not draft.evidence:
            return False
        denials = [place for reading in draft.alternatives for place in reading.evidence]
        return self._is_trusted_at(draft, 0) and not any(
            self._is_trusted_at(draft, place) for place in denials
        )

    def _is_trusted_at(self, draft: Draft, place: int) -> bool:
        return self.is_trusted(draft.evidence[place].hit.chunk)


def _list_forms(patterns: Iterable[str]) -> Iterable[str]:
    for pattern in patterns:
        folder = pattern.rstrip("/")
        yield from (folder, f"*/{folder}", f"{folder}/*", f"*/{folder}/*")
