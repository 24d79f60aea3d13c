"""A log of requests: questions, code and duration, over all runs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from experiments.lab.code import Code

from fathom.evaluation.jsonl import append_line, read_whole_lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One piece of work.

    Attributes:
        set: The data set, with the variant of its corpus.
        system: A strategy or retriever; empty is the making of the index.
        settings: That differ from the defaults.
        asked: How many questions were asked; those that had a record are not among them.
        seconds: Wall time.
        commit: Of the code that asked.
        code: Of the system; `None` in entries from before it was noted.
    """

    set: str
    system: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    asked: int = 0
    seconds: float
    commit: str
    code: Code | None = None


class Diary:
    """The entries of a folder, in a file with one JSON object per line."""

    def __init__(self, file: Path) -> None:
        """Read what is there."""
        self._file = file
        self.entries = [_parse_entry(line) for line in read_whole_lines(file)]

    def add(self, entry: Entry) -> None:
        """Append an entry."""
        self.entries.append(entry)
        append_line(self._file, asdict(entry))

    def list_commits(self, name: str, system: str, settings: Mapping[str, str]) -> tuple[str, ...]:
        """Return the commits that made these records, the first one first."""
        entries = self._select_entries(name, system, settings)
        return tuple(dict.fromkeys(entry.commit for entry in entries))

    def list_codes(
        self, name: str, system: str, settings: Mapping[str, str]
    ) -> tuple[Code, ...] | None:
        """Return the code that made these records, the first one first; `None` if not all noted."""
        codes = [entry.code for entry in self._select_entries(name, system, settings)]
        noted = [code for code in codes if code is not None]
        return tuple(dict.fromkeys(noted)) if noted and len(noted) == len(codes) else None

    def _select_entries(
        self, name: str, system: str, settings: Mapping[str, str]
    ) -> Sequence[Entry]:
        wanted = (name, system, settings)
        return [
            entry
            for entry in self.entries
            if entry.asked and (entry.set, entry.system, entry.settings) == wanted
        ]

    @property
    def seconds(self) -> float:
        """The total duration of all work, in seconds."""
        return sum(entry.seconds for entry in self.entries)


def _parse_entry(line: bytes) -> Entry:
    fields = json.loads(line)
    code = fields.pop("code", None)
    return Entry(**fields, code=None if code is None else Code.from_json(code))
