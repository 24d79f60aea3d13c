"""Which engine keeps an index: the one place that knows of it, and of its URL."""

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
from fathom.index.embedded.traces import FILE, move_traces, open_traces, trace_findings
from fathom.index.traces import MAX_BYTES, TraceStore

if TYPE_CHECKING:  # whoever asks the embedded index knows no other
    from fathom.index.postgres.address import Address
    from fathom.index.postgres.legs import Legs
    from fathom.index.postgres.room import Shared
    from fathom.index.postgres.traces import PostgresTraces
    from fathom.index.postgres.uploads import Uploads
    from fathom.index.qdrant.address import QdrantAddress

EMBEDDED = "embedded:"
SERVERS = ("postgresql://", "postgres://")
LEGS = "+qdrant:"
Rebuilding = AbstractContextManager[tuple[IndexWriter, IndexReader | None]]


class Index(Protocol):
    """Where an index lies, and what opens it; `str` names it as it may be shown."""

    def open_reader(self, expected_identity: Mapping[str, str] | None = None) -> IndexReader:
        """See `testing.IndexConformance.open_reader`."""
        ...

    def open_writer(self, identity: Mapping[str, str] | None) -> IndexWriter:
        """See `testing.IndexConformance.open_writer`."""
        ...

    def rebuilding(self, identity: Mapping[str, str], roots: Sequence[str]) -> Rebuilding:
        """A writer of a new index, which takes the place of the old at the end of the block.

        Args:
            identity: What makes it.
            roots: What it is to hold.

        Returns:
            The writer, and a reader of the old one, where that can be read.
        """
        ...

    def stamp(self) -> Hashable:
        """What tells the index from one that has taken its place since; quick."""
        ...

    def writer(self) -> str:
        """Who is alone in writing to it now, in words; `""` for nobody."""
        ...

    def verify(self, *, fix: bool = False) -> list[str]:
        """What is wrong with it, in words; with `fix` what is derived is made anew first."""
        ...

    def has_traces(self) -> bool:
        """Whether traces may be there: where not, `open_traces` would make their store."""
        ...

    def open_traces(self, *, max_bytes: int) -> TraceStore:
        """What was asked of it, and what people said of it; see `TraceStore.sweep`.

        Args:
            max_bytes: Beyond it the oldest traces go.

        Raises:
            RunError: If the store cannot be opened.
        """
        ...

    def trace_findings(self) -> list[str]:
        """What is wrong with its traces, in words; empty when they are sound."""
        ...

    @property
    def trace_place(self) -> str:
        """Where its traces are, as it may be shown."""
        ...

    def database(self, file: str, tables: Sequence[str]) -> Database:
        """Tables for what a server keeps beside it.

        Args:
            file: Of an embedded index: the file in its folder.
            tables: Likewise: what makes them, where they are not there yet.
        """
        ...

    @property
    def is_shared(self) -> bool:
        """Whether several machines may fill and ask it."""
        ...

    def uploads(self) -> "Uploads | None":
        """Files that were sent to it; `None` where they lie in a folder of this machine."""
        ...

    def sent_on_disk(self) -> AbstractContextManager[None]:
        """Have them on this disk while all that is known is read.

        Raises:
            RunError: If they cannot be written there.
        """
        ...


