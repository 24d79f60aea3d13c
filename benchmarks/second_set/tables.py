"""Tables of a run of the second set that somebody read: python -m benchmarks.second_set.tables.

Reads `answers.jsonl` beside this file, or another one that `benchmarks.second_set.ask` wrote with
the grades of a person, and prints the tables of `docs/evaluation.md`.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.poison import compute_wilson
from benchmarks.second_set.fetch import FOLDER
from experiments.manuals import GRADES, PARTLY, RIGHT, WRONG


@dataclass(frozen=True, slots=True)
class Judged:
    """One question, and what was made of its answer.

    Attributes:
        kind: The kind of its files.
        why: The reason where the answer is not right; else empty.
        excerpted: Whether the gold sentences stood in the excerpts of a search.
    """

    kind: str
    type: str
    language: str
    answerable: bool
    tentative: bool
    grade: str
    why: str
    excerpted: bool


def read_judged(answers: Path) -> list[Judged]:
    """Return the questions with their judgements."""
    rows = {row["_id"]: row for row in map(json.loads, answers.read_text("utf-8").splitlines())}
    judged = []
    for line in (FOLDER / "questions.jsonl").read_text("utf-8").splitlines():
        question = json.loads(line)
        about, row = question["metadata"], rows[question["_id"]]
        judged.append(
            Judged(
                kind=about["files"],
                type=about["type"],
                language=about["language"],
                answerable=about["answerable"],
                tentative=row["tentative"],
                grade=row["eye"],
                why=row.get("why", ""),
                excerpted=row.get("found", False),
            )
        )
    return judged


def format_share(name: str, part: int, whole: int) -> str:
    """Return a row with a count, its share and the 95 % interval of the share."""
    low, high = (100 * bound for bound in compute_wilson(part, whole))
    share = f"{part} of {whole}, {100 * part / whole:.0f} %"
    return f"| {name} | {share} | {low:.0f} to {high:.0f} % |"


def format_totals(judged: Sequence[Judged]) -> Iterator[str]:
    """Yield the grades of all questions."""
    for name, chosen in (
        ("by eye", judged),
        ("by eye, of these tentative", [one for one in judged if one.tentative]),
    ):
        grades = Counter(one.grade for one in chosen if one.answerable)
        others = Counter(one.grade for one in chosen if not one.answerable)
        counts = (*(grades[grade] for grade in GRADES), others[RIGHT], others[WRONG])
        yield f"| {name} | {' | '.join(map(str, counts))} |"


def format_shares(judged: Sequence[Judged]) -> Iterator[str]:
    """Yield the shares that are wanted."""
    answerable = [one for one in judged if one.answerable]
    others = [one for one in judged if not one.answerable]
    good = sum(one.grade in {RIGHT, PARTLY} for one in answerable)
    wrong = sum(one.grade == WRONG and not one.tentative for one in answerable)
    refused = sum(one.grade == RIGHT for one in others)
    excerpted = sum(one.excerpted for one in answerable)
    yield format_share("right or partly", good, len(answerable))
    yield format_share("wrong and not tentative", wrong, len(answerable))
    yield format_share("refused rightly", refused, len(others))
    yield format_share("gold sentences in `fathom search`", excerpted, len(answerable))


def format_groups(judged: Sequence[Judged], key: Callable[[Judged], str]) -> Iterator[str]:
    """Yield the grades of the questions by a key."""
    for name in dict.fromkeys(map(key, judged)):
        chosen = [one for one in judged if key(one) == name]
        asked = [one for one in chosen if one.answerable]
        others = [one for one in chosen if not one.answerable]
        grades = Counter(one.grade for one in asked)
        counts = " | ".join(str(grades[grade]) for grade in GRADES)
        numbers = [sum(one.tentative for one in asked), sum(one.excerpted for one in asked)]
        refused = sum(one.grade == RIGHT for one in others)
        counts += f" | {' | '.join(map(str, numbers))} | {refused} of {len(others)}"
        yield f"| {name} | {len(asked)} | {counts} |"


def format_reasons(judged: Sequence[Judged]) -> Iterator[str]:
    """Yield how often each reason kept an answer from being right, by grade."""
    reasons = Counter(one.why for one in judged if one.why)
    for reason, count in sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0])):
        grades = Counter(one.grade for one in judged if one.why == reason)
        yield f"| {reason} | {count} | {' | '.join(str(grades[grade]) for grade in GRADES[1:])} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("answers", type=Path, nargs="?", default=FOLDER / "answers.jsonl")
    judged = read_judged(parser.parse_args(arguments).answers)
    print(f"| | {' | '.join(GRADES)} | refused rightly | answered without an answer |")
    print(*format_totals(judged), "", *format_shares(judged), sep="\n")
    print(f"\n| | answerable | {' | '.join(GRADES)} | tentative | found | refused rightly |")
    keys: tuple[Callable[[Judged], str], ...] = (
        lambda one: one.kind,
        lambda one: one.language,
        lambda one: one.type,
    )
    for key in keys:
        print(*format_groups(judged, key), sep="\n")
    print(f"\n| reason | questions | {' | '.join(GRADES[1:])} |")
    print(*format_reasons(judged), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
