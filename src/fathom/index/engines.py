"""The index engines and their URLs; no other room knows which engine an index uses."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from fathom.errors import UsageError
from fathom.index.base import IndexReader, IndexWriter
from fathom.index.database import Database
from fathom.index.embedded.database import FileDatabase
from fathom.index.embedded.traces import FILE, move_traces, open_traces, verify_trace_file
from fathom.index.rights import Viewer
from fathom.index.traces import MAX_BYTES, TraceStore

if TYPE_CHECKING:  # users of the embedded index need no other engine's libraries
    from fathom.index.postgres.address import Address
    from fathom.index.postgres.search_backend import SearchBackend
    from fathom.index.postgres.traces import PostgresTraces
    from fathom.index.postgres.uploads import Uploads
    from fathom.index.postgres.workspace_tables import SharedConnections
    from fathom.index.qdrant.address import QdrantAddress

EMBEDDED_SCHEME = "embedded:"
SERVER_SCHEMES = ("postgresql://", "postgres://")
QDRANT_MARK = "+qdrant:"
UPLOADS = "uploads"
"""The folder of uploaded files below an index."""
RebuildContext = AbstractContextManager[tuple[IndexWriter, IndexReader | None]]


class Index(Protocol):
    """The place of an index and the ways to open it; `str` gives its name without secrets."""

    def open_reader(
        self, expected_identity: Mapping[str, str] | None = None, *, viewer: Viewer | None = None
    ) -> IndexReader:
        """Open the index for reading.

        Args:
            expected_identity: The entries that the index's identity must have; other entries may
                differ, and `None` accepts any identity.
            viewer: Show only the documents that this viewer may read.

        Raises:
            IndexMissing: If there is no index.
            IndexMismatch: If the index has another identity; the message names the differences.
            UsageError: If there is a viewer and the index holds no rights.
            RunError: If the index is damaged or cannot be reached.
        """
        ...

    def open_writer(self, identity: Mapping[str, str] | None) -> IndexWriter:
        """Open the index for writing, and create it if it is missing.

        Args:
            identity: The whole identity of the index; `None` accepts an existing index as it is.

        Raises:
            IndexMissing: If there is no index and no identity to create it with.
            IndexMismatch: If the index has another identity; the message names the differences.
            IndexLocked: If another process writes, for engines with one writer.
            RunError: If the index is damaged or cannot be reached.
        """
        ...

    def rebuild(self, identity: Mapping[str, str], roots: Sequence[str]) -> RebuildContext:
        """Open a writer of a new index, which replaces the old one at the end of the `with` block.

        After an error or a kill inside the block the old index is as it was.

        Args:
            identity: The identity of the new index.
            roots: The files and folders that the index shall hold.

        Returns:
            A context of the writer and a reader of the old index; the reader is `None` if no old
            index can be read.
        """
        ...

    def get_stamp(self) -> Hashable:
        """Return a value that changes when another index takes this place; the call is quick."""
        ...

    def describe_writer(self) -> str:
        """Return a description of the process that holds the write lock; `""` for none."""
        ...

    def verify(self, *, fix: bool = False) -> list[str]:
        """Return a line for each fault; with `fix` make all derived data anew first."""
        ...

    def has_traces(self) -> bool:
        """Return whether traces may exist; if not, `open_traces` would create their store."""
        ...

    def open_traces(self, *, max_bytes: int) -> TraceStore:
        """Open the store of traces and of feedback on them.

        Args:
            max_bytes: The size in bytes beyond which the oldest traces are dropped.

        Raises:
            RunError: If the store cannot be opened.
        """
        ...

    def verify_traces(self) -> list[str]:
        """Return a line for each fault of the traces; empty when they are sound."""
        ...

    @property
    def trace_place(self) -> str:
        """The place of the traces, without secrets."""
        ...

    def open_database(self, file: str, tables: Sequence[str]) -> Database:
        """Open the tables that `fathom serve` keeps beside the index, such as keys and jobs.

        Args:
            file: For an embedded index, the file in its folder.
            tables: For an embedded index, the statements that create missing tables.
        """
        ...

    @property
    def is_shared(self) -> bool:
        """Return whether several machines may fill and search the index."""
        ...

    def open_uploads(self) -> "Uploads | None":
        """Return the store of uploaded files; `None` if they lie in a folder of this machine."""
        ...

    def fetch_uploads(self) -> AbstractContextManager[None]:
        """Keep the uploaded files on this disk while the block reads the sources again.

        Raises:
            RunError: If they cannot be written there.
        """
        ...


@dataclass(frozen=True, slots=True)
class EmbeddedIndex:
    """An index in a directory.

    Attributes:
        directory: The folder of the index.
        durability: The durability of commits, as in `embedded.schema.connect`.
        ann_from_chunks: The number of chunks outside the graph of neighbours above which the graph
            is built anew.
    """

    directory: Path
    durability: Literal["normal", "full"] = "normal"
    ann_from_chunks: int = 20_000

    def open_reader(
        self, expected_identity: Mapping[str, str] | None = None, *, viewer: Viewer | None = None
    ) -> IndexReader:
        """Open the index in the directory for reading."""
        from fathom.index.embedded.opening import open_reader

        return open_reader(self.directory, expected_identity, viewer=viewer)

    def open_writer(self, identity: Mapping[str, str] | None) -> IndexWriter:
        """Open the index in the directory for writing."""
        from fathom.index.embedded.opening import open_writer

        return open_writer(
            self.directory,
            identity,
            durability=self.durability,
            ann_from_chunks=self.ann_from_chunks,
        )

    @contextmanager
    def rebuild(
        self, identity: Mapping[str, str], roots: Sequence[str]
    ) -> Iterator[tuple[IndexWriter, IndexReader | None]]:
        """Open a writer of a new index, which replaces the old one at the end of the block."""
        from fathom.index.embedded.opening import open_writer
        from fathom.index.embedded.rebuild import rebuild_index
        from fathom.index.embedded.writer import EmbeddedWriter

        def open_at(directory: Path) -> EmbeddedWriter:
            return open_writer(
                directory,
                identity,
                durability=self.durability,
                ann_from_chunks=self.ann_from_chunks,
            )

        with rebuild_index(self.directory, roots, open_at) as session:
            yield session.writer, session.before

    def get_stamp(self) -> Hashable:
        """Return a value that changes when another index takes this place."""
        from fathom.index.embedded.opening import read_stamp

        return read_stamp(self.directory)

    def describe_writer(self) -> str:
        """Return a description of the process that holds the write lock; `""` for none."""
        from fathom.index.embedded.opening import describe_writer

        return describe_writer(self.directory)

    def verify(self, *, fix: bool = False) -> list[str]:
        """Return a line for each fault; with `fix` make all derived data anew first."""
        from fathom.index.embedded.opening import verify

        return verify(self.directory, fix=fix)

    def has_traces(self) -> bool:
        """Return whether the file of the traces exists."""
        return (self.directory / FILE).is_file()

    def open_traces(self, *, max_bytes: int) -> TraceStore:
        """Open the store of traces and of feedback on them."""
        return open_traces(self.directory, max_bytes=max_bytes)

    def verify_traces(self) -> list[str]:
        """Return a line for each fault of the traces."""
        return verify_trace_file(self.directory / FILE)

    def open_database(self, file: str, tables: Sequence[str]) -> Database:
        """Open a SQLite file of tables in the directory."""
        return FileDatabase(self.directory / file, tables)

    @property
    def is_shared(self) -> bool:
        """Return False: an embedded index belongs to one machine."""
        return False

    def open_uploads(self) -> "Uploads | None":
        """Return `None`: uploaded files lie in a folder of this machine."""
        return None

    def fetch_uploads(self) -> AbstractContextManager[None]:
        """Do nothing: uploaded files lie on this disk already."""
        return nullcontext()

    @property
    def trace_place(self) -> str:
        """The file of the traces."""
        return str(self.directory / FILE)

    def __str__(self) -> str:
        return str(self.directory)


@dataclass(frozen=True, slots=True)
class PostgresIndex:
    """An index on a PostgreSQL server.

    Attributes:
        address: The address of the workspace.
        shared: The connections for traces, uploads and tables; readers and writers of the index
            open their own.
        old_traces: The folder on this machine where older versions kept the traces.
        qdrant: The address of the Qdrant server that searches the chunks; `None` if PostgreSQL
            searches them.
    """

    address: "Address"
    shared: "SharedConnections"
    old_traces: Path | None = None
    qdrant: "QdrantAddress | None" = None

    def open_reader(
        self, expected_identity: Mapping[str, str] | None = None, *, viewer: Viewer | None = None
    ) -> IndexReader:
        """Open the index on the server for reading."""
        from fathom.index.postgres.opening import open_reader

        return open_reader(self.address, expected_identity, self._open_backend(), viewer)

    def open_writer(self, identity: Mapping[str, str] | None) -> IndexWriter:
        """Open the index on the server for writing."""
        from fathom.index.postgres.opening import open_writer

        return open_writer(self.address, identity, self._open_backend())

    def rebuild(self, identity: Mapping[str, str], roots: Sequence[str]) -> RebuildContext:
        """Open a writer of a new index, which replaces the old one at the end of the block."""
        from fathom.index.postgres.opening import rebuild

        return rebuild(self.address, identity, roots, self._open_backend())

    def _open_backend(self) -> "SearchBackend | None":
        """Return the search backend on Qdrant; `None` if PostgreSQL searches the chunks."""
        if self.qdrant is None:
            return None
        from fathom.index.qdrant.backend import QdrantBackend
        from fathom.index.qdrant.client import QdrantClient

        return QdrantBackend(QdrantClient(self.qdrant))

    def get_stamp(self) -> Hashable:
        """Return a value that changes when another index takes this place."""
        from fathom.index.postgres.opening import read_stamp

        return read_stamp(self.shared.get_connections(self.address), self.address.workspace)

    def describe_writer(self) -> str:
        """Return `""`: several processes may write at once."""
        return ""

    def verify(self, *, fix: bool = False) -> list[str]:
        """Return a line for each fault; with `fix` make all derived data anew first."""
        from fathom.index.postgres.opening import open_reader, open_writer

        if fix:
            with open_writer(self.address, None, self._open_backend()) as writer:
                writer.rebuild_backend()
        with open_reader(self.address, None, self._open_backend()) as reader:
            return reader.list_findings()

    def has_traces(self) -> bool:
        """Return whether the server has tables of traces."""
        from fathom.index.postgres.traces import has_traces

        return has_traces(self.shared.get_connections(self.address))

    def open_traces(self, *, max_bytes: int) -> TraceStore:
        """Open the store of traces and of feedback on them.

        Traces that an older version kept on this machine move to the server.
        """
        store = self._open_traces(max_bytes)
        if self.old_traces is not None:
            move_traces(self.old_traces, store)
        return store

    def _open_traces(self, max_bytes: int = MAX_BYTES) -> "PostgresTraces":
        """Open the traces on the server, without moving older ones there."""
        from fathom.index.postgres.traces import MIN_LAYOUT, PostgresTraces
        from fathom.index.postgres.workspace_tables import open_tables

        room = open_tables(
            self.shared.get_connections(self.address), self.address, min_layout=MIN_LAYOUT
        )
        return PostgresTraces(room, max_bytes=max_bytes)

    def verify_traces(self) -> list[str]:
        """Return a line for each fault of the traces."""
        return list(self._open_traces().list_findings())

    def open_database(self, file: str, tables: Sequence[str]) -> Database:  # noqa: ARG002 - the server has the tables
        """Open the server's tables of the workspace."""
        from fathom.index.postgres.database import ServerDatabase

        return ServerDatabase(self.shared.get_connections(self.address), self.address)

    @property
    def is_shared(self) -> bool:
        """Return True: several machines may use a server."""
        return True

    def open_uploads(self) -> "Uploads":
        """Return the uploaded files of the workspace."""
        from fathom.index.postgres.database import ServerDatabase
        from fathom.index.postgres.uploads import Uploads

        return Uploads(ServerDatabase(self.shared.get_connections(self.address), self.address))

    @contextmanager
    def fetch_uploads(self) -> Iterator[None]:
        """Keep the uploaded files on this disk while the block lasts."""
        uploads = self.open_uploads()
        with uploads.fetch_files(
            {upload.name: Path(upload.path) for upload in uploads.list_uploads()}
        ):
            yield

    @property
    def trace_place(self) -> str:
        """The address of the server, without its password."""
        return str(self.address)

    def __str__(self) -> str:
        return str(self.address)


