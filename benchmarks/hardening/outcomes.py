"""The outcomes of pieces of rows, kept in a file of one object a line."""

import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from benchmarks.hardening.probes import ROOT, Count, Piece
from benchmarks.hardening.rows import Row

from fathom.evaluation.jsonl import append_line, read_whole_lines
from fathom.jsonable import hash_text

FILE = Path(__file__).parent / "outcomes.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceOutcome:
    """The outcome of a piece: its count, and the code, the day and the machine that it is of.

    Its load is the number of processes that the machine ran or kept waiting in its last minute.
    """

    row: str
    piece: int
    seed: int
    probes: int
    failures: Sequence[str]
    skipped: Sequence[str]
    seconds: float
    digest: str
    commit: str
    date: str
    machine: str
    load: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOutcome:
    """The sum of a row's pieces that are of one state of the code.

    Attributes:
        pieces: The pieces, of those that were tried again the last try.
        earlier: The tries before, which had failures.
    """

    row: Row
    pieces: Sequence[PieceOutcome]
    earlier: Sequence[PieceOutcome] = ()

    @property
    def probes(self) -> int:
        """The number of probes that were tried."""
        return sum(piece.probes for piece in self.pieces)

    @property
    def failures(self) -> Sequence[str]:
        """The faults, one for each probe that failed."""
        return [failure for piece in self.pieces for failure in piece.failures]

    @property
    def skipped(self) -> Sequence[str]:
        """The names of tests that were skipped."""
        return sorted({name for piece in self.pieces for name in piece.skipped})

    @property
    def verdict(self) -> str:
        """Held, failed, or why that is not known."""
        if self.row.probes is None:
            return "not built"
        if not self.probes:
            return "not run"
        if len(self.failures) > self.row.bound * self.probes:
            return "**failed**"
        if self.probes < self.row.wanted:
            return f"held so far, of {self.row.wanted:,} wanted"
        return "held"


def hash_code(row: Row) -> str:
    """Return the digest of what a row's outcome depends on: package, probes and parameters."""
    probes = _hash_files([ROOT / name for name in row.files])
    return hash_text(f"{hash_package()} {probes} {row.parameters}")[:16]


@cache
def hash_package() -> str:
    """Return the digest of the package, with its models; read once in a process."""
    return _hash_files((ROOT / "src" / "fathom").rglob("*"))


def _hash_files(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in sorted(file for file in files if file.is_file() and file.suffix != ".pyc"):
        digest.update(file.relative_to(ROOT).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def read_commit() -> str:
    """Return the commit of the working tree, marked where files differ from it."""
    command = ["git", "describe", "--always", "--abbrev=8", "--exclude=*", "--dirty=+"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def describe_machine() -> str:
    """Return kernel, number of processors and version of Python."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    kernel = f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}"
    return f"{kernel}, {cores} cores, Python {platform.python_version()}"


def make_outcome(row: Row, piece: Piece, count: Count, seconds: float, digest: str) -> PieceOutcome:
    return PieceOutcome(
        row=row.name, piece=piece.number, seed=piece.seed, probes=count.probes,
        failures=count.failures, skipped=count.skipped, seconds=round(seconds, 1), digest=digest,
        commit=read_commit(), date=datetime.now(UTC).date().isoformat(), machine=describe_machine(),
        load=round(os.getloadavg()[0], 1),
    )  # fmt: skip


def append_outcome(outcome: PieceOutcome, file: Path = FILE) -> None:
    append_line(file, asdict(outcome))


def read_outcomes(file: Path = FILE) -> list[PieceOutcome]:
    """Return the kept outcomes, those of a piece that was tried again being the last ones."""
    return [PieceOutcome(**json.loads(line)) for line in read_whole_lines(file)]


def sum_outcomes(rows: Iterable[Row], outcomes: Sequence[PieceOutcome]) -> list[RowOutcome]:
    """Return for each row the sum of its pieces that are of the code of the latest one."""
    return [_sum_row(row, outcomes) for row in rows]


def _sum_row(row: Row, outcomes: Sequence[PieceOutcome]) -> RowOutcome:
    of_row = [outcome for outcome in outcomes if outcome.row == row.name]
    tries = [outcome for outcome in of_row if outcome.digest == of_row[-1].digest]
    latest: Mapping[int, PieceOutcome] = {outcome.piece: outcome for outcome in tries}
    pieces = [latest[number] for number in sorted(latest)]
    return RowOutcome(
        row=row, pieces=pieces, earlier=[outcome for outcome in tries if outcome not in pieces]
    )
