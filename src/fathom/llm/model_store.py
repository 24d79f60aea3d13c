"""The folder of pulled models, and the transfer of a model into it.

A file is first written to a part with a hidden name, and gets its own name only when its digest is
right. So a pull that breaks off at any instant leaves no wrong model, but a part that the next pull
continues.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BufferedRandom
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from fathom.errors import ModelError, RunError, UsageError
from fathom.llm.catalogue import ModelFile, check_name
from fathom.system import lock_file

if TYPE_CHECKING:  # only a pull needs the client, which takes a while to import
    from httpx2 import Client, Response

OnProgress = Callable[[int, int], None]
"""A function that takes the bytes fetched so far and the bytes of the whole file."""
_TRIES = 5
"""The largest number of connections of one pull; each continues where the one before broke off."""
_MOST_REDIRECTS = 5
_CONNECT_S = 10.0
_SILENCE_S = 60.0
_RANGE = re.compile(r"bytes (?:(\d+)-\d+|\*)/(\d+)")
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A model in the folder.

    Attributes:
        name: The name after `local:`.
        path: The file of weights, or its part if the pull has not ended.
        size: The bytes that have been fetched.
        is_whole: Whether the pull has ended.
    """

    name: str
    path: Path
    size: int
    is_whole: bool


class ModelStore:
    """The folder of pulled models; several processes may use it at once."""

    def __init__(self, folder: Path | None = None) -> None:
        """Create the store without touching the folder.

        Args:
            folder: The folder; by default `fathom/models` in the user's data folder
                (`XDG_DATA_HOME`).
        """
        self.folder = folder or _get_data_folder() / "fathom" / "models"

    def list(self) -> list[StoredModel]:
        """Return the pulled models in the order of their names, then the unfinished ones."""
        whole = [
            StoredModel(path.stem, path, path.stat().st_size, is_whole=True)
            for path in sorted(self.folder.glob("[!.]*.gguf"))
        ]
        parts = [
            StoredModel(path.name[1:].rsplit(".", 2)[0], path, path.stat().st_size, is_whole=False)
            for path in sorted(self.folder.glob(".*.part"))
        ]
        return [*whole, *parts]

    def find(self, name: str) -> Path | None:
        """Return the file of the pulled model of this name; `None` if there is none."""
        return next(
            (model.path for model in self.list() if model.name == name and model.is_whole), None
        )

    def remove(self, name: str) -> int:
        """Remove a model and its unfinished parts, and return the bytes that this frees.

        Raises:
            UsageError: If there is no model of this name.
        """
        matches = [model for model in self.list() if model.name == name]
        if not matches:
            names = ", ".join(sorted({model.name for model in self.list()}))
            raise UsageError(f"no model {name!r} is here; there are {names or 'none'}")
        for model in matches:
            model.path.unlink(missing_ok=True)
        return sum(model.size for model in matches)

    def pull(self, file: ModelFile, on_progress: OnProgress = lambda _done, _total: None) -> Path:
        """Fetch a file of weights, or the missing rest of it, and return its path.

        Args:
            file: The file with its digest.
            on_progress: A function that is called after each piece, as `OnProgress` says.

        Raises:
            UsageError: If the address is not `https`, or another model has the name.
            ModelError: If the file has another digest or size; nothing of it is kept.
            RunError: If another process pulls the file, the disk is full, the server refuses, or
                the connection broke off. The fetched part is kept for the next pull.
        """
        check_transport(file.url)
        target = self.folder / f"{check_name(file.name)}.gguf"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            # The digest in the name keeps the parts of two files with the same name apart.
            part = self.folder / f".{file.name}.{file.sha256[:12]}.part"
            with _open_part(part, file.name) as stream:
                if target.exists():
                    part.unlink()
                    _check_stored(target, file)
                else:
                    _fetch_file(file, part, stream, on_progress)
                    part.replace(target)
        except OSError as error:
            raise RunError(
                f"{error.filename or self.folder}: {error.strerror}; make room, or set "
                "XDG_DATA_HOME to another folder"
            ) from error
        return target


