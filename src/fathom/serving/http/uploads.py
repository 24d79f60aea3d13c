"""Files that are sent: where they are stored, and what they may be called."""

import os
import stat
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex

from starlette.datastructures import UploadFile

PIECE = 1 << 20
MOST_DEPTH = 8
MOST_BYTES = 200
"""Of the name of a file or a folder."""


class Unstorable(Exception):
    """A file cannot be stored under its name; says why, in one line."""


@dataclass(slots=True)
class Stored:
    """What became of the files of one upload.

    Attributes:
        names: What each stored file is called by who sent it, by its path.
        refused: The others: the name as `path`, `outcome` and `reason`.
    """

    names: dict[str, str] = field(default_factory=dict)
    refused: list[Mapping[str, str]] = field(default_factory=list)


def safe_name(given: str) -> str:
    """The path below the uploads under which a file of this name is stored.

    Raises:
        Unstorable: If there is none.
    """
    clean = "".join(each for each in given if unicodedata.category(each)[0] != "C")
    parts = [part.strip() for part in clean.replace("\\", "/").split("/")]
    kept = [part for part in parts if part not in {"", ".", ".."}]
    if not kept:
        raise Unstorable("the file has no name")
    if len(kept) > MOST_DEPTH:
        raise Unstorable(f"more than {MOST_DEPTH} folders around it")
    if any(len(part.encode()) > MOST_BYTES for part in kept):
        raise Unstorable(f"a name of more than {MOST_BYTES} bytes")
    if any(part.startswith(".") for part in kept):
        raise Unstorable("hidden files are not read")
    return "/".join(kept)


def is_upload(path: Path, folder: Path) -> bool:
    """Tell whether `store` has written this file into the folder; one behind a link is none."""
    try:
        name = path.relative_to(folder).as_posix()
        is_own = name == safe_name(name) and path.resolve() == folder.resolve() / name
        return is_own and stat.S_ISREG(path.lstat().st_mode)
    except (Unstorable, ValueError, OSError):  # it lies elsewhere, or is nowhere
        return False


def store(files: Sequence[UploadFile], folder: Path) -> Stored:
    """Write files into a folder; each is there whole or not at all."""
    done = Stored()
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        given = file.filename or ""
        try:
            name = safe_name(given)
            path = _placed(folder, name, done.names)
            _write(file, path)
        except (Unstorable, OSError) as error:
            why = error.strerror or "cannot be stored" if isinstance(error, OSError) else str(error)
            shown = "".join(each if each.isprintable() else "\ufffd" for each in given[:200])
            done.refused.append({"path": shown, "outcome": "refused", "reason": why})
        else:
            done.names[str(path)] = name
    return done


def _placed(folder: Path, name: str, taken: Mapping[str, str]) -> Path:
    path = folder / name
    if str(path) in taken:
        raise Unstorable("another file of this upload has the same name")
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        raise Unstorable("a folder has this name")
    # Nobody but us writes here; a link would be somebody's doing.
    if not path.parent.resolve().is_relative_to(folder.resolve()):
        raise Unstorable("its folder lies elsewhere")
    return path


def _write(file: UploadFile, path: Path) -> None:
    part = path.parent / f".{token_hex(8)}.part"
    try:
        with part.open("xb") as target:
            os.chmod(target.fileno(), 0o600)  # noqa: PTH101 - the open file, whatever its name
            while piece := file.file.read(PIECE):
                target.write(piece)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
