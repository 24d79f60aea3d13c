"""Probes of a server for what a caller may not see: their counts, and their report."""

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

Probe = TypeVar("Probe")
AT_ONCE = 8
"""The number of probes that are sent at the same time."""


@dataclass
class ProbeCounts:
    """The counts of the probes."""

    probes: int = 0
    leaks: list[str] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)

    def add(self, other: "ProbeCounts") -> None:
        """Add the counts of further probes."""
        self.probes += other.probes
        self.leaks += other.leaks
        self.statuses += other.statuses


def make_word(number: int) -> str:
    """Return an invented word of letters alone."""
    return "zor" + "".join("bdfgklmnprstvz"[int(digit)] + "a" for digit in f"{number:04}") + "quil"


def send_all(
    probes: Iterable[Probe], send: Callable[[Probe], ProbeCounts], counts: ProbeCounts
) -> None:
    """Send many probes in parallel, since most of their time is waiting for the database."""
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for part in threads.map(send, probes):
            counts.add(part)


def make_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser of the options that all probes have."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--index", default="", help="the URL of an empty index on a server")
    return parser


def print_report(counts: ProbeCounts, begun: float, **numbers: int) -> int:
    """Print the counts as JSON, and return the exit code: 1 if there is a leak."""
    report = {
        **numbers,
        "probes": counts.probes,
        "leaks": counts.leaks[:20],
        "leaked": len(counts.leaks),
        "statuses": dict(sorted(counts.statuses.items())),
        "seconds": round(time.perf_counter() - begun, 1),
    }
    print(json.dumps(report, indent=1))
    return 1 if counts.leaks else 0
