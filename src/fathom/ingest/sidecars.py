"""The files beside documents that name their readers, `report.pdf.readers.toml` for `report.pdf`.

    readers = ["hr", "user:ana"]

Such a file only takes readers away from those whom the rules of the index name.
"""

import os
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fathom.documents.discover import (
    READERS_FILE,
    FileFilter,
    digest_content,
    discover_files,
    format_path,
    locate_sidecar,
)
from fathom.index.base import IndexReader, is_address
from fathom.index.rights import EVERYBODY, Clause, ReadingRule, is_reader, join_clauses
from fathom.ingest.places import (
    is_below,
    is_gone,
    locate_path,
    select_outermost,
)
from fathom.redaction import open_log

LOG = open_log("fathom")
MAX_BYTES = 64_000
"""The size in bytes above which a sidecar is not read."""


@dataclass(frozen=True, slots=True)
class AddressLimits:
    """The facts about the sidecars of a source's objects that an ingestion of them knows.

    Attributes:
        is_whole: Whether all sidecars of the objects were read.
        is_current: The function that returns whether the index has the listed content of an
            address, or nothing of it.
    """

    is_whole: bool = True
    is_current: Callable[[str], bool] = lambda _address: False


@dataclass(frozen=True, slots=True)
class Sidecars:
    """The sidecars of the files that an ingestion may read.

    Attributes:
        rules: The rules of all sidecars, also of files outside of the ingestion.
        files: The files of the ingestion that have a sidecar; `None` if sidecars do not count.
        is_whole: Whether all sidecars of the files were read.
        holds_back: Whether a document keeps its earlier readers until its new content is stored.
    """

    rules: Sequence[ReadingRule]
    files: frozenset[str] | None
    is_whole: bool = True
    holds_back: bool = False

    @classmethod
    def ignore(cls) -> "Sidecars":
        """Return sidecars that do not count, for an index without rules, which all may read."""
        return cls((), None)

    @classmethod
    def read(
        cls, roots: Sequence[Path], file_filter: FileFilter, stored: Iterable[ReadingRule]
    ) -> "Sidecars":
        """Read the sidecars of all files below some roots.

        Args:
            roots: Files and folders; a missing one keeps its rules.
            file_filter: The filter of files.
            stored: The rules of the index, also those of earlier sidecars.
        """
        existing = [root for root in roots if os.path.lexists(root)]
        files = list(discover_files(existing, file_filter))
        for sidecar in _list_lone_sidecars(existing, files):
            document = sidecar.name.removesuffix(f".{READERS_FILE}")
            LOG.warning("%s: no document %s is beside it; rename both together", sidecar, document)
        rules = [_read_rule(file) for file in files if os.path.lexists(locate_sidecar(file))]
        present = frozenset(rule.pattern for rule in rules)
        below = select_outermost(map(format_path, roots))
        earlier = [
            rule
            for rule in stored
            if rule.narrows and rule.pattern not in present and not _is_lifted(rule.pattern, below)
        ]
        return cls((*rules, *earlier), present)

    def hold_back(
        self,
        stored: Iterable[ReadingRule],
        named: Mapping[str, Clause],
        index: IndexReader,
        limits: AddressLimits,
    ) -> "Sidecars":
        """Return these sidecars together with those of sources, without new readers of old content.

        Readers are taken away at once. A new list, or the removal of a sidecar, adds readers only
        when the index has the content to which the list belongs. Otherwise a document that becomes
        harmless in the same change would show its old content to them.

        Args:
            stored: The rules of the index.
            named: The readers that sidecars of sources name, by the addresses of the documents.
            index: The index.
            limits: The facts about addresses that this ingestion knows.
        """
        earlier = {rule.pattern: rule.readers for rule in stored if rule.narrows}
        files = {rule.pattern: rule.readers for rule in self.rules if not is_address(rule.pattern)}
        latest, rules, holds_back = {**files, **named}, [], False
        for place in sorted({*earlier, *latest}):
            listed = latest.get(place, (EVERYBODY,))
            readers = join_clauses(listed, earlier.get(place, (EVERYBODY,)))
            if readers != listed:
                is_file = not is_address(place)
                if _is_current(index, place) if is_file else limits.is_current(place):
                    readers = listed
                else:
                    holds_back = True
            if EVERYBODY not in readers:
                rules.append(ReadingRule(place, readers, narrows=True))
        return replace(self, rules=rules, is_whole=limits.is_whole, holds_back=holds_back)

    def has_new(self, file: Path) -> bool:
        """Return whether a file may have got a sidecar after the sidecars were read.

        A missing file may have taken its sidecar along, while its content was fetched before.
        """
        if self.files is None or format_path(file) in self.files:
            return False
        is_away = file.is_absolute() and not os.path.lexists(file)  # addresses are not absolute
        return not self.is_whole or is_away or os.path.lexists(locate_sidecar(file))