def locate_index(
    url: str,
    directory: Path,
    *,
    make_embedded: Callable[[Path], Index] = EmbeddedIndex,
    qdrant_key_env: str = "",
    offline: bool = False,
    get_shared: "Callable[[], SharedConnections] | None" = None,
) -> Index:
    """Return the index that a URL names.

    Args:
        url: `postgresql://...`, `postgresql://...+qdrant:https://...`, `embedded:DIR`, a plain
            path, or empty for `directory`.
        directory: The folder of the embedded index.
        make_embedded: The function that returns the embedded index of a folder.
        qdrant_key_env: The name of the environment variable that holds the API key of Qdrant.
        offline: Refuse an index on another machine, and any index on Qdrant.
        get_shared: The function that returns the connections which several workspaces of a server
            share; by default each index gets its own.

    Raises:
        UsageError: If the URL is malformed, needs a package that is not installed, or needs a
            connection that must not be opened.
    """
    if not url.startswith(SERVER_SCHEMES):
        return make_embedded(Path(url.removeprefix(EMBEDDED_SCHEME)) if url else directory)
    # Imported here, so that embedded indexes load nothing of PostgreSQL.
    from fathom.index.postgres.address import Address

    address = Address.from_url(url)
    if offline and not address.is_near:
        raise UsageError(f"offline: {address} would need a connection; choose another --index")
    # Checked before the import, so that the message can name the command that installs the driver.
    if find_spec("psycopg") is None:
        extra = "qdrant" if address.backend_url else "postgres"
        raise UsageError(f"{address} needs more: pip install 'fathom-qa[{extra}]'")
    old_traces, connections = (
        locate_side_directory(url, directory),
        get_shared() if get_shared else create_shared_connections(),
    )
    if not address.backend_url:
        return PostgresIndex(address, connections, old_traces)
    from fathom.index.qdrant.address import parse_qdrant_address

    qdrant = parse_qdrant_address(address.backend_url, key_env=qdrant_key_env, offline=offline)
    return PostgresIndex(address, connections, old_traces, qdrant)


