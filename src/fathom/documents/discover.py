"""Paths as users give them, the files under them in a stable order, and what names a file."""

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from heapq import merge
from pathlib import Path, PurePath

from fathom.documents.disk_set import DiskSet
from fathom.errors import UsageError
from fathom.extensions import format_of

_CORPORA = ("corpus.jsonl", "corpus.jsonl.gz")

OnError = Callable[[Path, OSError], None]
"""Told of a folder that could not be looked into, and why."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which files are taken, by shell patterns (`*`, `?`, `[ab]`; `*` takes slashes too).

    A pattern without a slash is held against the name of a file and of each folder around it,
    one with a slash against their paths, from the folder that was named.

    Attributes:
        include: Where there are any, a file must match one.
        exclude: A file must match none.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def takes(self, file: PurePath) -> bool:
        """Whether a file is taken; its path is given from the folder that was named."""
        return not self.shuts(file) and (not self.include or _matches(file, self.include))

    def shuts(self, path: PurePath) -> bool:
        """Whether a file, or a folder with all that is in it, is left out."""
        return _matches(path, self.exclude)


def _matches(path: PurePath, patterns: Iterable[str]) -> bool:
    whole = path.as_posix()
    around = [parent.as_posix() for parent in path.parents if parent.name]
    return any(
        fnmatchcase(name, pattern)
        for pattern in (each.strip("/") for each in patterns)
        for name in ((whole, *around) if "/" in pattern else path.parts)
    )


def absolute(path: str | Path) -> Path:
    """The path from the root, without `..`; links stay as they are named."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow links


def check_paths(paths: Sequence[Path], wanted: Wanted, is_known: Callable[[Path], bool]) -> None:
    """Accept files and folders with something to ingest, or to let go, in them.

    Args:
        paths: Files and folders.
        wanted: Which files are taken.
        is_known: Whether something was read there before.

    Raises:
        UsageError: If one is missing, or there is no file below any of them.
    """
    for path in paths:
        if not path.exists() and not is_known(path):
            raise UsageError(f"{path}: no such file or folder")
    there = [path for path in paths if path.exists()]
    if not any(True for _ in discover(there, wanted)) and not any(map(is_known, paths)):
        places = ", ".join(str(path) for path in paths)
        chosen = wanted.include or wanted.exclude
        why = "--include and --exclude leave none" if chosen else "hidden ones are skipped"
        raise UsageError(f"{places}: no file to ingest there ({why})")


def discover(
    paths: Iterable[Path],
    wanted: Wanted | None = None,
    *,
    on_error: OnError = lambda _folder, _error: None,
) -> Iterator[Path]:
    """The regular files at and under `paths`, each once, in the order of their paths as text.

    Hidden files and folders (`.fathom` among them), devices, pipes and sockets are left out. A
    link is followed only if it leads to a file inside the folder that was named which is not given
    anyway; linked folders are never entered. Of a folder that holds a corpus file only that file is
    given. The names of the folders on the way are held; what has several hard links, on disk.

    Args:
        paths: Files and folders.
        wanted: Which files are taken; by default all.
        on_error: Told of folders that could not be looked into.

    Raises:
        UsageError: If one of `paths` does not exist.
    """
    roots = list(paths)
    for path in roots:
        if not os.path.lexists(path):
            raise UsageError(f"{path}: no such file or folder; check the path")
    under = (_under(path, wanted or Wanted(), on_error) for path in roots)
    last = ""
    with DiskSet() as seen:
        for file in merge(*under, key=shown):
            try:
                found = file.stat()
            except OSError:
                continue  # gone since it was listed
            if shown(file) == last:
                continue
            if found.st_nlink > 1 and not seen.add(f"{found.st_dev}:{found.st_ino}"):
                continue
            last = shown(file)
            yield file


