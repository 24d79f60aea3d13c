"""Sidecars in sources: `a.pdf.readers.toml` names the readers of the document `a.pdf` beside it.

The readers are stored with the state of the source, from which every ingestion takes them.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from fathom.documents.discover import READERS_FILE
from fathom.ingest.places import iterate_batches
from fathom.ingest.sidecars import read_readers
from fathom.ingest.sources.base import DocumentSource, ObjectFailure, SourceObject
from fathom.ingest.sources.listing import DiskListing
from fathom.ingest.sources.store import ObjectStates, SidecarState

CLOSED = "nobody may read its document until it is mended"
SUFFIX = f".{READERS_FILE}"
_SIDECAR = re.compile(rf"(.*?){re.escape(SUFFIX)}(/.*)?", re.DOTALL)
"""The name of a sidecar, or of an object in a folder that has the name of a sidecar."""


def find_document_name(name: str) -> str | None:
    """Return the name of the document of a sidecar; `None` if an object is no sidecar."""
    match = _SIDECAR.fullmatch(name)
    return match[1] if match else None


class SourceSidecars:
    """The sidecars of one listing of a source, and the readers that they name."""

    def __init__(
        self,
        source: DocumentSource,
        states: ObjectStates,
        staging: Path,
        on_failure: Callable[[str, str], None],
    ) -> None:
        """Begin without any sidecar.

        Args:
            source: The source.
            states: The stored states of the source.
            staging: An existing folder for fetched objects.
            on_failure: A callback with the address and the reason of each sidecar that cannot be
                read.
        """
        self._source, self._states, self._on_failure = source, states, on_failure
        self._file = staging / f"sidecar{SUFFIX}"
        self._listed = DiskListing()

    def add(self, item: SourceObject) -> None:
        """Add a listed sidecar.

        Raises:
            ValueError: If the object is no sidecar.
        """
        match = _SIDECAR.fullmatch(item.name)
        if match is None:
            raise ValueError(f"{item.name} is no sidecar")
        # For an object in a folder with the name of a sidecar, the folder is added, which cannot be
        # read. So nobody may read the document.
        sidecar = item.address.rsplit("/", (match[2] or "").count("/"))[0]
        address = sidecar.removesuffix(SUFFIX)
        self._listed.add(SourceObject(name=item.name, address=address, token=item.token))

    def read_changed(self) -> bool:
        """Read the sidecars that are new or have changed; return whether there were any.

        Before the first one is read, it is stored for all of them that nobody may read their
        documents. It stays so for those that cannot be read, also after a kill.

        Raises:
            SourceUnavailable: If no object can be read now.
        """
        for batch in iterate_batches(self._iterate_unknown()):
            self._states.put_sidecars(SidecarState(item.address, "", ()) for item in batch)
        was_any = False
        for item in self._listed:
            state = self._states.get_sidecar(item.address)
            # A sidecar without a token may have changed, so it is read each time.
            if state is None or not state.token or state.token != item.token:
                self._states.put_sidecars([self._read(item)])
                was_any = True
        return was_any

    def forget_removed(self, is_document: Callable[[str], bool]) -> None:
        """Forget the readers from sidecars that are gone while their documents are still there.

        Call it after a complete listing.

        Args:
            is_document: A function that tells whether the document of an address was listed.
        """
        removed = (
            address
            for address in self._states.iterate_sidecars()
            if address not in self._listed and is_document(address)
        )
        for batch in iterate_batches(removed):
            self._states.forget_sidecars(batch)

    def close(self) -> None:
        """Remove the listing; a second call does nothing."""
        self._listed.close()

    def _iterate_unknown(self) -> Iterator[SourceObject]:
        """Yield the listed sidecars that are new, or whose token has changed."""
        for item in self._listed:
            state = self._states.get_sidecar(item.address)
            if state is None or state.token not in {"", item.token}:
                yield item

    def _read(self, item: SourceObject) -> SidecarState:
        """Return the readers in a sidecar; none if it cannot be read, so that it is read again.

        Raises:
            SourceUnavailable: If no object can be read now.
        """
        address = f"{item.address}{SUFFIX}"
        if not item.name.endswith(SUFFIX):
            self._on_failure(address, "is a folder")
            return SidecarState(item.address, "", ())
        try:
            self._file.unlink(missing_ok=True)
            self._source.fetch(
                SourceObject(name=item.name, address=address, token=item.token), self._file
            )
            return SidecarState(item.address, item.token, read_readers(self._file))
        except (ObjectFailure, OSError, ValueError) as error:
            self._on_failure(address, str(error))
            return SidecarState(item.address, "", ())
        finally:
            self._file.unlink(missing_ok=True)
