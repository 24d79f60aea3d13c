"""The files below the paths that a user names, in a stable order, and digests to identify them."""

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
from fathom.extensions import find_format

_CORPORA = ("corpus.jsonl", "corpus.jsonl.gz")
_QUESTIONS = tuple(
    f"{name}{packed}"
    for name in ("queries.jsonl", "questions.jsonl", "qrels.tsv", "qrels")
    for packed in ("", ".gz")
)
"""The files beside a corpus that make its folder a data set: questions and relevance judgements."""

OnError = Callable[[Path, OSError], None]
"""A callback for each folder that could not be listed, with the error."""


READERS_FILE = "readers.toml"
"""The name of a file of reading rules; `NAME.readers.toml` is the sidecar of the file `NAME`."""


@dataclass(frozen=True, slots=True)
class FileFilter:
    """A filter of files by shell patterns (`*`, `?`, `[ab]`; `*` matches slashes too).

    A pattern without a slash is compared with the name of a file and of each folder around it. A
    pattern with a slash is compared with their paths, relative to the folder that the user named.

    Attributes:
        include: Patterns of which a file must match one; without any, every file passes.
        exclude: Patterns of which a file must match none.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def accepts(self, file: PurePath) -> bool:
        """Return whether a file passes the filter; its path is relative to the named folder."""
        return not self.excludes(file) and (not self.include or _matches(file, self.include))

    def excludes(self, path: PurePath) -> bool:
        """Return whether a file, or a folder with all its contents, is excluded."""
        return _matches(path, self.exclude)


def _matches(path: PurePath, patterns: Iterable[str]) -> bool:
    """Return whether a path, or a folder around it, matches one of the patterns."""
    whole = path.as_posix()
    around = [parent.as_posix() for parent in path.parents if parent.name]
    return any(
        fnmatchcase(name, pattern)
        for pattern in (raw.strip("/") for raw in patterns)
        for name in ((whole, *around) if "/" in pattern else path.parts)
    )


def make_absolute(path: str | Path) -> Path:
    """Return the path from the root, without `..`; symbolic links are not followed."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow links


def check_paths(
    paths: Sequence[Path], file_filter: FileFilter, is_known: Callable[[Path], bool]
) -> None:
    """Check that there is something to ingest at the paths, or something to remove.

    Args:
        paths: Files and folders.
        file_filter: The filter of files.
        is_known: The function that returns whether something was read at a path before.

    Raises:
        UsageError: If a path is missing and unknown, or if there is no file below any path and
            none of them is known.
    """
    for path in paths:
        if not path.exists() and not is_known(path):
            raise UsageError(f"{path}: no such file or folder")
    existing = [path for path in paths if path.exists()]
    if not any(True for _ in discover_files(existing, file_filter)) and not any(
        map(is_known, paths)
    ):
        places = ", ".join(str(path) for path in paths)
        chosen = file_filter.include or file_filter.exclude
        why = "--include and --exclude leave none" if chosen else "hidden ones are skipped"
        raise UsageError(f"{places}: no file to ingest there ({why})")


def discover_files(
    paths: Iterable[Path],
    file_filter: FileFilter | None = None,
    *,
    on_error: OnError = lambda _folder, _error: None,
) -> Iterator[Path]:
    """Yield the regular files at and under `paths`, each once, in the order of their paths as text.

    Hidden files and folders (`.fathom` among them), files of reading rules, devices, pipes and
    sockets are left out. A link is followed only if it leads to a file inside the named folder that
    is not yielded anyway; linked folders are never entered. A data set, a folder with a corpus file
    and its questions (`queries.jsonl`, `qrels`), yields only its corpus.
    Memory holds only the names in the folders on the way; files with several hard links are
    remembered on disk.

    Args:
        paths: Files and folders.
        file_filter: The filter of files; by default it accepts all.
        on_error: A callback for each folder that cannot be listed.

    Raises:
        UsageError: If one of `paths` does not exist.
    """
    roots = list(paths)
    for path in roots:
        if not os.path.lexists(path):
            raise UsageError(f"{path}: no such file or folder; check the path")
    branches = (_walk_path(path, file_filter or FileFilter(), on_error) for path in roots)
    last = ""
    with DiskSet() as seen:
        for file in merge(*branches, key=format_path):
            try:
                status = file.stat()
            except OSError:
                continue  # removed since it was listed
            # Overlapping paths give a file twice, one after the other because of the order.
            if format_path(file) == last:
                continue
            if status.st_nlink > 1 and not seen.add(f"{status.st_dev}:{status.st_ino}"):
                continue
            last = format_path(file)
            yield file


def format_path(path: str | PurePath) -> str:
    """Return the path as text that can be stored and shown, even if its name is not UTF-8."""
    try:
        name = os.fsencode(path)
    except UnicodeEncodeError:  # a lone surrogate, which no name of a file gives
        name = str(path).encode("utf-8", "backslashreplace")
    return name.decode("utf-8", "backslashreplace")


def take_snapshot(
    paths: Iterable[Path], file_filter: FileFilter | None = None
) -> dict[str, tuple[int, ...]]:
    """Return a fingerprint of each file that `discover_files` finds now and of its sidecar.

    A path that does not exist counts as an empty folder.

    Returns:
        By path, the inode, the size in bytes, and the times of modification and of status change
        in nanoseconds.
    """
    fingerprints: dict[str, tuple[int, ...]] = {}
    for file in discover_files((path for path in paths if os.path.lexists(path)), file_filter):
        for path in (file, locate_sidecar(file)):
            try:
                status = path.stat()
            except OSError:
                continue  # removed since it was listed, or a document without a sidecar
            identity = status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
            fingerprints[str(path)] = identity
    return fingerprints


