"""False alarms of tests on equal systems: python benchmarks/false_alarms.py.

Two runs of one and the same system are drawn again and again, and each test, the interval and
the gate are asked whether they differ. At 5 % a test may say so 5 times in 100; the gate looks
for falls only and may do so 2.5 times. With --records A.jsonl B.jsonl the values are those of two
recorded strategies, which of the two had which is drawn anew for each question: then none is
better, whatever they are.
"""

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from fathom.evaluation.comparison import contrast
from fathom.evaluation.gate import is_regression
from fathom.evaluation.records import Record
from fathom.evaluation.rows import score_questions
from fathom.evaluation.statistics import bca_interval, mcnemar_p, randomisation_p, t_test_p

Pairs = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator], Pairs]
"""Values of both runs, one row a question."""

ALPHA = 0.05
TESTS = ("randomisation", "t-test", "McNemar", "interval", "gate")


def make_binary(count: int) -> Draw:
    """Return right or wrong, drawn anew for each run; questions are not equally hard."""

    def draw(generator: np.random.Generator) -> Pairs:
        hard = generator.beta(1, 1, size=(count, 1))
        return (generator.random((count, 2)) < hard).astype(float)

    return draw


def make_shares(count: int) -> Draw:
    """Return values like F1: mostly 0 or 1, and some between."""

    def draw(generator: np.random.Generator) -> Pairs:
        kind = generator.random((count, 2))
        between = generator.random((count, 2)).round(2)
        return np.where(kind < 0.4, 0.0, np.where(kind < 0.75, 1.0, between))

    return draw


def make_mostly_same(count: int) -> Draw:
    """Return values like those of a new version: nine of ten answers are unchanged."""

    def draw(generator: np.random.Generator) -> Pairs:
        values = make_shares(count)(generator)
        same = generator.random(count) < 0.9
        values[same, 1] = values[same, 0]
        return values

    return draw


MAKERS: Mapping[str, Callable[[int], Draw]] = MappingProxyType(
    {"binary": make_binary, "shares": make_shares, "mostly same": make_mostly_same}
)
"""The makers of draws by their names in the table."""


def make_recorded(first: Mapping[str, float], second: Mapping[str, float]) -> Draw:
    """Return values of two strategies, swapped at random for each question."""
    both = np.asarray([(first[question], second[question]) for question in first])

    def draw(generator: np.random.Generator) -> Pairs:
        turned = generator.random(len(both)) < 0.5
        return np.where(turned[:, None], both[:, ::-1], both)

    return draw


def count_alarms(draw: Draw, *, rounds: int, seed: int = 0) -> dict[str, float]:
    """Return the share of pairs of runs that each test distinguishes."""
    generator = np.random.default_rng(seed)
    verdicts: dict[str, list[bool]] = {}
    for number in range(rounds):
        for name, alarm in _run_tests(draw(generator), number).items():
            verdicts.setdefault(name, []).append(alarm)
    return {name: float(np.mean(detected)) for name, detected in verdicts.items()}


def _run_tests(pairs: Pairs, seed: int) -> dict[str, bool]:
    differences = (pairs[:, 0] - pairs[:, 1]).tolist()
    low, high = bca_interval(differences, seed=seed)
    detected = {
        "randomisation": randomisation_p(differences, seed=seed, rounds=1000) < ALPHA,
        "t-test": t_test_p(differences) < ALPHA,
        "interval": not low <= 0 <= high,
        "gate": is_regression(
            contrast("", "", ("now", "before"), [(a, b) for a, b in pairs.tolist()])
        ),
    }
    if set(np.unique(pairs)) <= {0.0, 1.0}:
        p = mcnemar_p(differences.count(1.0), differences.count(-1.0))
        detected["McNemar"] = p < ALPHA
    return detected


def format_table(rates: Mapping[str, Mapping[str, float]], rounds: int) -> str:
    """Return one line for each way of drawing."""
    lines = [f"| {rounds} pairs | {' | '.join(TESTS)} |", "|---" * (len(TESTS) + 1) + "|"]
    for name, row in rates.items():
        cells = [f"{row[test]:.1%}" if test in row else "" for test in TESTS]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def read_values(file: Path, measure: str) -> dict[str, float]:
    """Return a measure's value of each recorded question."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return score_questions(measure, [Record.from_json(json.loads(line)) for line in lines])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--records", type=Path, nargs=2, help="two files of records")
    parser.add_argument("--measure", default="F1")
    options = parser.parse_args()
    draws: dict[str, Draw] = {
        f"{name}, {count} questions": make(count)
        for name, make in MAKERS.items()
        for count in (50, 200)
    }
    if options.records:
        first, second = (read_values(file, options.measure) for file in options.records)
        draws = {f"{options.measure} of records": make_recorded(first, second)}
    rates = {
        name: count_alarms(draw, rounds=options.rounds, seed=options.seed)
        for name, draw in draws.items()
    }
    print(format_table(rates, options.rounds))


if __name__ == "__main__":
    main()