def create_shared_connections() -> "SharedConnections":
    """Return an empty set of connections for the workspaces of a server to share."""
    from fathom.index.postgres.workspace_tables import SharedConnections

    return SharedConnections()


def make_index_settings(name: str) -> dict[str, object]:
    """Return the changed fields of `IndexSettings` for an index named by its URL or its folder."""
    if name.startswith(SERVER_SCHEMES):
        return {"url": name}
    return {"url": "", "directory": Path(name.removeprefix(EMBEDDED_SCHEME))}


def locate_side_directory(url: str, directory: Path) -> Path:
    """Return the folder for an index's files on this machine.

    For an embedded index that is its own folder. For an index on a server it is a folder below
    `directory`, named by a hash of the URL.
    """
    if not url.startswith(SERVER_SCHEMES):
        return Path(url.removeprefix(EMBEDDED_SCHEME)) if url else directory
    server_url, _, _ = url.partition(QDRANT_MARK)
    # The hash leaves out the password, so that a new password keeps the folder, and it leaves out
    # Qdrant, which traces and tables do not depend on.
    return directory / "servers" / sha256(redact_url(server_url).encode()).hexdigest()[:16]


def switch_workspace(url: str, name: str) -> str:
    """Return the URL of another workspace of the same server."""
    server_url, mark, legs = url.partition(QDRANT_MARK)
    split_url = urlsplit(server_url)
    query = [(key, value) for key, value in parse_qsl(split_url.query) if key != "workspace"]
    return (
        urlunsplit(split_url._replace(query=urlencode([*query, ("workspace", name)]))) + mark + legs
    )


def redact_url(url: str) -> str:
    """Return a URL without its password."""
    from fathom.index.postgres.address import redact_url as redact_server_url

    return redact_server_url(url)
