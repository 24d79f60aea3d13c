"""The writes of a process as strace records them, and folders as a loss of power may leave them.

A disk holds what was synced. Of the rest it may hold anything: each write or not, torn at sectors,
each new size, name, renaming and removal or not. A file's sync says nothing about its name in its
folder, nor a folder's about its own name in the folder above.
"""

import os
import random
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Literal, TypeVar

Change = TypeVar("Change")
SECTORS = (512, 4096)
SHARED_MEMORY = "-shm"
"""The end of the names of SQLite's maps, which are no part of what a disk must hold."""
CALLS = (
    "openat,open,creat,write,writev,pwrite64,pwritev,lseek,ftruncate,truncate,fallocate,mkdir,"
    "mkdirat,rename,renameat,renameat2,unlink,unlinkat,rmdir,fsync,fdatasync,link,linkat,symlink,"
    "symlinkat,copy_file_range,sendfile"
)
ON_OPEN_FILES = {
    *("write", "writev", "pwrite64", "pwritev", "lseek", "ftruncate", "fallocate"),
    *("fsync", "fdatasync", "copy_file_range", "sendfile"),
}
"""The calls that name no path but an open file, as their first argument."""
LINE = re.compile(r"^(\d+) +(\w+)\((.*?)(?:\) += (-?\d+|\?).*| <unfinished \.\.\.>)$")
RESUMED = re.compile(r"^(\d+) +<\.\.\. (\w+) resumed>.*\) += (-?\d+|\?).*$")
STRING = re.compile(r'"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?')
OPEN_FILE = re.compile(r"^(?:\d+|AT_FDCWD)<([^>]*)>")
ROOT = 0
"""The number of the watched folder, which is on the disk from the beginning."""


@cache
def can_trace() -> bool:
    """Return whether strace is there and may watch a process."""
    program = shutil.which("strace")
    command = [program or "", "-f", "-o", os.devnull, "true"]
    return program is not None and not subprocess.run(
        command, capture_output=True, check=False
    ).returncode  # fmt: skip