def check_transport(url: str, *, is_redirect: bool = False) -> None:
    """Check that nobody between the server and this machine can read or change the file.

    Args:
        url: The address.
        is_redirect: Whether a server named the address, and not the user. Only the user may name an
            `http` address of this machine.

    Raises:
        UsageError: If the address is not allowed.
    """
    address = urlsplit(url)
    if address.scheme == "https" or (not is_redirect and address.hostname in _LOOPBACK):
        return
    kind = "leads to" if is_redirect else "is"
    raise UsageError(f"{url} {kind} no https address; pull from another one")


def _get_data_folder() -> Path:
    return Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share").expanduser()


@contextmanager
def _open_part(part: Path, name: str) -> Iterator[BufferedRandom]:
    """Open and lock the part for reading and appending; remove it at the end if it is empty.

    Raises:
        RunError: If another process pulls the file.
    """
    with part.open("a+b") as stream:
        unlock = lock_file(stream.fileno(), part)
        is_current = False
        with suppress(FileNotFoundError):
            # Between opening and locking another process may have finished the part.
            is_current = os.fstat(stream.fileno()).st_ino == part.stat().st_ino
        if unlock is None or not is_current:
            if unlock is not None:
                unlock()
            raise RunError(f"another process pulls {name}; wait for it and run it again")
        try:
            yield stream
        finally:
            if not os.fstat(stream.fileno()).st_size:
                part.unlink(missing_ok=True)
            unlock()


def _check_stored(path: Path, file: ModelFile) -> None:
    """Check that a stored file is the one to pull.

    Raises:
        UsageError: If it has another digest.
    """
    with path.open("rb") as stream:
        if hashlib.file_digest(stream, "sha256").hexdigest() != file.sha256:
            raise UsageError(
                f"{path} is another file; pull again after: fathom models remove {file.name}"
            )


def _fetch_file(
    file: ModelFile, part: Path, stream: BufferedRandom, on_progress: OnProgress
) -> None:
    """Complete the part, check its size and digest, and write it to the disk.

    Raises:
        ModelError: If the size or the digest is wrong; then the part is removed.
        RunError: If the server refuses, the connection broke off, or the disk is full.
    """
    try:
        with _make_client() as client:
            _Transfer(client, file, stream, on_progress).run()
        _check_digest(stream, file)
    except ModelError:
        part.unlink()
        raise
    os.fsync(stream.fileno())


def _check_digest(stream: BufferedRandom, file: ModelFile) -> None:
    """Check the digest of a fetched file.

    Raises:
        ModelError: If it is not that of `file`.
    """
    stream.seek(0)
    digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if digest != file.sha256:
        raise ModelError(
            f"{file.url} has the digest {digest} instead of {file.sha256}; it is removed: pull it "
            "again, or from another address"
        )


def _make_client() -> "Client":
    from httpx2 import Client, Timeout

    # `_open_reply` follows redirects one by one, because each must lead to https.
    timeout = Timeout(_SILENCE_S, connect=_CONNECT_S)
    return Client(timeout=timeout, follow_redirects=False, headers={"User-Agent": "fathom"})