@dataclass(frozen=True, slots=True)
class EmbeddedIndex:
    """An index in a directory."""

    directory: Path
    durability: Literal["normal", "full"] = "normal"
    ann_from_chunks: int = 20_000

    def open_reader(self, expected_identity: Mapping[str, str] | None = None) -> IndexReader:
        """See `Index.open_reader`."""
        from fathom.index.embedded.opening import open_reader

        return open_reader(self.directory, expected_identity)

    def open_writer(self, identity: Mapping[str, str] | None) -> IndexWriter:
        """See `Index.open_writer`."""
        from fathom.index.embedded.opening import open_writer

        return open_writer(
            self.directory,
            identity,
            durability=self.durability,
            ann_from_chunks=self.ann_from_chunks,
        )

    @contextmanager
    def rebuilding(
        self, identity: Mapping[str, str], roots: Sequence[str]
    ) -> Iterator[tuple[IndexWriter, IndexReader | None]]:
        """See `Index.rebuilding`."""
        from fathom.index.embedded.opening import open_writer
        from fathom.index.embedded.rebuild import rebuilding
        from fathom.index.embedded.writer import EmbeddedWriter

        def open_at(directory: Path) -> EmbeddedWriter:
            return open_writer(
                directory,
                identity,
                durability=self.durability,
                ann_from_chunks=self.ann_from_chunks,
            )

        with rebuilding(self.directory, roots, open_at) as made:
            yield made.writer, made.before

    def stamp(self) -> Hashable:
        """See `Index.stamp`."""
        from fathom.index.embedded.opening import stamp_of

        return stamp_of(self.directory)

    def writer(self) -> str:
        """See `Index.writer`."""
        from fathom.index.embedded.opening import writer_at

        return writer_at(self.directory)

    def verify(self, *, fix: bool = False) -> list[str]:
        """See `Index.verify`."""
        from fathom.index.embedded.opening import verify

        return verify(self.directory, fix=fix)

    def has_traces(self) -> bool:
        """See `Index.has_traces`."""
        return (self.directory / FILE).is_file()

    def open_traces(self, *, max_bytes: int) -> TraceStore:
        """See `Index.open_traces`."""
        return open_traces(self.directory, max_bytes=max_bytes)

    def trace_findings(self) -> list[str]:
        """See `Index.trace_findings`."""
        return trace_findings(self.directory / FILE)

    def database(self, file: str, tables: Sequence[str]) -> Database:
        """See `Index.database`."""
        return FileDatabase(self.directory / file, tables)

    @property
    def is_shared(self) -> bool:
        """See `Index.is_shared`."""
        return False

    def uploads(self) -> "Uploads | None":
        """See `Index.uploads`."""
        return None

    def sent_on_disk(self) -> AbstractContextManager[None]:
        """See `Index.sent_on_disk`."""
        return nullcontext()

    @property
    def trace_place(self) -> str:
        """See `Index.trace_place`."""
        return str(self.directory / FILE)

    def __str__(self) -> str:
        return str(self.directory)


@dataclass(frozen=True, slots=True)
class PostgresIndex:
    """An index on a PostgreSQL server.

    Attributes:
        shared: The connections for all but the index itself.
        beside: Where traces were kept on this machine, before they were kept on the server.
        qdrant: What finds its chunks, where that is not the server itself.
    """

    address: "Address"
    shared: "Shared"
    beside: Path | None = None
    qdrant: "QdrantAddress | None" = None

    def open_reader(self, expected_identity: Mapping[str, str] | None = None) -> IndexReader:
        """See `Index.open_reader`."""
        from fathom.index.postgres.opening import open_reader

        return open_reader(self.address, expected_identity, self._legs())

    def open_writer(self, identity: Mapping[str, str] | None) -> IndexWriter:
        """See `Index.open_writer`."""
        from fathom.index.postgres.opening import open_writer

        return open_writer(self.address, identity, self._legs())

    def rebuilding(self, identity: Mapping[str, str], roots: Sequence[str]) -> Rebuilding:
        """See `Index.rebuilding`."""
        from fathom.index.postgres.opening import rebuilding

        return rebuilding(self.address, identity, roots, self._legs())

    def _legs(self) -> "Legs | None":
        if self.qdrant is None:
            return None
        from fathom.index.qdrant.client import QdrantClient
        from fathom.index.qdrant.legs import QdrantLegs

        return QdrantLegs(QdrantClient(self.qdrant))

    def stamp(self) -> Hashable:
        """See `Index.stamp`."""
        from fathom.index.postgres.opening import stamp_of

        return stamp_of(self.shared.to(self.address), self.address.workspace)

    def writer(self) -> str:
        """See `Index.writer`: here several write at once."""
        return ""

    def verify(self, *, fix: bool = False) -> list[str]:
        """See `Index.verify`."""
        from fathom.index.postgres.opening import open_reader, open_writer

        if fix:
            with open_writer(self.address, None, self._legs()) as writer:
                writer.remake_legs()
        with open_reader(self.address, None, self._legs()) as reader:
            return reader.findings()

    def has_traces(self) -> bool:
        """See `Index.has_traces`."""
        from fathom.index.postgres.traces import has_traces

        return has_traces(self.shared.to(self.address))

    def open_traces(self, *, max_bytes: int) -> TraceStore:
        """See `Index.open_traces`."""
        opened = self._traces(max_bytes)
        if self.beside is not None:
            move_traces(self.beside, opened)
        return opened

    def _traces(self, max_bytes: int = MAX_BYTES) -> "PostgresTraces":
        from fathom.index.postgres.room import open_room
        from fathom.index.postgres.traces import SINCE, PostgresTraces

        room = open_room(self.shared.to(self.address), self.address, since=SINCE)
        return PostgresTraces(room, max_bytes=max_bytes)

    def trace_findings(self) -> list[str]:
        """See `Index.trace_findings`."""
        return list(self._traces().findings())

    def database(self, file: str, tables: Sequence[str]) -> Database:  # noqa: ARG002 - they are there
        """See `Index.database`."""
        from fathom.index.postgres.database import ServerDatabase

        return ServerDatabase(self.shared.to(self.address), self.address)

    @property
    def is_shared(self) -> bool:
        """See `Index.is_shared`."""
        return True

    def uploads(self) -> "Uploads":
        """See `Index.uploads`."""
        from fathom.index.postgres.database import ServerDatabase
        from fathom.index.postgres.uploads import Uploads

        return Uploads(ServerDatabase(self.shared.to(self.address), self.address))

    @contextmanager
    def sent_on_disk(self) -> Iterator[None]:
        """See `Index.sent_on_disk`."""
        uploads = self.uploads()
        with uploads.on_disk({each.name: Path(each.path) for each in uploads.all()}):
            yield

    @property
    def trace_place(self) -> str:
        """See `Index.trace_place`."""
        return str(self.address)

    def __str__(self) -> str:
        return str(self.address)