def _list_lone_sidecars(roots: Iterable[Path], files: Iterable[Path]) -> list[Path]:
    """Return the sidecars, in folders of some files, whose document is not there.

    A document that was renamed without its sidecar is limited by it no longer.
    """
    folders = {*(root for root in roots if root.is_dir()), *(file.parent for file in files)}
    sidecars = [file for folder in folders for file in folder.glob(f"?*.{READERS_FILE}")]
    # A document in another form of Unicode has no sidecar either: its name must be the same.
    documents = (str(file).removesuffix(f".{READERS_FILE}") for file in sidecars)
    pairs = zip(sidecars, documents, strict=True)
    return sorted(file for file, document in pairs if not os.path.lexists(document))


def _is_current(index: IndexReader, place: str) -> bool:
    """Return whether the index has the present content of a file, or nothing of it."""
    record = index.get_source(place)
    if record is None or (record.document_id is None and not record.is_corpus):
        return True
    try:
        return record.outcome == "ok" and record.digest == digest_content(locate_path(place))
    except OSError:
        return False


def _is_lifted(place: str, roots: Iterable[str]) -> bool:
    """Return whether the sidecar of a file that still exists has been removed."""
    if not any(is_below(place, root) for root in roots) or is_gone(place):
        return False
    return is_gone(format_path(locate_sidecar(Path(place))))


def _read_rule(file: Path) -> ReadingRule:
    """Return the rule of a file's sidecar; if it cannot be read, nobody may read the file."""
    sidecar = locate_sidecar(file)
    readers: tuple[str, ...] = ()
    try:
        readers = read_readers(sidecar)
    except (OSError, ValueError) as error:  # a TOMLDecodeError is a ValueError
        LOG.warning("%s: %s; nobody may read the document until it is mended", sidecar, error)
    return ReadingRule(format_path(file), readers, narrows=True)


def read_readers(sidecar: Path) -> tuple[str, ...]:
    """Return the readers that a sidecar names.

    Raises:
        OSError: If it cannot be read.
        ValueError: If it is no sidecar: no file, too large, or of another form.
    """
    if not sidecar.is_file():  # reading a pipe would wait for ever
        raise ValueError("it is no file")
    with sidecar.open("rb") as opened:
        content = opened.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ValueError(f"it has more than {MAX_BYTES} bytes")
    try:
        return _parse_readers(tomllib.loads(content.decode("utf-8-sig")))
    except RecursionError:
        raise ValueError("its lists lie too deep inside of each other") from None


def _parse_readers(content: dict[str, object]) -> tuple[str, ...]:
    """Return the readers in the content of a sidecar.

    Raises:
        ValueError: If it has another form.
    """
    match content:
        case {"readers": list(names), **rest} if not rest:
            for name in names:
                if not is_reader(name):
                    raise ValueError(f"{name!r} is no reader; write GROUP or user:NAME")
            return tuple(map(str, names))
        case _:
            raise ValueError('it may hold only readers = ["GROUP", "user:NAME"]')
