"""Checks that a command can write its files, made before its work begins."""

import json
import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fathom.errors import UsageError

if TYPE_CHECKING:
    from fathom.engine import Engine

SETTINGS_FILE = Path("fathom.toml")
"""The project's settings, which every command reads."""
REPORT_FIELDS = frozenset({"unchanged", "chunks", "files"})
"""Fields by which the report on an ingestion is recognised."""


def check_writable(file: Path) -> None:
    """Check that a file can be written, without changing it or leaving a new file.

    Raises:
        UsageError: If the file cannot be written.
    """
    try:
        exists = file.exists()
        if exists and not (file.is_file() or file.is_dir()):
            return  # opening a device or a pipe could affect its other end
        # Opening to append tests the permission without changing the file.
        with file.open("ab"):
            pass
        if not exists:
            file.unlink()
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{file}: cannot be written: {_describe_reason(error)}; name a file in a folder that "
            "exists"
        ) from None


def check_outputs(outputs: Iterable[Path | None], inputs: Iterable[Path | None] = ()) -> None:
    """Check that a command can write its files and that they replace no file it uses.

    Args:
        outputs: The files to write; `None` for one that is not wanted.
        inputs: The files that the command reads, which no output may replace. Inside a folder among
            them nothing may be written either.

    Raises:
        UsageError: If a file cannot be written, or would replace another one of the command.
    """
    taken = {os.path.realpath(file) for file in inputs if file is not None}
    for file in filter(None, outputs):
        check_writable(file)
        if file.exists() and not file.is_file():
            continue  # a device takes any number of texts
        place = os.path.realpath(file)
        if place == os.path.realpath(SETTINGS_FILE):
            raise UsageError(f"{file}: the settings are read from this file; name another one")
        if place in taken:
            raise UsageError(f"{file}: the command names this file twice; name another one")
        for folder in map(str, Path(place).parents):
            if folder in taken:
                raise UsageError(f"{file}: the command reads {folder}; name a file outside of it")
        taken.add(place)


def choose_output(named: Path | None, usual: Path, inputs: Iterable[Path | None] = ()) -> Path:
    """Return the named file, else the usual one, which must not exist yet.

    A file that lies under the usual name may be the work of hours or of a person, so that only its
    name on the command line allows a replacement.

    Args:
        named: The file of `--out`; `None` without this option.
        usual: The file by default.
        inputs: The files that the command reads, which the output may not replace.

    Raises:
        UsageError: If the file cannot be written, would replace an input, or is the usual one and
            exists.
    """
    file = named or usual
    check_outputs([file], inputs)
    if named is None and file.exists():
        raise UsageError(f"{file} exists; `--out {file}` replaces it, another name keeps it")
    return file


def check_report(report: Path, inputs: Sequence[Path]) -> None:
    """Check that the report on an ingestion can be written and replaces no document.

    Args:
        report: The file of the report.
        inputs: The files and folders that the command reads.

    Raises:
        UsageError: If the file cannot be written, or exists, is no earlier report and would be
            read.
    """
    check_outputs([report], [path for path in inputs if not path.is_dir()])
    folders = {os.path.realpath(path) for path in inputs if path.is_dir()}
    parents = map(str, Path(os.path.realpath(report)).parents)
    if report.is_file() and not folders.isdisjoint(parents) and not _is_report(report):
        raise UsageError(f"{report}: the command reads this file as a document; name another one")


def _is_report(file: Path) -> bool:
    """Return whether a file is empty or holds the report on an ingestion, of any version."""
    try:
        content = file.read_bytes()
        report = json.loads(content) if content else dict.fromkeys(REPORT_FIELDS)
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(report, dict) and report.keys() >= REPORT_FIELDS


def check_documents(output: Path, engine: "Engine") -> None:
    """Check that a file can be written and replaces no document or other file of an index.

    Raises:
        UsageError: If the file cannot be written, is a document, or lies in the folder of the
            index.
    """
    from fathom.index.base import is_address  # `--help` must not wait for it

    check_outputs([output], [engine.directory])
    if not output.is_file():
        return
    place = os.path.realpath(output)
    for source in engine.reader(checked=False).list_sources():
        is_held = source.document_id is not None or source.is_corpus
        if is_held and not is_address(source.path) and os.path.realpath(source.path) == place:
            raise UsageError(f"{output}: the index holds this file as a document; name another one")


def check_folder(folder: Path) -> None:
    """Check that files can be written into a folder, and create the folder if it does not exist.

    Raises:
        UsageError: If files cannot be written into the folder.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{folder}: the folder cannot be written into: {_describe_reason(error)}"
        ) from None


def _describe_reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
