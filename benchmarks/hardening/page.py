"""The page that shows the outcomes of the matrix."""

from collections.abc import Sequence

from benchmarks.hardening.outcomes import PieceOutcome, RowOutcome, sum_outcomes
from benchmarks.hardening.rows import Row
from benchmarks.poison import compute_wilson

HEAD = """# Hardening

This page is written by `make hardening`; do not edit it. Each row names a fault or an attack, what
each of its probes must hold, how many probes were tried, and how many failed, with Wilson's 95 %
interval of the share of failures. Probes are counted as they are tried: a test is one, unless it
counts its own. A row is tried again when its code has changed: `src/fathom`, its tests, its
parameters. What failed may be tried again with the same code; then the failures of the earlier try
stay below, with the load of the machine (processes that run or wait), as a busy machine misses the
time limits of some tests. The date and the commit are those of a row's last piece; a `+` marks a
working tree that differs from the commit.

[Robustness](robustness.md) explains the attacks. `benchmarks/hardening/rows.toml` lists the probes,
and `benchmarks/hardening/outcomes.jsonl` holds every piece with its seed. The tags are risks of
OWASP's ten for applications of language models (2025). The command fails if a row fails.
"""
COLUMNS = (
    "| row | fault or attack | required | OWASP | probes | failed | share of failures, 95 % | "
    "bound | verdict | seed | date, commit |\n|---|---|---|---|---|---|---|---|---|---|---|"
)


def format_page(rows: Sequence[Row], outcomes: Sequence[PieceOutcome]) -> str:
    """Return the page of all kept outcomes."""
    sums = sum_outcomes(rows, outcomes)
    parts = [HEAD, format_summary(sums)]
    for title in dict.fromkeys(row.group for row in rows):
        lines = [format_row(outcome) for outcome in sums if outcome.row.group == title]
        parts.append("\n".join([f"## {title}\n", COLUMNS, *lines]))
    parts += [format_gaps(rows), format_failures(sums)]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def format_summary(sums: Sequence[RowOutcome]) -> str:
    """Return how many rows hold, and on which machines they were tried."""
    held = [outcome for outcome in sums if outcome.verdict.startswith("held")]
    failed = [outcome for outcome in sums if outcome.verdict == "**failed**"]
    missing = [outcome for outcome in sums if outcome.row.probes is None]
    probes = sum(outcome.probes for outcome in sums)
    machines = sorted({piece.machine for outcome in sums for piece in outcome.pieces})
    return (
        f"Of {len(sums)} rows {len(held)} hold and {len(failed)} fail; {len(missing)} are not built"
        f". {probes:,} probes were tried ({'; '.join(machines)})."
    )


def format_row(outcome: RowOutcome) -> str:
    """Return the line of a row."""
    row, probes, failed = outcome.row, outcome.probes, len(outcome.failures)
    # Rounded, because the lower bound of no failure misses 0 by a hair.
    low, high = (round(100 * bound, 9) for bound in compute_wilson(failed, probes))
    tried = [f"{probes:,}", f"{failed:,}", f"{low:.2g} to {high:.2g} %"] if probes else ["", "", ""]
    latest = outcome.pieces[-1] if outcome.pieces else None
    cells = [
        *(row.name, row.fault, row.required, row.owasp, *tried),
        f"{row.bound:.0%}" if row.bound else "0",
        outcome.verdict
        + (f"; {len(outcome.skipped)} skipped" if outcome.skipped else "")
        + ("; failed in an earlier try" if outcome.earlier else ""),
        str(row.seed) if latest else "",
        f"{latest.date}, {latest.commit}" if latest else "",
    ]
    return f"| {' | '.join(cells)} |"


def format_gaps(rows: Sequence[Row]) -> str:
    """Return what is asked for and not built."""
    gaps = [f"- {row.name}: {row.gap}." for row in rows if row.gap]
    return "\n".join(["## What is not tried\n", *gaps])


def format_failures(sums: Sequence[RowOutcome]) -> str:
    """Return what failed and what was skipped, a few of each row."""
    lines = []
    for outcome in sums:
        name = outcome.row.name
        for words, pieces in (("failed", outcome.pieces), ("failed earlier", outcome.earlier)):
            lines += [
                f"- {name} {words}, load {piece.load:g}: `{_shorten(text)}`"
                for piece in pieces
                for text in piece.failures[:3]
            ]
        lines += [f"- {name} skipped: `{_shorten(text)}`" for text in outcome.skipped[:3]]
    return "\n".join(["## What failed or was skipped\n", *lines]) if lines else ""


def _shorten(text: str) -> str:
    return " ".join(text.replace("`", "'").replace("|", "/").split())[:150]