def record_calls(
    command: Sequence[str], log: Path, environment: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    """Run a command, and write every call that changes a file to a log."""
    watch = ["strace", "-f", "--seccomp-bpf", "-y", "-xx", "-s", "100000000", "-o", str(log)]
    return subprocess.run(
        [*watch, "-e", f"trace={CALLS}", *command],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


@dataclass(frozen=True, slots=True)
class SystemCall:
    """A call of the operating system: `begun` is the place of its beginning in the log."""

    name: str
    arguments: str
    result: int
    begun: int
    ended: int

    @property
    def strings(self) -> list[bytes]:
        """The texts and data of its arguments."""
        return [decode(text) for text, _ in STRING.findall(self.arguments)]

    def locate_file(self) -> str:
        """Return the path of the open file that it is about."""
        match = OPEN_FILE.match(self.arguments)
        return os.fsdecode(decode(match[1])) if match else ""

    def list_paths(self) -> list[str]:
        """Return the paths that it names, made absolute by the open folder before each."""
        folders = re.findall(r"(?:\d+|AT_FDCWD)<([^>]*)>, \"", self.arguments)
        folders += [folders[-1] if folders else ""] * 2
        return [
            str(PurePosixPath(os.fsdecode(decode(folder)), os.fsdecode(name)))
            for folder, name in zip(folders, self.strings, strict=False)
        ]

    def read_number(self, place: int) -> int:
        """Return a number among its arguments, counted from the end."""
        return int(self.arguments.split(", ")[place])


def decode(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", "")) if text.startswith("\\x") else text.encode()


def read_calls(log: Path) -> Iterator[SystemCall]:
    """Yield the calls that succeeded, in the order in which they ended."""
    begun: dict[str, tuple[str, str, int]] = {}
    with log.open(encoding="ascii") as lines:
        for number, line in enumerate(lines):
            if match := LINE.match(line):
                thread, name, arguments, result = match.groups()
                if result is None:
                    begun[thread] = name, arguments, number
                elif result != "?" and int(result) >= 0:
                    yield SystemCall(name, arguments, int(result), number, number)
            elif (match := RESUMED.match(line)) and match[1] in begun:
                name, arguments, start = begun.pop(match[1])
                if match[3] != "?" and int(match[3]) >= 0:
                    yield SystemCall(name, arguments, int(match[3]), start, number)


@dataclass(frozen=True, slots=True)
class Write:
    """Data at a place of a file, or its new size; `at` is the place in the log."""

    at: int
    offset: int
    data: bytes | None

    def tear(self, content: bytearray, chance: random.Random) -> None:
        """Apply some sectors of it."""
        if self.data is None:
            return self.apply(content)
        sector = chance.choice(SECTORS)
        for start in range(0, len(self.data), sector):
            if chance.random() < 0.5:
                piece = self.data[start : start + sector]
                Write(self.at, self.offset + start, piece).apply(content)
        return None

    def apply(self, content: bytearray) -> None:
        """Apply it wholly."""
        if self.data is None:
            del content[self.offset :]
        end = self.offset + len(self.data or b"")
        content.extend(bytes(max(0, end - len(content))))
        if self.data is not None:
            content[self.offset : end] = self.data


@dataclass(slots=True)
class StoredFile:
    """A file: what the disk holds of it for certain, and what was written since."""

    content: bytearray = field(default_factory=bytearray)
    pending: list[Write] = field(default_factory=list)
    size: int = 0
    position: int = 0
    appends: bool = False

    def write(self, write: Write) -> None:
        """Add a write that no sync has reached."""
        self.pending.append(write)
        end = write.offset + len(write.data or b"")
        self.size = end if write.data is None else max(self.size, end)

    def sync(self, begun: int) -> None:
        """Bring to the disk what was written before the sync began."""
        for write in self.pending:
            if write.at < begun:
                write.apply(self.content)
        self.pending = [write for write in self.pending if write.at >= begun]


@dataclass(slots=True)
class NameChange:
    """One change of names: entries that appear and vanish together, each a folder with a name.

    Attributes:
        made: The new entry with the number of its file or folder; `None` for a mere removal.
        gone: The entry that vanishes.
        synced: Whether a sync of one of its folders has reached it.
    """

    at: int
    made: tuple[int, str, int] | None
    gone: tuple[int, str] | None
    synced: bool = False

    def concerns(self, folder: int) -> bool:
        """Return whether it is about an entry of this folder."""
        return folder in {self.made and self.made[0], self.gone and self.gone[0]}


Loss = Literal["all", "nothing", "prefix", "some", "torn"]
"""The fate of changes that were not synced."""


class Disk:
    """The files below a folder, as calls change them one after the other."""

    def __init__(self, root: Path) -> None:
        """Begin with an empty folder."""
        self.root = root.resolve()
        self._files: dict[int, StoredFile] = {}
        self._folders = {ROOT}
        self._changes: list[NameChange] = []
        self._names: dict[tuple[int, str], int] = {}
        self._next = ROOT + 1

    def apply(self, call: SystemCall) -> bool:
        """Apply a call, and return whether it was about a file below the folder."""
        act = self._choose_act(call.name)
        paths = [call.locate_file()] if call.name in ON_OPEN_FILES else call.list_paths()
        inside = [place for path in paths if (place := self._split(path)) is not None]
        if not inside:
            return False
        act(call, inside)
        return True

    def _choose_act(self, name: str) -> Callable[[SystemCall, list[tuple[int, str]]], None]:
        acts: dict[str, Callable[[SystemCall, list[tuple[int, str]]], None]] = {
            **dict.fromkeys(("openat", "open", "creat"), self._open),
            **dict.fromkeys(("write", "writev", "pwrite64", "pwritev"), self._write),
            **dict.fromkeys(("fsync", "fdatasync"), self._sync),
            **dict.fromkeys(("mkdir", "mkdirat"), self._make_folder),
            **dict.fromkeys(("rename", "renameat", "renameat2"), self._rename),
            **dict.fromkeys(("unlink", "unlinkat", "rmdir"), self._remove),
            "lseek": self._seek,
            "ftruncate": self._resize,
        }
        return acts.get(name, self._refuse)

    def _split(self, path: str) -> tuple[int, str] | None:
        """Return the folder and the name of a path, if the folder is one of these."""
        place = PurePosixPath(path)
        if not place.is_relative_to(self.root):
            return None
        folder = ROOT
        parts = place.relative_to(self.root).parts
        for name in parts[:-1]:
            folder = self._names.get((folder, name), -1)
        return (folder, parts[-1] if parts else "") if folder in self._folders else None

    def _find(self, place: tuple[int, str]) -> int | None:
        return self._names.get(place) if place[1] else ROOT

    def _change_names(self, change: NameChange) -> None:
        self._changes.append(change)
        if change.gone:
            self._names.pop(change.gone, None)
        if change.made:
            self._names[change.made[:2]] = change.made[2]

    def _open(self, call: SystemCall, places: list[tuple[int, str]]) -> None:
        flags = call.arguments
        number = self._find(places[0])
        if number is None and ("O_CREAT" in flags or call.name == "creat"):
            number = self._number()
            self._files[number] = StoredFile()
            self._change_names(NameChange(call.ended, (*places[0], number), None))
        file = self._files.get(number if number is not None else -1)
        if file is None:
            return
        file.position, file.appends = 0, "O_APPEND" in flags
        if "O_TRUNC" in flags and file.size:
            file.write(Write(call.ended, 0, None))

    def _number(self) -> int:
        self._next += 1
        return self._next

    def _write(self, call: SystemCall, places: list[tuple[int, str]]) -> None:
        file = self._files.get(self._find(places[0]) or -1)
        if file is None:  # removed while it was open
            return
        data = b"".join(call.strings)[: call.result]
        if call.name in {"pwrite64", "pwritev"}:
            file.write(Write(call.ended, call.read_number(-1), data))
            return
        offset = file.size if file.appends else file.position
        file.write(Write(call.ended, offset, data))
        file.position = offset + len(data)

    def _seek(self, call: SystemCall, places: list[tuple[int, str]]) -> None:
        file = self._files.get(self._find(places[0]) or -1)
        if file is not None:
            file.position = call.result

    def _resize(self, call: SystemCall, places: list[tuple[int, str]]) -> None:
        file = self._files.get(self._find(places[0]) or -1)
        if file is not None:
            file.write(Write(call.ended, call.read_number(-1), None))

    def _sync(self, call: SystemCall, places: list[tuple[int, str]]) -> None:
        number = self._find(places[0])
        if number in self._files:
            self._files[number].sync(call.begun)
        for change in self._changes:
            if number is not None and change.concerns(number) and change.at < call.begun:
                change.synced = True

    def _make_folder(self, call: SystemCall, places: list[tuple[int, str]]) -> None:
        number = self._number()
        self._folders.add(number)
        self._change_names(NameChange(call.ended, (*places[0], number), None))

    def _rename(self, call: SystemCall, places: list[tuple[int, str]]) -> None:
        source, target = places
        self._change_names(NameChange(call.ended, (*target, self._names[source]), source))

    def _remove(self, call: SystemCall, places: list[tuple[int, str]]) -> None:
        self._change_names(NameChange(call.ended, None, places[0]))

    def _refuse(self, call: SystemCall, places: list[tuple[int, str]]) -> None:
        raise AssertionError(f"the simulated disk knows no {call.name}({places})")

    def write_to(self, target: Path, loss: Loss, chance: random.Random) -> None:
        """Write the files as the disk may hold them after a loss of power.

        Args:
            target: A new folder.
            loss: What happens to changes that were not synced.
            chance: Draws which of them the disk holds.
        """
        names = self._draw_names(loss, chance)
        target.mkdir()
        self._write_folder(ROOT, target, names, loss, chance)

    def _draw_names(self, loss: Loss, chance: random.Random) -> dict[tuple[int, str], int]:
        names: dict[tuple[int, str], int] = {}
        open_changes = [change for change in self._changes if not change.synced]
        survivors = draw_survivors(open_changes, loss, chance)
        alive = {change.at for change in survivors}
        for change in self._changes:
            if not change.synced and change.at not in alive:
                continue
            if change.gone:
                names.pop(change.gone, None)
            if change.made:
                names[change.made[:2]] = change.made[2]
        return names

    def _write_folder(
        self,
        folder: int,
        target: Path,
        names: Mapping[tuple[int, str], int],
        loss: Loss,
        chance: random.Random,
    ) -> None:
        for (parent, name), number in sorted(names.items()):
            if parent != folder or name.endswith(SHARED_MEMORY):
                continue
            if number in self._folders:
                (target / name).mkdir()
                self._write_folder(number, target / name, names, loss, chance)
            else:
                (target / name).write_bytes(self._draw_content(number, loss, chance))

    def _draw_content(self, number: int, loss: Loss, chance: random.Random) -> bytearray:
        file = self._files[number]
        content = bytearray(file.content)
        for write in draw_survivors(file.pending, loss, chance):
            if loss == "torn":
                write.tear(content, chance)
            else:
                write.apply(content)
        return content


def draw_survivors(
    changes: Sequence[Change], loss: Loss, chance: random.Random
) -> Sequence[Change]:
    """Return the changes that reached the disk, of those that were not synced."""
    if loss in {"all", "nothing"}:
        return changes if loss == "all" else []
    if loss == "prefix":
        return changes[: chance.randint(0, len(changes))]
    share = chance.random()
    return [change for change in changes if chance.random() < share]
