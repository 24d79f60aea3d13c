"""Sources on servers that have an `fsspec` file system: S3, WebDAV and SFTP."""

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
"""The bytes of one request for a part of an object."""
CONNECT_S = 10.0
READ_S = 60.0
"""The time for one reply, or for a part of it."""
MOST_DEPTH = 100
"""The number of folders inside of each other from which a listing is refused."""
_PAGE = 1000
_BYTES = "surrogateescape"
"""The way in which a text keeps the bytes of a name that is not UTF-8."""
Entry = Mapping[str, Any]
"""The attributes that a file system reports of a file or a folder."""


class RemoteFiles(Protocol):
    """The files of one server below one path."""

    @property
    def place(self) -> str:
        """The place in messages, without secrets."""
        ...

    def list_entries(self) -> Iterator[SourceObject]:
        """Yield all files."""
        ...

    def get_path(self, item: SourceObject) -> str:
        """Return the path of a listed file as the file system takes it."""
        ...

    def read_token(self, item: SourceObject, stream: Any) -> str:  # noqa: ANN401 - of `fsspec`
        """Return the token of a file whose content a stream has given."""
        ...

    @property
    def files(self) -> Any:  # noqa: ANN401 - an `fsspec` file system
        """The file system, connected on first use."""
        ...

    def disconnect(self) -> None:
        """Close the connections; a second call does nothing."""
        ...


class RemoteSource:
    """The files of a server as a source."""

    has_sidecars = True

    def __init__(self, remote: RemoteFiles, most_bytes: int) -> None:
        """Create the source; no connection is opened yet."""
        self._remote = remote
        self._most_bytes = most_bytes

    def list_objects(self) -> Iterator[SourceObject]:
        """Yield the files.

        Raises:
            SourceUnavailable: If the server cannot be reached, or refuses a folder.
        """
        with explain_errors(self._remote.place):
            yield from self._remote.list_entries()

    def fetch(self, item: SourceObject, file: Path) -> None:
        """Fetch a file.

        Raises:
            ObjectFailure: If the server refuses it, it is too large, or another one than was
                listed: a file that names readers may have come with it.
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
        """Close the connections."""
        self._remote.disconnect()


def _is_refusal(error: Exception) -> bool:
    """Return whether an error holds a reply over HTTP that forbids one object."""
    status = getattr(getattr(error, "response", None), "status_code", None)
    return status == HTTPStatus.FORBIDDEN


@contextmanager
def explain_errors(place: str) -> Iterator[None]:
    """Turn the errors of libraries into one that names the place.

    Raises:
        SourceUnavailable: If the block raises anything but errors of Fathom and of one object.
    """
    try:
        yield
    except (FathomError, ObjectFailure):
        raise
    except Exception as error:  # noqa: BLE001 - the libraries raise errors of many kinds
        if (refusal := _find_refusal(error)) is not None:
            raise SourceUnavailable(f"{place}: is not reached: {refusal}") from None
        lines = str(error).strip().splitlines() or [""]
        reason = f"{type(error).__name__}: {lines[0][:300]}".rstrip(": ")
        raise SourceUnavailable(f"{place}: {reason}") from None


def _find_refusal(error: BaseException) -> AddressRefusal | None:
    """Return the refusal of an address that led to an error of a library."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, AddressRefusal):
        cause = cause.__cause__ or cause.__context__
    return cause


