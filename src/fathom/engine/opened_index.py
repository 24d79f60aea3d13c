"""The open index of an engine; it is opened on first use, and again after it was replaced."""

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

from fathom.errors import IndexMissing, UsageError
from fathom.index.base import IndexReader
from fathom.index.context_slot import ContextSlot
from fathom.index.engines import (
    EmbeddedIndex,
    Index,
    create_shared_connections,
    locate_index,
    locate_side_directory,
)
from fathom.index.rights import Viewer

if TYPE_CHECKING:
    from fathom.index.postgres.workspace_tables import SharedConnections
    from fathom.settings import Settings


class EngineConnections:
    """The connections to database servers, shared by the engines of all workspaces."""

    def __init__(self) -> None:
        """Create the object; a connection is opened on first use."""
        self._shared: SharedConnections | None = None

    def get(self) -> "SharedConnections":
        """Return the shared connections; create them on first use."""
        if self._shared is None:
            self._shared = create_shared_connections()
        return self._shared

    def close(self) -> None:
        """Close the connections; a later use opens new ones."""
        if self._shared is not None:
            self._shared.close()
            self._shared = None


class OpenedIndex:
    """The open index of an engine.

    Attributes:
        viewer: The viewer on whose behalf the index is read; `None` if all documents are readable.
    """

    def __init__(
        self,
        settings: "Settings",
        *,
        query_identity: Callable[[], Mapping[str, str]],
        word_identity: Callable[[], Mapping[str, str]],
        connections: EngineConnections,
        on_replaced: Callable[[], None],
        viewer: Viewer | None = None,
    ) -> None:
        """Create the object without opening the index.

        Args:
            settings: The settings, with the place and the options of the index.
            query_identity: The function that returns the identity (embedder, analyzer) that the
                index must have to be searched with these settings.
            word_identity: The function that returns the part of it (analyzer) that keyword search
                depends on.
            connections: The connections to database servers.
            on_replaced: The function that is called after another index has replaced the open one.
            viewer: The viewer on whose behalf the index is read: only the documents are shown that
                this viewer may read. `None` shows all.
        """
        self._settings = settings
        self._query_identity = query_identity
        self._word_identity = word_identity
        self._connections = connections
        self._lock = RLock()
        self._opened: IndexReader | None = None
        self._snapshot = ContextSlot[IndexReader]()
        self._is_checked = False
        self._has_checked_words = False
        self._stamp: Hashable = None
        self._retired: list[IndexReader] = []
        self._on_replaced = on_replaced
        self.viewer = viewer

    @property
    def directory(self) -> Path:
        """The folder of an embedded index; for one on a server, the folder of local files."""
        return locate_side_directory(self._settings.index.url, self._settings.index.directory)

    @property
    def place(self) -> Index:
        """The place of the index, as in `Engine.index`."""
        index = self._settings.index
        return locate_index(
            index.url,
            index.directory,
            make_embedded=lambda directory: EmbeddedIndex(
                directory, index.durability, index.ann_from_chunks
            ),
            qdrant_key_env=index.qdrant_key_env,
            offline=self._settings.offline,
            get_shared=self._connections.get,
        )

    def refuse_viewer(self, what: str) -> None:
        """Refuse an act for which all documents must be readable, if there is a viewer.

        Args:
            what: The name of the act for the message, in the plural.

        Raises:
            UsageError: If the index is read on behalf of a viewer.
        """
        if self.viewer is not None:
            raise UsageError(f"{what} are only for those who may read all documents")

    def reader(self, *, checked: bool = True) -> IndexReader:
        """Return the open index, as `Engine.reader`; inside `snapshot`, the index in that state."""
        if (snapshot := self._snapshot.get()) is not None:
            return snapshot
        with self._lock:
            stamp = self.place.get_stamp()
            if self._opened is None or stamp != self._stamp:
                opened = self._open_reader(checked)
                if self._opened is not None:
                    # The index was rebuilt. Questions may still read the old one, so it is only
                    # closed with the engine.
                    self._retired.append(self._opened)
                    self._on_replaced()
                self._opened, self._stamp, self._is_checked = opened, stamp, checked
                self._has_checked_words = checked
            elif checked and not self._is_checked:
                # Opening another reader checks the identity; the open one stays in use.
                self._open_reader(checked).close()
                self._is_checked = self._has_checked_words = True
            return self._opened

    def check_words(self) -> None:
        """Check that the analyzer of this version made the terms of the open index.

        Keyword search needs this check even where the index was opened unchecked.

        Raises:
            IndexMismatch: If another analyzer made them.
        """
        with self._lock:
            if not self._has_checked_words:
                self.place.open_reader(self._word_identity(), viewer=self.viewer).close()
                self._has_checked_words = True

    def get_filled_reader(self, *, checked: bool = True) -> IndexReader:
        """Return the open index, as `reader` does, if it has documents.

        Args:
            checked: As for `Engine.reader`.

        Raises:
            IndexMissing: If there is no index, or it has no documents.
            IndexMismatch: If the index was made with other settings.
        """
        index = self.reader(checked=checked)
        if not index.is_empty():
            return index
        writer = self.place.describe_writer()
        todo = f"{writer} fills it, ask again later" if writer else "run `fathom ingest PATH`"
        raise IndexMissing(f"the index at {self.place} holds no documents yet: {todo}")

    @contextmanager
    def snapshot(self, *, checked: bool = True) -> Iterator[IndexReader]:
        """Keep the index in one state for a `with` block, as `Engine.open_snapshot` does."""
        with ExitStack() as stack:
            if self._opened is not None:
                # `reader` asks the open index whether it is still the current one. Inside a
                # snapshot of it, that needs only one query of the database for a whole question.
                stack.enter_context(self._opened.snapshot())
            index = self.get_filled_reader(checked=checked)
            stack.enter_context(index.snapshot())
            stack.enter_context(self._snapshot.hold(index))
            yield index

    def close(self) -> None:
        """Close the index and those that it replaced; a later use opens it again."""
        with self._lock:
            for reader in (self._opened, *self._retired):
                if reader is not None:
                    reader.close()
            self._opened = None
            self._retired.clear()

    def _open_reader(self, checked: bool) -> IndexReader:
        """Open a reader of the index; if `checked`, compare the identity."""
        return self.place.open_reader(self._get_expected_identity(checked), viewer=self.viewer)

    def _get_expected_identity(self, checked: bool) -> Mapping[str, str] | None:
        """Return the identity that the index must have; `None` if it is not checked."""
        return self._query_identity() if checked else None