def discover_folders(paths: Iterable[Path], file_filter: FileFilter) -> Iterator[Path]:
    """Yield the folders in which a change may change what `discover_files` finds.

    Those are the folders that it enters, and the folder around a file or a missing path. Folders
    that cannot be listed are left out.
    """
    for path in paths:
        if not path.is_dir():
            yield path.parent
            continue
        for name, folders, _ in os.walk(path):
            folder = Path(name)
            yield folder
            folders[:] = [
                inner
                for inner in folders
                if not is_left_out(inner)
                and not file_filter.excludes((folder / inner).relative_to(path))
            ]


def is_left_out(name: str) -> bool:
    """Return whether a file or folder of this name holds no documents: hidden, or of rights."""
    return name.startswith(".") or name == READERS_FILE or name.endswith(f".{READERS_FILE}")


def locate_sidecar(file: Path) -> Path:
    """Return the path of a document's sidecar, the file that may name its readers."""
    return file.with_name(f"{file.name}.{READERS_FILE}")


def _walk_path(path: Path, file_filter: FileFilter, on_error: OnError) -> Iterator[Path]:
    """Yield the accepted files at and under one path, in order."""
    if path.is_dir():
        root = path.resolve()
        for file in _walk_folder(path, root, file_filter, on_error):
            is_accepted = file_filter.accepts(file.relative_to(path))
            if is_accepted and not _is_yielded_anyway(file, root, file_filter):
                yield file
    elif _is_regular(path) and file_filter.accepts(PurePath(path.name)):
        yield path


def _walk_folder(
    path: Path, root: Path, file_filter: FileFilter, on_error: OnError
) -> Iterator[Path]:
    """Yield the candidate files under a folder, in order, without excluded folders.

    Args:
        path: The folder as the user named it.
        root: The same folder, with links resolved.
        file_filter: The filter of files.
        on_error: A callback for each folder that cannot be listed.
    """
    # A stack of iterators instead of recursion: no depth of folders can exhaust it.
    levels = [iter([(path, True)])]
    while levels:
        for entry, is_folder in levels[-1]:
            if not is_folder:
                yield entry
            elif entry == path or not file_filter.excludes(entry.relative_to(path)):
                levels.append(iter(_list_folder(entry, root, on_error)))
                break
        else:
            levels.pop()


def _list_folder(folder: Path, root: Path, on_error: OnError) -> list[tuple[Path, bool]]:
    """List a folder as `_scan_folder` does; an error is reported and gives an empty list."""
    try:
        return _scan_folder(folder, root)
    except FileNotFoundError:
        return []  # removed since it was listed
    except OSError as error:
        on_error(folder, error)
        return []


def _scan_folder(folder: Path, root: Path) -> list[tuple[Path, bool]]:
    """Return the candidate files and the folders directly inside `folder`; `True` marks a folder.

    Raises:
        OSError: If the folder or one of its entries cannot be read.
    """
    with os.scandir(folder) as scan:
        entries = [entry for entry in scan if not is_left_out(entry.name)]
    corpus = _find_corpus_of_data_set(folder)
    if corpus:
        return [(folder / corpus, False)]
    sortable = []
    for entry in entries:
        path = folder / entry.name
        if entry.is_dir(follow_symlinks=False):
            # With the slash, folders sort where their files' paths do.
            sortable.append((f"{format_path(path)}/", path, True))
        elif entry.is_file(follow_symlinks=False) or (_is_regular(path) and _is_inside(path, root)):
            sortable.append((format_path(path), path, False))
    return [(path, is_folder) for _, path, is_folder in sorted(sortable)]


def _is_yielded_anyway(file: Path, root: Path, file_filter: FileFilter) -> bool:
    """Return whether a file is a link to another file that is yielded below `root` itself."""
    if not file.is_symlink():
        return False
    target = file.resolve()
    if target == root or not target.is_relative_to(root):
        return False
    inner = target.relative_to(root)
    around = [root, *(root / parent for parent in reversed(inner.parents[:-1]))]
    corpora = zip(map(_find_corpus_of_data_set, around), inner.parts, strict=True)
    shadowed = any(corpus and corpus != name for corpus, name in corpora)
    hidden = any(part.startswith(".") for part in inner.parts)
    return not shadowed and not hidden and file_filter.accepts(inner)


def _find_corpus_of_data_set(folder: Path) -> str | None:
    """Return the name of the corpus file if a folder is a data set, else `None`."""
    corpus = next((name for name in _CORPORA if _is_regular(folder / name)), None)
    if corpus and any(os.path.lexists(folder / name) for name in _QUESTIONS):
        return corpus
    return None


def _is_regular(path: Path) -> bool:
    """Return whether a path leads to a regular file; links are followed.

    Raises:
        PermissionError: If the folder around it may not be read.
    """
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except PermissionError:
        if path.is_symlink():
            return False  # the user may not see the link's target
        raise
    except (OSError, ValueError):
        return False  # a dangling or circular link


def _is_inside(file: Path, root: Path) -> bool:
    """Return whether a file is no link, or a link to a place inside the folder `root`."""
    return not file.is_symlink() or file.resolve().is_relative_to(root)


def digest_content(file: Path) -> str:
    """Return the sha256 of a file's bytes, as 64 hexadecimal digits.

    If an extension reads such files, the digest also covers its package and version, so that the
    file is read again by another version.

    Raises:
        OSError: If the file cannot be read.
        UsageError: If two packages bring an extension for the file.
    """
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256")
    extension = find_format(file)
    if extension is not None:
        digest.update(f"\0{extension}".encode())
    return digest.hexdigest()


def derive_document_id(digest: str) -> str:
    """Return the id of the document with this content; equal files get the same id."""
    return digest[:16]
