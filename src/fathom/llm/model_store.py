"""The folder of pulled models, and the transfer of a model into it.

A file is written to a part with a hidden name, and gets its own name only when its digest is right:
a pull that ends at any instant leaves a part that the next pull continues, and no wrong model.
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
"""A function that is called with the bytes that are here, and with those of the whole file."""
_TRIES = 5
"""The most connections of one pull; each continues where the one before broke off."""
_MOST_REDIRECTS = 5
_CONNECT_S = 10.0
_SILENCE_S = 60.0
_RANGE = re.compile(r"bytes (?:(\d+)-\d+|\*)/(\d+)")
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A model in the folder.

    Attributes:
        name: Its name after `local:`.
        path: The file of weights, or the part of it.
        size: The bytes that are here.
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
            folder: By default `fathom/models` in the user's data folder (`XDG_DATA_HOME`).
        """
        self.folder = folder or _get_data_folder() / "fathom" / "models"

    def list(self) -> list[StoredModel]:
        """Return the pulled models by name, then those whose pull has not ended."""
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
        """Return the file of the pulled model of this name; `None` without one."""
        return next(
            (model.path for model in self.list() if model.name == name and model.is_whole), None
        )

    def remove(self, name: str) -> int:
        """Remove a model, or the part of one, and return the bytes that this frees.

        Raises:
            UsageError: If there is none of this name.
        """
        matches = [model for model in self.list() if model.name == name]
        if not matches:
            names = ", ".join(sorted({model.name for model in self.list()}))
            raise UsageError(f"no model {name!r} is here; there are {names or 'none'}")
        for model in matches:
            model.path.unlink(missing_ok=True)
        return sum(model.size for model in matches)

    def pull(self, file: ModelFile, on_progress: OnProgress = lambda _done, _total: None) -> Path:
        """Fetch a file of weights, or what is missing of it, and return its place.

        Args:
            file: The file, with its digest.
            on_progress: Called with the bytes so far and in all, after each piece.

        Raises:
            UsageError: If the address is not `https`, or another model has the name.
            ModelError: If the file has another digest or size; nothing of it is kept.
            RunError: If another process pulls the file, the disk is full, or the connection broke
                off and what is here is kept for the next pull.
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
    """Check that nobody on the way can read or change the file.

    Args:
        url: The address.
        is_redirect: Whether a server named it. A server may not name an address of this machine.

    Raises:
        UsageError: If the address is neither `https` nor, named by the user, on this machine.
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
    """Open the part, which no other process may write meanwhile."""
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
    with path.open("rb") as stream:
        if hashlib.file_digest(stream, "sha256").hexdigest() != file.sha256:
            raise UsageError(
                f"{path} is another file; pull again after: fathom models remove {file.name}"
            )


def _fetch_file(
    file: ModelFile, part: Path, stream: BufferedRandom, on_progress: OnProgress
) -> None:
    """Complete the part, and check its size and digest; a wrong one is removed."""
    try:
        with _make_client() as client:
            _Transfer(client, file, stream, on_progress).run()
        _check_digest(stream, file)
    except ModelError:
        part.unlink()
        raise
    os.fsync(stream.fileno())


def _check_digest(stream: BufferedRandom, file: ModelFile) -> None:
    stream.seek(0)
    digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if digest != file.sha256:
        raise ModelError(
            f"{file.url} has the digest {digest} instead of {file.sha256}; it is removed: pull it "
            "again, or from another address"
        )


def _make_client() -> "Client":
    from httpx2 import Client, Timeout

    # Redirects are followed here, one by one, as each must lead to https.
    timeout = Timeout(_SILENCE_S, connect=_CONNECT_S)
    return Client(timeout=timeout, follow_redirects=False, headers={"User-Agent": "fathom"})


class _Transfer:
    """The transfer of a file to the end of a stream, over several connections if one breaks."""

    def __init__(
        self, client: "Client", file: ModelFile, stream: BufferedRandom, on_progress: OnProgress
    ) -> None:
        self._client = client
        self._file = file
        self._stream = stream
        self._on_progress = on_progress
        self._total = file.size

    def run(self) -> None:
        """Fetch what is missing; a connection that breaks is replaced while it brings something.

        Raises:
            ModelError: If the file has another size.
            RunError: If the server refuses, or the connection broke off.
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
        return self._stream.seek(0, os.SEEK_END)

    def _continue(self) -> None:
        """Fetch what is missing over one connection."""
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
        for piece in reply.iter_raw():
            done += len(piece)
            self._check_size(done)
            self._stream.write(piece)
            self._on_progress(done, self._total)
        self._stream.flush()

    @contextmanager
    def _open_reply(self, headers: Mapping[str, str]) -> "Iterator[Response]":
        """Send the request, also to the places that a server names."""
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
        """Return the place in the file from which the reply goes on, and the bytes of the file."""
        match = _RANGE.fullmatch(reply.headers.get("Content-Range", ""))
        if reply.status_code == 206 and match and match[1] == str(done):
            return done, int(match[2])
        # The part holds all that there is, or more.
        if reply.status_code == 416 and match and match[1] is None:
            return done, int(match[2])
        length = reply.headers.get("Content-Length", "")
        if reply.status_code == 200 and length.isdecimal():
            return 0, int(length)
        reason = "gave no length" if reply.status_code == 200 else f"said {reply.status_code}"
        raise RunError(f"{self._file.url} {reason}; check the address, or pull later")

    def _check_total(self, total: int, begin: int) -> None:
        """Refuse a file of another size, and one for which the disk has no room."""
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
        if size > self._total:
            raise ModelError(
                f"{self._file.url} sends more than its {self._total:,} bytes; it is removed: pull "
                "it again, or from another address"
            )
