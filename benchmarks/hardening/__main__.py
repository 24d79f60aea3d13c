"""Try the matrix of faults and attacks, and write docs/hardening.md.

    python -m benchmarks.hardening [--rows D1,P1] [--minutes 60] [--workers 3]
        [--fuzz-minutes 1] [--fast]

Outcomes are kept, so that a run that was stopped goes on; what was tried with the present code is
not tried again, unless it failed. After the minutes no piece is begun, and rows that lack pieces
say so. `--fast` tries a small part of each row in minutes and keeps nothing.
"""

import argparse
import itertools
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path

from benchmarks.hardening.outcomes import (
    FILE,
    PieceOutcome,
    append_outcome,
    hash_code,
    make_outcome,
    read_outcomes,
    sum_outcomes,
)
from benchmarks.hardening.page import format_page, format_row
from benchmarks.hardening.probes import ROOT, Fuzzing, Piece
from benchmarks.hardening.rows import Row, read_rows

from fathom.errors import UsageError

PAGE = ROOT / "docs" / "hardening.md"
Task = tuple[Row, Piece, str]


def main(arguments: Sequence[str] | None = None) -> int:
    """Try what is missing, and return 1 if a row fails."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="", help="names, separated by commas; by default all")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--fuzz-minutes", type=float, default=1, help="of each parser")
    parser.add_argument("--fast", action="store_true", help="a small part of each, not kept")
    parser.add_argument("--outcomes", type=Path, default=FILE)
    parser.add_argument("--page", type=Path, default=PAGE)
    chosen = parser.parse_args(arguments)
    rows = set_fuzz_minutes(select_rows(chosen.rows), chosen.fuzz_minutes)
    kept = [] if chosen.fast else read_outcomes(chosen.outcomes)
    tried = []
    for outcome in try_tasks(
        list_tasks(rows, kept, fast=chosen.fast), chosen.minutes, chosen.workers
    ):
        tried.append(outcome)
        if not chosen.fast:
            append_outcome(outcome, chosen.outcomes)
    sums = sum_outcomes(rows, [*kept, *tried])
    print("\n".join(map(format_row, sums)))
    if not chosen.fast:
        chosen.page.write_text(
            format_page(read_rows(), read_outcomes(chosen.outcomes)), encoding="utf-8"
        )
    return int(any(outcome.verdict == "**failed**" for outcome in sums))


def select_rows(names: str) -> list[Row]:
    """Return the rows of these names, all for none."""
    wanted = [name for name in names.split(",") if name]
    by_name = {row.name: row for row in read_rows()}
    if unknown := [name for name in wanted if name not in by_name]:
        raise UsageError(f"no row {unknown[0]}; the rows are {', '.join(by_name)}")
    return [by_name[name] for name in wanted] or list(by_name.values())


def set_fuzz_minutes(rows: Sequence[Row], minutes: float) -> list[Row]:
    """Return the rows with so many minutes for each parser that is fuzzed."""
    return [
        replace(row, size=round(60 * minutes)) if isinstance(row.probes, Fuzzing) else row
        for row in rows
    ]


def list_tasks(rows: Sequence[Row], kept: Sequence[PieceOutcome], *, fast: bool) -> list[Task]:
    """Return the pieces without a try of the present code, or with failures in the last one.

    The first pieces of all rows come first.
    """
    last = {(outcome.row, outcome.piece, outcome.digest): outcome for outcome in kept}
    done = {key for key, outcome in last.items() if not outcome.failures}
    by_row = []
    for row in rows:
        digest = hash_code(row)
        pieces = row.list_pieces(fast=fast)
        by_row.append(
            [
                (row, piece, digest)
                for piece in pieces
                if (row.name, piece.number, digest) not in done
            ]
        )
    in_turn = itertools.zip_longest(*by_row)
    return [task for turn in in_turn for task in turn if task is not None]


def try_tasks(tasks: Sequence[Task], minutes: float, workers: int) -> Iterator[PieceOutcome]:
    """Try pieces, some at the same time, and yield their outcomes."""
    end = time.monotonic() + 60 * minutes

    def try_task(task: Task) -> PieceOutcome | None:
        row, piece, digest = task
        if row.probes is None or time.monotonic() > end:
            return None
        begun = time.monotonic()
        count = row.probes.run(piece)
        return make_outcome(row, piece, count, time.monotonic() - begun, digest)

    with ThreadPoolExecutor(workers) as threads:
        for done in as_completed([threads.submit(try_task, task) for task in tasks]):
            if outcome := done.result():
                _report(outcome)
                yield outcome


def _report(outcome: PieceOutcome) -> None:
    print(
        f"{outcome.row}.{outcome.piece}: {outcome.probes} probes, {len(outcome.failures)} failed, "
        f"{len(outcome.skipped)} skipped, {outcome.seconds} s",
        file=sys.stderr, flush=True,
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