def shown(path: PurePath) -> str:
    """The path as text that can be stored and shown, also where its name is not UTF-8."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def snapshot(paths: Iterable[Path], wanted: Wanted | None = None) -> dict[str, tuple[int, ...]]:
    """What tells that a file has changed, by path, of those that `discover` finds now.

    A path that is not there is an empty folder.
    """
    found: dict[str, tuple[int, ...]] = {}
    for file in discover((path for path in paths if os.path.lexists(path)), wanted):
        try:
            now = file.stat()
        except OSError:
            continue  # gone since it was listed
        found[str(file)] = now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns
    return found


def _under(path: Path, wanted: Wanted, on_error: OnError) -> Iterator[Path]:
    if path.is_dir():
        root = path.resolve()
        for file in _files(path, root, wanted, on_error):
            if wanted.takes(file.relative_to(path)) and not _given_anyway(file, root, wanted):
                yield file
    elif _is_regular(path) and wanted.takes(PurePath(path.name)):
        yield path


def _files(path: Path, root: Path, wanted: Wanted, on_error: OnError) -> Iterator[Path]:
    levels = [iter([(path, True)])]
    while levels:
        for each, is_folder in levels[-1]:
            if not is_folder:
                yield each
            elif each == path or not wanted.shuts(each.relative_to(path)):
                levels.append(iter(_looked_into(each, root, on_error)))
                break
        else:
            levels.pop()


def _looked_into(folder: Path, root: Path, on_error: OnError) -> list[tuple[Path, bool]]:
    try:
        return _entries(folder, root)
    except FileNotFoundError:
        return []  # gone since it was listed
    except OSError as error:
        on_error(folder, error)
        return []


def _entries(folder: Path, root: Path) -> list[tuple[Path, bool]]:
    """The files that may be wanted and the folders directly inside `folder`, and which is one.

    Raises:
        OSError: If the folder cannot be listed, or what it lists cannot be looked at.
    """
    with os.scandir(folder) as scan:
        entries = [entry for entry in scan if not entry.name.startswith(".")]
    corpus = [folder / name for name in _CORPORA if _is_regular(folder / name)]
    if corpus:
        return [(corpus[0], False)]
    found = []
    for entry in entries:
        path = folder / entry.name
        if entry.is_dir(follow_symlinks=False):
            found.append((f"{shown(path)}/", path, True))
        elif entry.is_file(follow_symlinks=False) or (_is_regular(path) and _inside(path, root)):
            found.append((shown(path), path, False))
    return [(path, is_folder) for _, path, is_folder in sorted(found)]


def _given_anyway(file: Path, root: Path, wanted: Wanted) -> bool:
    """Whether it is a link to a file that the folder `root` gives by itself."""
    if not file.is_symlink():
        return False
    target = file.resolve()
    if target == root or not target.is_relative_to(root):
        return False
    inner = target.relative_to(root)
    around = [root, *(root / each for each in reversed(inner.parents[:-1]))]
    corpora = [folder / name for folder in around for name in _CORPORA]
    shadowed = any(corpus != target and _is_regular(corpus) for corpus in corpora)
    hidden = any(part.startswith(".") for part in inner.parts)
    return not shadowed and not hidden and wanted.takes(inner)


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except PermissionError:
        if path.is_symlink():
            return False  # where it leads is not ours to know
        raise
    except (OSError, ValueError):
        return False  # a dangling or circular link


def _inside(file: Path, root: Path) -> bool:
    return not file.is_symlink() or file.resolve().is_relative_to(root)


def content_digest(file: Path) -> str:
    """The sha256 of a file's bytes, as 64 hexadecimal digits.

    Where an extension reads such files, its package and version count too: what another version
    may read differently is read again.

    Raises:
        OSError: If it cannot be read.
        UsageError: If two packages bring an extension for it.
    """
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256")
    reads = format_of(file)
    if reads is not None:
        digest.update(f"\0{reads}".encode())
    return digest.hexdigest()


def document_id(digest: str) -> str:
    """The id of the document that a file with this content gives; equal files give the same."""
    return digest[:16]