@dataclass(slots=True)
class BucketFiles:
    """The objects of an S3 bucket below a prefix.

    Attributes:
        network: The ways out of this machine.
    """

    url: str
    options: SourceOptions
    network: WayOut = field(default_factory=WayOut)
    _files: Any = None

    @property
    def place(self) -> str:
        """The URL."""
        return self.url

    @property
    def files(self) -> Any:  # noqa: ANN401 - of `fsspec`
        """The file system; without credentials of the source, those of the environment count."""
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
        """Yield the objects page by page: a bucket may hold more than memory does."""
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
        """Drop the file system, which closes its connections with itself."""
        self._files = None

    def get_path(self, item: SourceObject) -> str:
        """Return bucket and key."""
        bucket, prefix = self._split()
        return f"{bucket}/{prefix}{item.name}"

    def read_token(self, item: SourceObject, stream: Any) -> str:  # noqa: ANN401, ARG002 - protocol
        """Return the token of the object that was opened; S3 gives parts of no other one."""
        return _make_bucket_token(stream.details["ETag"], stream.size)

    def _split(self) -> tuple[str, str]:
        bucket, _, prefix = self.url.removeprefix("s3://").partition("/")
        return bucket, f"{prefix.rstrip('/')}/" if prefix.strip("/") else ""


@dataclass(slots=True)
class FolderFiles:
    """The files of a server that lists one folder at a time.

    Attributes:
        root: The path of the folder, as the file system takes it.
        address: The address of the folder.
        connect: Opens the file system.
        end: Closes the connections of a file system that leaves them open.
    """

    place: str
    root: str
    address: str
    connect: Callable[[], Any]
    end: Callable[[Any], object] = lambda _files: None
    _files: Any = None

    @property
    def files(self) -> Any:  # noqa: ANN401 - of `fsspec`
        """The file system."""
        if self._files is None:
            self._files = self.connect()
        return self._files

    def list_entries(self) -> Iterator[SourceObject]:
        """Yield the files; memory holds the entries of the folders on the way."""
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
                # A folder or a link in the place of a sidecar; a link's time tells no change.
                yield self._make_object(f"{name}/" if entry["type"] == "directory" else name, "")
            elif entry["type"] == "directory":
                self._enter(name, levels, refused)
        if refused:
            raise FoldersUnread(f"{self.place}: {_display(refused[0])} may not be listed")

    def _make_object(self, name: str, token: str) -> SourceObject:
        address = f"{self.address}/{quote(name, errors=_BYTES)}"
        return SourceObject(name=_display(name), address=address, token=token)

    def _enter(
        self, name: str, levels: list[tuple[str, Iterator[Entry]]], refused: list[str]
    ) -> None:
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
        """Drop the file system, which closes its connections with itself unless told how."""
        if self._files is not None:
            self.end(self._files)
        self._files = None

    def get_path(self, item: SourceObject) -> str:
        """Return the path of a file, whose address alone has each byte of its name."""
        return self._locate(unquote(item.address.removeprefix(f"{self.address}/"), errors=_BYTES))

    def _locate(self, name: str) -> str:
        return f"{self.root}/{name}" if name else self.root or "/"

    def read_token(self, item: SourceObject, stream: Any) -> str:  # noqa: ANN401, ARG002 - protocol
        """Return the token that the file has now."""
        return _make_token(self.files.info(self.get_path(item)))


def _display(name: str) -> str:
    """Return a name as text that can be stored and shown, even if it is not UTF-8."""
    return name.encode(errors=_BYTES).decode(errors="backslashreplace")


def _make_bucket_token(etag: object, size: object) -> str:
    return f"{etag}:{size}"


def _make_token(entry: Entry) -> str:
    """Return a text that differs after every change that the server tells."""
    modified = entry.get("modified") or entry.get("mtime")
    time = modified.isoformat() if isinstance(modified, datetime) else str(modified or "")
    return f"{entry.get('etag') or ''}:{entry.get('size')}:{time}"


def open_bucket(url: str, options: SourceOptions, network: WayOut | None = None) -> RemoteSource:
    """Open the source `s3://BUCKET/PREFIX`; `AWS_ENDPOINT_URL` names another server than Amazon."""
    check_connection(url, options, "s3fs")
    files = BucketFiles(url.rstrip("/"), options, network or WayOut())
    return RemoteSource(files, options.most_bytes)


