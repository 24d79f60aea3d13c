"""Sources on S3, WebDAV and SFTP servers, which are read by file systems of `fsspec`."""

import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote, unquote, urlsplit

from fathom.errors import FathomError, SourceUnavailable, UsageError
from fathom.ingest.sources.base import (
    BYTES,
    FoldersUnread,
    ObjectFailure,
    SourceObject,
    SourceOptions,
    copy_limited,
)
from fathom.ingest.sources.fetch import AddressRefusal, WayOut, guard_host
from fathom.ingest.sources.sidecars import find_document_name
from fathom.redaction import SECRETS

BLOCK_BYTES = 8 << 20
"""The number of bytes of an object that one request asks for."""
CONNECT_S = 10.0
"""The longest time in seconds for opening a connection."""
READ_S = 60.0
"""The longest time in seconds for one reply or the next part of it."""
MOST_DEPTH = 100
"""The largest depth of nested folders; a source with deeper ones is not listed."""
_PAGE = 1000
Entry = Mapping[str, Any]
"""The attributes that a file system reports of a file or a folder."""


class RemoteFiles(Protocol):
    """The files of one server below one path."""

    @property
    def place(self) -> str:
        """The URL of the place for messages, without secrets."""
        ...

    def list_entries(self) -> Iterator[SourceObject]:
        """Yield all files.

        Raises:
            FoldersUnread: At the end, if some folders may not be listed.
            SourceUnavailable: If folders are nested too deeply; other errors are those of the file
                system.
        """
        ...

    def get_path(self, item: SourceObject) -> str:
        """Return the path of a listed file as the file system takes it."""
        ...

    def read_token(self, item: SourceObject, stream: Any) -> str:  # noqa: ANN401 - of `fsspec`
        """Return the token of a file whose content a stream has given."""
        ...

    @property
    def files(self) -> Any:  # noqa: ANN401 - an `fsspec` file system
        """The file system of `fsspec`, which is opened on first use."""
        ...

    def disconnect(self) -> None:
        """Close the connections; a second call does nothing."""
        ...


class RemoteSource:
    """The files of a server as a source."""

    has_sidecars = True

    def __init__(self, remote: RemoteFiles, most_bytes: int) -> None:
        """Create the source; no connection is opened yet. Files above `most_bytes` are refused."""
        self._remote = remote
        self._most_bytes = most_bytes

    def list_objects(self) -> Iterator[SourceObject]:
        """Yield the files.

        Raises:
            FoldersUnread: At the end, if only some folders may not be listed.
            SourceUnavailable: If the server cannot be reached or refuses the listing.
        """
        with explain_errors(self._remote.place):
            yield from self._remote.list_entries()

    def fetch(self, item: SourceObject, file: Path) -> None:
        """Fetch a file.

        Raises:
            ObjectFailure: If the server refuses the file, or it is too large or gone. Also if it
                has changed since it was listed, because a sidecar that limits its readers may have
                come with the change and is not listed yet.
            SourceUnavailable: If the server cannot be reached.
        """
        with explain_errors(self._remote.place):
            try:
                path = self._remote.get_path(item)
                options = {"block_size": BLOCK_BYTES}
                with (
                    self._remote.files.open(path, "rb", **options) as stream,
                    file.open("wb") as target,
                ):
                    copy_limited(stream, target, self._most_bytes)
                    token = item.token and self._remote.read_token(item, stream)
            except FileNotFoundError:
                raise ObjectFailure("is gone since it was listed") from None
            except PermissionError as error:
                raise ObjectFailure(f"may not be read: {error}") from None
            except Exception as error:
                if _is_refusal(error):
                    raise ObjectFailure("may not be read: the server refuses it") from None
                raise
        if token != item.token:
            raise ObjectFailure("has changed since it was listed; the next sync reads it")

    def close(self) -> None:
        """Close the connections; a second call does nothing."""
        self._remote.disconnect()


def _is_refusal(error: Exception) -> bool:
    """Return whether an error has an HTTP reply with the status 403 (Forbidden)."""
    status = getattr(getattr(error, "response", None), "status_code", None)
    return status == HTTPStatus.FORBIDDEN


