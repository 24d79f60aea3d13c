"""The objects that name the readers of documents beside them, `a.pdf.readers.toml` for `a.pdf`.

What they say is kept with the state of the source, so that every ingestion finds it there.
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
"""The name of a sidecar, or of an object in a folder that has the name of one."""


def find_document_name(name: str) -> str | None:
    """Return the name of the document beside which an object lies as its sidecar, or `None`."""
    match = _SIDECAR.fullmatch(name)
    return match[1] if match else None


class SourceSidecars:
    """The sidecars of one listing of a source."""

    def __init__(
        self,
        source: DocumentSource,
        states: ObjectStates,
        staging: Path,
        on_failure: Callable[[str, str], None],
    ) -> None:
        """Create them without any.

        Args:
            source: The source.
            states: The kept states.
            staging: An existing folder for fetched objects.
            on_failure: Called with the address and the reason for each that cannot be read.
        """
        self._source, self._states, self._on_failure = source, states, on_failure
        self._file = staging / f"sidecar{SUFFIX}"
        self._listed = DiskListing()

    def add(self, item: SourceObject) -> None:
        """Add a listed sidecar."""
        match = _SIDECAR.fullmatch(item.name)
        if match is None:
            raise ValueError(f"{item.name} is no sidecar")
        # An object in a folder that has the name of a sidecar stands for the folder.
        sidecar = item.address.rsplit("/", (match[2] or "").count("/"))[0]
        address = sidecar.removesuffix(SUFFIX)
        self._listed.add(SourceObject(name=item.name, address=address, token=item.token))

    def read_changed(self) -> bool:
        """Read those that are new or have changed; return whether there were any.

        Until one is read, nobody may read its document.

        Raises:
            SourceUnavailable: If no object can be read now.
        """
        for batch in iterate_batches(self._iterate_unknown()):
            self._states.put_sidecars(SidecarState(item.address, "", ()) for item in batch)
        was_any = False
        for item in self._listed:
            state = self._states.get_sidecar(item.address)
            # Without a token nothing tells a change.
            if state is None or not state.token or state.token != item.token:
                self._states.put_sidecars([self._read(item)])
                was_any = True
        return was_any

    def forget_removed(self, is_document: Callable[[str], bool]) -> None:
        """Forget the sidecars that were not listed although their documents were.

        Args:
            is_document: Returns whether the address of a document was listed.
        """
        removed = (
            address
            for address in self._states.iterate_sidecars()
            if address not in self._listed and is_document(address)
        )
        for batch in iterate_batches(removed):
            self._states.forget_sidecars(batch)

    def close(self) -> None:
        """Release the listing."""
        self._listed.close()

    def _iterate_unknown(self) -> Iterator[SourceObject]:
        for item in self._listed:
            state = self._states.get_sidecar(item.address)
            if state is None or state.token not in {"", item.token}:
                yield item

    def _read(self, item: SourceObject) -> SidecarState:
        """Read a sidecar; one that cannot be read lets nobody read its document."""
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