def open_webdav(url: str, options: SourceOptions, network: WayOut | None = None) -> RemoteSource:
    """Open the source `webdavs://HOST/PATH`, or `webdav://` without encryption."""
    check_connection(url, options, "webdav4")
    scheme = "https" if url.startswith("webdavs:") else "http"
    address = f"{scheme}://{url.partition('://')[2].rstrip('/')}"

    def connect() -> Any:  # noqa: ANN401 - of `fsspec`
        from httpx import URL
        from webdav4.fsspec import WebdavFileSystem

        from fathom.ingest.sources.guarded_transport import get_port, open_transport

        server = URL(address)
        host = server.raw_host.decode("ascii").strip("[]")
        guard = guard_host(host, get_port(server), network, is_named=options.allow_private)

        def check_host(request: Any) -> None:  # noqa: ANN401 - of `httpx`
            # A redirection could make this machine ask another one, with the password, or send it
            # without encryption.
            if (request.url.scheme, request.url.netloc) != (server.scheme, server.netloc):
                raise SourceUnavailable(
                    f"{url}: is redirected to another host, port or scheme; name that one"
                )

        def join_url(path: str, add_trailing_slash: bool = False) -> Any:  # noqa: ANN401
            # The library leaves `#`, `?` and `%` in a name as they are, so it asks for another one.
            end = "/" if add_trailing_slash else ""
            return URL(f"{address}/{quote(path.strip('/'))}".rstrip("/") + end)

        files = WebdavFileSystem(
            address,
            auth=(options.user, options.password) if options.password else None,
            timeout=READ_S,
            event_hooks={"request": [check_host]},
            transport=open_transport(server, guard),
            skip_instance_cache=True,
        )
        files.client.join_url = join_url
        return files

    files = FolderFiles(url, "", address, connect, lambda files: files.client.http.close())
    return RemoteSource(files, options.most_bytes)


def open_sftp(url: str, options: SourceOptions, network: WayOut | None = None) -> RemoteSource:
    """Open the source `sftp://USER@HOST/PATH`; the host's key must be in `known_hosts`."""
    check_connection(url, options, "sshfs")
    parts = urlsplit(url)
    host = str(parts.hostname)
    root = unquote(parts.path, errors=_BYTES).rstrip("/")
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
            # The default of the library is to trust every host.
            known_hosts=(),
            connect_timeout=CONNECT_S,
            login_timeout=READ_S,
            keepalive_interval=15,
            sftp_client_kwargs={"path_errors": _BYTES},
            skip_instance_cache=True,
        )

    return RemoteSource(FolderFiles(url, root, address, connect), options.most_bytes)


def _connect_ssh(
    login: Mapping[str, Any], options: SourceOptions, network: WayOut | None
) -> socket.socket | None:
    """Connect to an SSH server; `None` if the configuration of SSH leads there another way.

    Args:
        login: The host and the port, and the user name if there is one.
        options: The options of the source.
        network: The ways out of this machine.
    """
    from asyncssh import SSHClientConnectionOptions

    # The empty configuration stands for that of the user, which may name another host.
    settings = SSHClientConnectionOptions(config=(), client_keys=None, agent_path=None, **login)
    if settings.tunnel or settings.proxy_command:
        return None
    host, port = settings.host, settings.port
    guard = guard_host(host, port, network, is_named=options.allow_private)
    return guard.connect(host, port, CONNECT_S)


def check_connection(url: str, options: SourceOptions, package: str) -> None:
    """Accept a source that needs a connection and a package.

    Raises:
        UsageError: If it must not be opened, or the package is missing.
    """
    if not urlsplit(url).netloc:
        raise UsageError(f"{url!r} names no host or bucket")
    if options.offline:
        raise UsageError(f"offline: {url} would need a connection")
    if find_spec(package) is None:
        raise UsageError(f"{url} needs more: pip install 'fathom-qa[sources]'")