class _Transfer:
    """The transfer of the missing rest of a file to a stream, over several connections if need be.

    The stream holds the part that was fetched before.
    """

    def __init__(
        self, client: "Client", file: ModelFile, stream: BufferedRandom, on_progress: OnProgress
    ) -> None:
        self._client = client
        self._file = file
        self._stream = stream
        self._on_progress = on_progress
        self._total = file.size

    def run(self) -> None:
        """Fetch the missing bytes.

        After a break, connect again, at most `_TRIES` times in all, as long as each connection
        brings some bytes.

        Raises:
            ModelError: If the file has another size.
            RunError: If the server refuses, the connection broke off, or the disk is full.
            UsageError: If the server redirects to an address that is not `https`.
        """
        from httpx2 import HTTPError, InvalidURL

        failure = ""
        for _ in range(_TRIES):
            before = self._measure_part()
            if self._total and before == self._total:
                return
            try:
                self._continue()
            except (HTTPError, InvalidURL) as error:
                failure = f" ({type(error).__name__})"
            if self._measure_part() == before:
                break
        if self._measure_part() == self._total:
            return
        raise RunError(
            f"{self._file.url} broke off{failure} with {self._measure_part():,} of "
            f"{self._total:,} bytes here; run it again to go on"
        )

    def _measure_part(self) -> int:
        """Return the bytes of the part, and move the stream to its end."""
        return self._stream.seek(0, os.SEEK_END)

    def _continue(self) -> None:
        """Fetch the missing bytes over one connection, until it ends or breaks."""
        done = self._measure_part()
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={done}-"} if done else {})
        with self._open_reply(headers) as reply:
            begin, total = self._parse_place(reply, done)
            self._check_total(total, begin)
            self._stream.truncate(begin)
            self._on_progress(begin, total)
            if reply.is_success:
                self._write(reply, begin)

    def _write(self, reply: "Response", done: int) -> None:
        """Write the bytes of a reply behind the `done` bytes of the part."""
        for piece in reply.iter_raw():
            done += len(piece)
            self._check_size(done)
            self._stream.write(piece)
            self._on_progress(done, self._total)
        self._stream.flush()

    @contextmanager
    def _open_reply(self, headers: Mapping[str, str]) -> "Iterator[Response]":
        """Send the request, follow redirects, and yield the reply.

        Raises:
            UsageError: If a redirect leads to an address that is not `https`.
            RunError: If there are too many redirects.
        """
        url = self._file.url
        for _ in range(_MOST_REDIRECTS):
            with self._client.stream("GET", url, headers=headers) as reply:
                if not reply.has_redirect_location:
                    yield reply
                    return
                url = urljoin(url, reply.headers["Location"])
                check_transport(url, is_redirect=True)
        raise RunError(f"{self._file.url} redirects too often; pull from another address")

    def _parse_place(self, reply: "Response", done: int) -> tuple[int, int]:
        """Return the offset at which the reply begins, and the size of the whole file, in bytes.

        Args:
            reply: The reply.
            done: The bytes of the part, from which the request asked to continue.

        Raises:
            RunError: If the server refuses or names no size.
        """
        match = _RANGE.fullmatch(reply.headers.get("Content-Range", ""))
        if reply.status_code == 206 and match and match[1] == str(done):
            return done, int(match[2])
        # The server has nothing behind the part, which is whole or too long.
        if reply.status_code == 416 and match and match[1] is None:
            return done, int(match[2])
        length = reply.headers.get("Content-Length", "")
        if reply.status_code == 200 and length.isdecimal():
            return 0, int(length)
        reason = "gave no length" if reply.status_code == 200 else f"said {reply.status_code}"
        raise RunError(f"{self._file.url} {reason}; check the address, or pull later")

    def _check_total(self, total: int, begin: int) -> None:
        """Check the size of the file and the free space of the disk, and note the size.

        Args:
            total: The size of the whole file in bytes.
            begin: The bytes of it that are already here.

        Raises:
            ModelError: If the file has another size than expected.
            RunError: If the disk has too little space for the rest.
        """
        if self._total not in {0, total} or begin > total:
            raise ModelError(
                f"{self._file.url} has {total:,} bytes instead of {self._total or begin:,}; it is "
                "removed: pull it again, or from another address"
            )
        self._total = total
        folder = Path(self._stream.name).parent
        free = shutil.disk_usage(folder).free
        if free < total - begin:
            raise RunError(
                f"{folder} has {free:,} bytes free and {self._file.name} needs "
                f"{total - begin:,}; make room, or set XDG_DATA_HOME to another folder"
            )

    def _check_size(self, size: int) -> None:
        """Check that no more bytes than those of the whole file have come.

        Raises:
            ModelError: If there are more.
        """
        if size > self._total:
            raise ModelError(
                f"{self._file.url} sends more than its {self._total:,} bytes; it is removed: pull "
                "it again, or from another address"
            )