def index_at(
    url: str,
    directory: Path,
    *,
    embedded: Callable[[Path], Index] = EmbeddedIndex,
    qdrant_key_env: str = "",
    offline: bool = False,
    shared: "Callable[[], Shared] | None" = None,
) -> Index:
    """The index that a URL names.

    Args:
        url: `postgresql://...`, `postgresql://...+qdrant:https://...`, `embedded:DIR`, a plain
            path, or empty for `directory`.
        directory: Where the embedded one lies.
        embedded: Makes the embedded one of its folder.
        qdrant_key_env: Name of the variable that holds the API key of Qdrant.
        offline: Open no socket to another machine.
        shared: Gives the connections that several workspaces of a server have in common.

    Raises:
        UsageError: If the URL is malformed, needs what is not installed, or a connection that
            must not be opened.
    """
    if not url.startswith(SERVERS):
        return embedded(Path(url.removeprefix(EMBEDDED)) if url else directory)
    from fathom.index.postgres.address import Address

    address = Address.of(url)
    if offline and not address.is_near:
        raise UsageError(f"offline: {address} would need a connection; choose another --index")
    if find_spec("psycopg") is None:
        extra = "qdrant" if address.legs else "postgres"
        raise UsageError(f"{address} needs more: pip install 'fathom-qa[{extra}]'")
    beside, common = side_directory(url, directory), shared() if shared else new_shared()
    if not address.legs:
        return PostgresIndex(address, common, beside)
    from fathom.index.qdrant.address import qdrant_address

    qdrant = qdrant_address(address.legs, key_env=qdrant_key_env, offline=offline)
    return PostgresIndex(address, common, beside, qdrant)


def new_shared() -> "Shared":
    """Connections that several workspaces of a server have in common, none yet."""
    from fathom.index.postgres.room import Shared

    return Shared()


def place_of(named: str) -> dict[str, object]:
    """The settings of an index that is named by its URL or its folder."""
    if named.startswith(SERVERS):
        return {"url": named}
    return {"url": "", "directory": Path(named.removeprefix(EMBEDDED))}


def side_directory(url: str, directory: Path) -> Path:
    """The folder of an embedded index; of one on a server that of what is kept beside it here."""
    if not url.startswith(SERVERS):
        return Path(url.removeprefix(EMBEDDED)) if url else directory
    own, _, _ = url.partition(LEGS)
    return directory / "servers" / sha256(shown(own).encode()).hexdigest()[:16]


def in_workspace(url: str, name: str) -> str:
    """The URL of another workspace of the same server."""
    own, mark, legs = url.partition(LEGS)
    parts = urlsplit(own)
    query = [(key, value) for key, value in parse_qsl(parts.query) if key != "workspace"]
    return urlunsplit(parts._replace(query=urlencode([*query, ("workspace", name)]))) + mark + legs


def shown(url: str) -> str:
    """A URL as it may be shown, without its password."""
    from fathom.index.postgres.address import shown as of_server

    return of_server(url)