@contextmanager
def explain_errors(place: str) -> Iterator[None]:
    """Turn errors of libraries in a `with` block into `SourceUnavailable`.

    Args:
        place: The URL that the message names, without secrets.

    Raises:
        SourceUnavailable: If the block raises anything but a `FathomError` or `ObjectFailure`.
    """
    try:
        yield
    except (FathomError, ObjectFailure):
        raise
    except Exception as error:  # noqa: BLE001 - the libraries raise errors of many kinds
        if (refusal := _find_refusal(error)) is not None:
            raise SourceUnavailable(f"{place}: is not reached: {refusal}") from None
        # Whether a closed connection is noticed in writing or in reading is a matter of chance, and
        # the message of the former is about pipes.
        is_closed = isinstance(error, BrokenPipeError)
        text = "the connection was closed by the other side" if is_closed else str(error)
        lines = text.strip().splitlines() or [""]
        reason = f"{type(error).__name__}: {lines[0][:300]}".rstrip(": ")
        raise SourceUnavailable(f"{place}: {reason}") from None


def _find_refusal(error: BaseException) -> AddressRefusal | None:
    """Return the refused address that an error of a library comes from; `None` if it has none."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, AddressRefusal):
        cause = cause.__cause__ or cause.__context__
    return cause


@dataclass(slots=True)
class BucketFiles:
    """The objects of an S3 bucket below a prefix.

    Attributes:
        url: `s3://BUCKET/PREFIX`.
        options: The options of the source.
        network: The functions that look up hosts and connect to them.
    """

    url: str
    options: SourceOptions
    network: WayOut = field(default_factory=WayOut)
    _files: Any = None

    @property
    def place(self) -> str:
        """The URL of the source."""
        return self.url

    @property
    def files(self) -> Any:  # noqa: ANN401 - of `fsspec`
        """The file system of `fsspec`; without credentials of the source it uses those of AWS."""
        if self._files is None:
            from s3fs import S3FileSystem

            from fathom.ingest.sources.guarded_connector import GuardedResolver, guard_bucket

            for name in ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
                SECRETS.add(os.environ.get(name, ""))
            resolver = GuardedResolver(guard_bucket(self._split()[0], self.network))
            self._files = S3FileSystem(
                key=self.options.user or None,
                secret=self.options.password or None,
                use_listings_cache=False,
                skip_instance_cache=True,
                config_kwargs={
                    "connect_timeout": CONNECT_S,
                    "read_timeout": READ_S,
                    "retries": {"max_attempts": 2},
                    "connector_args": {
                        "resolver": resolver,
                        "socket_factory": resolver.open_socket,
                    },
                },
            )
            self._files.retries = 2
        return self._files

    def list_entries(self) -> Iterator[SourceObject]:
        """Yield the objects in the order of their keys, with one page of them in memory."""
        bucket, prefix = self._split()
        more: dict[str, str] = {}
        while True:
            page = self.files.call_s3(
                "list_objects_v2", Bucket=bucket, Prefix=prefix, MaxKeys=_PAGE, **more
            )
            for entry in page.get("Contents", ()):
                key = str(entry["Key"])
                if not key.endswith("/"):
                    yield SourceObject(
                        name=key.removeprefix(prefix),
                        address=f"s3://{bucket}/{key}",
                        token=_make_bucket_token(entry["ETag"], entry["Size"]),
                    )
            if not page.get("IsTruncated"):
                return
            more = {"ContinuationToken": page["NextContinuationToken"]}

    def disconnect(self) -> None:
        """Drop the file system, which closes its connections when it is freed."""
        self._files = None

    def get_path(self, item: SourceObject) -> str:
        """Return bucket and key."""
        bucket, prefix = self._split()
        return f"{bucket}/{prefix}{item.name}"

    def read_token(self, item: SourceObject, stream: Any) -> str:  # noqa: ANN401, ARG002 - protocol
        """Return the token of the object that was opened; S3 gives parts of no other one."""
        return _make_bucket_token(stream.details["ETag"], stream.size)

    def _split(self) -> tuple[str, str]:
        """Return the bucket, and the prefix with a slash at its end (empty if there is none)."""
        bucket, _, prefix = self.url.removeprefix("s3://").partition("/")
        return bucket, f"{prefix.rstrip('/')}/" if prefix.strip("/") else ""


@dataclass(slots=True)
class FolderFiles:
    """The files of a server that lists one folder at a time.

    Attributes:
        place: The URL of the source for messages.
        root: The path of the folder for the file system, without a slash at its end.
        address: The address of the folder, with which the addresses of files begin.
        connect: The function that opens the file system.
        end: The function that closes the connections of a file system; by default they close when
            it is freed.
    """

    place: str
    root: str
    address: str
    connect: Callable[[], Any]
    end: Callable[[Any], object] = lambda _files: None
    _files: Any = None

    @property
    def files(self) -> Any:  # noqa: ANN401 - of `fsspec`
        """The file system of `fsspec`, which is opened on first use."""
        if self._files is None:
            self._files = self.connect()
        return self._files

    def list_entries(self) -> Iterator[SourceObject]:
        """Yield the files in the order of their names, each folder with all that is in it.

        Only the entries of the present folder and of those around it are in memory.
        """
        refused: list[str] = []
        levels = [("", iter(self._list_folder("")))]
        while levels:
            folder, entries = levels[-1]
            entry = next(entries, None)
            if entry is None:
                levels.pop()
                continue
            name = f"{folder}{str(entry['name']).rstrip('/').rpartition('/')[2]}"
            if entry["type"] == "file":
                yield self._make_object(name, _make_token(entry))
            elif find_document_name(name) is not None:
                # A folder or a link with the name of a sidecar gets no token, because its time does
                # not change with the content of a link's target.
                yield self._make_object(f"{name}/" if entry["type"] == "directory" else name, "")
            elif entry["type"] == "directory":
                self._enter(name, levels, refused)
        if refused:
            raise FoldersUnread(f"{self.place}: {_display(refused[0])} may not be listed")

    def _make_object(self, name: str, token: str) -> SourceObject:
        address = f"{self.address}/{quote(name, errors=BYTES)}"
        return SourceObject(name=_display(name), address=address, token=token)

    def _enter(
        self, name: str, levels: list[tuple[str, Iterator[Entry]]], refused: list[str]
    ) -> None:
        """List a folder and add it to the levels; one that may not be listed goes to `refused`.

        Raises:
            SourceUnavailable: If folders are nested too deeply.
        """
        if len(levels) >= MOST_DEPTH:
            raise SourceUnavailable(f"{self.place}: folders lie too deep inside of each other")
        try:
            levels.append((f"{name}/", iter(self._list_folder(name))))
        except PermissionError:
            refused.append(name)
        except FileNotFoundError:
            return  # removed since the folder around it was listed

    def _list_folder(self, name: str) -> list[Entry]:
        entries: list[Entry] = self.files.ls(self._locate(name), detail=True)
        return sorted(entries, key=lambda entry: str(entry["name"]))

    def disconnect(self) -> None:
        """Close the connections by `end` and drop the file system."""
        if self._files is not None:
            self.end(self._files)
        self._files = None

    def get_path(self, item: SourceObject) -> str:
        """Return the path of a file, whose address alone has each byte of its name."""
        return self._locate(unquote(item.address.removeprefix(f"{self.address}/"), errors=BYTES))

    def _locate(self, name: str) -> str:
        return f"{self.root}/{name}" if name else self.root or "/"

    def read_token(self, item: SourceObject, stream: Any) -> str:  # noqa: ANN401, ARG002 - protocol
        """Return the token that the file has now."""
        return _make_token(self.files.info(self.get_path(item)))


def _display(name: str) -> str:
    """Return a name as text that can be stored and shown, even if it is not UTF-8."""
    return name.encode(errors=BYTES).decode(errors="backslashreplace")


def _make_bucket_token(etag: object, size: object) -> str:
    """Return the token of an object of a bucket."""
    return f"{etag}:{size}"


def _make_token(entry: Entry) -> str:
    """Return the token of a file: all that the server reports of its content."""
    modified = entry.get("modified") or entry.get("mtime")
    time = modified.isoformat() if isinstance(modified, datetime) else str(modified or "")
    return f"{entry.get('etag') or ''}:{entry.get('size')}:{time}"


def open_bucket(url: str, options: SourceOptions, network: WayOut | None = None) -> RemoteSource:
    """Open the source `s3://BUCKET/PREFIX`; `AWS_ENDPOINT_URL` names another server than Amazon's.

    Raises:
        UsageError: If it needs a missing package, or the connection while offline.
    """
    check_connection(url, options, "s3fs")
    files = BucketFiles(url.rstrip("/"), options, network or WayOut())
    return RemoteSource(files, options.most_bytes)


def open_webdav(url: str, options: SourceOptions, network: WayOut | None = None) -> RemoteSource:
    """Open the source `webdavs://HOST/PATH`, or `webdav://HOST/PATH` without encryption.

    Raises:
        UsageError: If it needs a missing package, or the connection while offline.
    """
    check_connection(url, options, "webdav4")
    scheme = "https" if url.startswith("webdavs:") else "http"
    address = f"{scheme}://{url.partition('://')[2].rstrip('/')}"

    def connect() -> Any:  # noqa: ANN401 - of `fsspec`
        from httpx import URL
        from webdav4.fsspec import WebdavFileSystem

        from fathom.ingest.sources.guarded_transport import get_port, open_transport
        from fathom.ingest.sources.webdav_names import keep_names

        server = URL(address)
        host = server.raw_host.decode("ascii").strip("[]")
        guard = guard_host(host, get_port(server), network, is_named=options.allow_private)

        def check_host(request: Any) -> None:  # noqa: ANN401 - of `httpx`
            # A redirection could send the password to another server, or without encryption.
            if (request.url.scheme, request.url.netloc) != (server.scheme, server.netloc):
                raise SourceUnavailable(
                    f"{url}: is redirected to another host, port or scheme; name that one"
                )

        files = WebdavFileSystem(
            address,
            auth=(options.user, options.password) if options.password else None,
            timeout=READ_S,
            event_hooks={"request": [check_host]},
            transport=open_transport(server, guard),
            skip_instance_cache=True,
        )
        keep_names(files.client, address)
        return files

    files = FolderFiles(url, "", address, connect, lambda files: files.client.http.close())
    return RemoteSource(files, options.most_bytes)


def open_sftp(url: str, options: SourceOptions, network: WayOut | None = None) -> RemoteSource:
    """Open the source `sftp://USER@HOST/PATH`; the host's key must be in `known_hosts`.

    Raises:
        UsageError: If it needs a missing package, or the connection while offline.
    """
    check_connection(url, options, "sshfs")
    parts = urlsplit(url)
    host = str(parts.hostname)
    root = unquote(parts.path, errors=BYTES).rstrip("/")
    address = f"sftp://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"

    def connect() -> Any:  # noqa: ANN401 - of `fsspec`
        from sshfs import SSHFileSystem

        secrets = {"password": options.password} if options.password else {}
        user = parts.username or options.user
        login = {"port": parts.port or 22, **({"username": user} if user else {})}
        return SSHFileSystem(
            host,
            sock=_connect_ssh({"host": host, **login}, options, network),
            **login,
            **secrets,
            # By default the library trusts every host; this makes it ask `known_hosts`.
            known_hosts=(),
            connect_timeout=CONNECT_S,
            login_timeout=READ_S,
            keepalive_interval=15,
            sftp_client_kwargs={"path_errors": BYTES},
            skip_instance_cache=True,
        )

    return RemoteSource(FolderFiles(url, root, address, connect), options.most_bytes)


def _connect_ssh(
    login: Mapping[str, Any], options: SourceOptions, network: WayOut | None
) -> socket.socket | None:
    """Return a connection to a checked address of an SSH server.

    Args:
        login: The host and the port, and the user name if there is one.
        options: The options of the source.
        network: The functions that look up hosts and connect; by default those of the system.

    Returns:
        The connection; `None` if the SSH configuration of the user names a tunnel or a proxy
        command, through which the library then connects itself.

    Raises:
        AddressRefusal: If an address of the server may not be reached.
        OSError: If the server cannot be reached.
    """
    from asyncssh import SSHClientConnectionOptions

    # An empty `config` makes the library read the user's file, which may name another host.
    settings = SSHClientConnectionOptions(config=(), client_keys=None, agent_path=None, **login)
    if settings.tunnel or settings.proxy_command:
        return None
    host, port = settings.host, settings.port
    guard = guard_host(host, port, network, is_named=options.allow_private)
    return guard.connect(host, port, CONNECT_S)


def check_connection(url: str, options: SourceOptions, package: str) -> None:
    """Check that a source that needs a connection and a package can be opened.

    Args:
        url: The URL of the source.
        options: Its options.
        package: The name of the package to import.

    Raises:
        UsageError: If the URL names no host, Fathom is offline, or the package is missing.
    """
    if not urlsplit(url).netloc:
        raise UsageError(f"{url!r} names no host or bucket")
    if options.offline:
        raise UsageError(f"offline: {url} would need a connection")
    if find_spec(package) is None:
        raise UsageError(f"{url} needs more: pip install 'fathom-qa[sources]'")
