"""The rows of the matrix, as `rows.toml` lists them."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.hardening.probes import Fuzzing, Piece, Poison, Probes, Report, Tests

FILE = Path(__file__).parent / "rows.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of the matrix.

    Attributes:
        group: The heading that it stands below.
        name: Its letter and number.
        fault: The fault or the attack.
        required: The requirement that each probe checks.
        probes: The probes, if any are built.
        pieces: The number of pieces that the probes are tried in.
        size: What a piece asks of its tests, most often a number of probes; 0 for nothing.
        wanted: The number of probes that are wanted, 0 for as many as the tests have.
        fast: The size of the only piece of a fast run.
        seed: Of the first piece; each further piece has the next one.
        bound: The greatest share of failures that is admitted.
        owasp: Risks of OWASP's ten for language models (2025) that it is about.
        gap: Parts of the row that are not tried.
    """

    group: str
    name: str
    fault: str
    required: str
    probes: Probes | None = None
    pieces: int = 1
    size: int = 0
    wanted: int = 0
    fast: int = 0
    seed: int = 20261122
    bound: float = 0.0
    owasp: str = ""
    gap: str = ""

    @property
    def files(self) -> Sequence[str]:
        """The files that hold the probes, relative to the root."""
        return self.probes.files if self.probes else ()

    @property
    def parameters(self) -> tuple[object, ...]:
        """All that determines what is tried."""
        return self.name, self.probes, self.size, self.seed

    def list_pieces(self, *, fast: bool = False) -> list[Piece]:
        """Return the pieces; of a fast run the first one, which is small."""
        if self.probes is None:
            return []
        if fast:
            return [Piece(number=0, size=min(self.fast, self.size), seed=self.seed)]
        return [
            Piece(number=number, size=self.size, seed=self.seed + number)
            for number in range(self.pieces)
        ]


def read_rows(file: Path = FILE) -> list[Row]:
    """Return the rows of a file."""
    listed = tomllib.loads(file.read_text(encoding="utf-8"))["row"]
    return [_restore_row(fields) for fields in listed]


def _restore_row(fields: Mapping[str, Any]) -> Row:
    plain = dict(fields)
    tests, environment = plain.pop("tests", {}), plain.pop("environment", {})
    arm, formats = plain.pop("poison", ""), plain.pop("fuzz", [])
    module, options, parts = (plain.pop(key, "") for key in ("report", "options", "parts"))
    row = Row(**plain)
    if tests:
        return replace(row, probes=Tests(_name_nodes(tests), environment=environment))
    if arm:
        return replace(row, probes=Poison(arm, ("wrong alone",)))
    if module:
        return replace(row, probes=Report(module, options, tuple(parts)))
    if formats:
        return replace(row, probes=Fuzzing(tuple(formats)), pieces=len(formats))
    return row


def _name_nodes(tests: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return tests as pytest names them; a file without tests stands for all of its own."""
    return tuple(
        f"{file}::{name}" if name else file
        for file, names in tests.items()
        for name in names or [""]
    )
