"""The writing of uploaded files into a folder, under safe names."""

import os
import stat
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex

from starlette.datastructures import UploadFile

from fathom.documents.discover import READERS_FILE
from fathom.errors import RunError
from fathom.system import create_folder, sync_folder

PIECE = 1 << 20
"""The bytes of one read."""
MOST_DEPTH = 8
"""The number of parts of a path: folders and the file itself."""
MOST_BYTES = 200
"""The length of the name of a file or a folder in bytes of UTF-8, at most."""


_SIDECAR_ENDING = f".{READERS_FILE}"


class UnstorableFile(Exception):
    """A file cannot be stored under its name; the message is the reason, in one line."""


@dataclass(slots=True)
class StoredUpload:
    """The outcome of one upload.

    Attributes:
        names: The name that the client gave each stored file, by its path.
        refused: The files that were not stored: their name as `path`, `outcome` and `reason`.
    """

    names: dict[str, str] = field(default_factory=dict)
    refused: list[Mapping[str, str]] = field(default_factory=list)


def make_safe_name(name: str) -> str:
    """Return the path below the uploads under which a file of this name is stored.

    Raises:
        UnstorableFile: If the name is empty, too long, too deep or hidden.
    """
    clean = "".join(char for char in name if unicodedata.category(char)[0] != "C")
    parts = [part.strip() for part in clean.replace("\\", "/").split("/")]
    path_parts = [part for part in parts if part not in {"", ".", ".."}]
    if not path_parts:
        raise UnstorableFile("the file has no name")
    if len(path_parts) > MOST_DEPTH:
        raise UnstorableFile(f"its path has more than {MOST_DEPTH} parts")
    if any(len(part.encode()) > MOST_BYTES for part in path_parts):
        raise UnstorableFile(f"a part of its path has more than {MOST_BYTES} bytes")
    # Unfinished uploads are hidden files of the same folder.
    if any(part.startswith(".") for part in path_parts):
        raise UnstorableFile("hidden files are not read")
    return "/".join(path_parts)


def is_sidecar(name: str) -> bool:
    """Return whether a file of this name names the readers of the file beside it."""
    return name.endswith(_SIDECAR_ENDING)


def name_sidecar(document: str) -> str:
    """Return the name of the file that may name the readers of a document."""
    return f"{document}{_SIDECAR_ENDING}"


def name_limited(sidecar: str) -> str:
    """Return the name of the document whose readers a sidecar names."""
    return sidecar.removesuffix(_SIDECAR_ENDING)


def is_upload(path: Path, folder: Path) -> bool:
    """Return whether a path is that of a file in the folder which `store_files` can have written.

    A link, or a file in a folder that is a link, is none.
    """
    try:
        name = path.relative_to(folder).as_posix()
        is_inside = name == make_safe_name(name) and path.resolve() == folder.resolve() / name
        return is_inside and stat.S_ISREG(path.lstat().st_mode)
    except (UnstorableFile, ValueError, OSError):  # the file lies elsewhere, or does not exist
        return False


def store_files(files: Sequence[UploadFile], folder: Path) -> StoredUpload:
    """Write files into a folder; each is stored completely or not at all.

    A stored file survives a loss of power, as does the job that ingests it.

    Raises:
        RunError: If the folder cannot be made.
    """
    stored = StoredUpload()
    try:
        create_folder(folder)
    except OSError as error:
        reason = f"{folder}: {error.strerror}; uploads need a folder that the server may write"
        raise RunError(reason) from error
    for file in files:
        client_name = file.filename or ""
        try:
            name = make_safe_name(client_name)
            path = _choose_path(folder, name, stored.names)
            _write_file(file, path)
        except (UnstorableFile, OSError) as error:
            reason = (
                error.strerror or "cannot be stored" if isinstance(error, OSError) else str(error)
            )
            stored.refused.append(
                {"path": _make_printable(client_name), "outcome": "refused", "reason": reason}
            )
        else:
            stored.names[str(path)] = name
    return stored


def _make_printable(name: str) -> str:
    """Return the beginning of a name in one line; spaces of any width are shown as they are."""
    return "".join(
        char if char.isprintable() or unicodedata.category(char) == "Zs" else "\ufffd"
        for char in name[:200]
    )


def _choose_path(folder: Path, name: str, taken: Mapping[str, str]) -> Path:
    path = folder / name
    if path.name == READERS_FILE:
        raise UnstorableFile("rules of readers are set with `fathom ingest --readers`")
    if str(path) in taken:
        raise UnstorableFile("another file of this upload has the same name")
    create_folder(path.parent)
    if path.is_dir():
        _remove_empty_folders(path)
    if path.is_dir():
        raise UnstorableFile("a folder has this name")
    # Only the server writes here: a link would be an attack.
    if not path.parent.resolve().is_relative_to(folder.resolve()):
        raise UnstorableFile("its folder is a link to another place")
    return path


def _remove_empty_folders(top: Path) -> None:
    """Remove all empty folders below a folder, and the folder itself if it is then empty."""
    for place, _, _ in os.walk(top, topdown=False):
        with suppress(OSError):  # it is not empty
            Path(place).rmdir()


def _write_file(file: UploadFile, path: Path) -> None:
    part = path.parent / f".{token_hex(8)}.part"
    try:
        with part.open("xb") as target:
            os.chmod(target.fileno(), 0o600)  # noqa: PTH101 - the open file, whatever its name
            while piece := file.file.read(PIECE):
                target.write(piece)
            target.flush()
            os.fsync(target.fileno())
        part.replace(path)
        sync_folder(path.parent)
    finally:
        part.unlink(missing_ok=True)
