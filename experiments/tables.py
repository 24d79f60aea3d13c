"""The accuracy of answers that are computed over tables, without a language model.

    python -m experiments.tables FOLDER

The folder holds `queries.jsonl.gz` with questions, answers and the table of each question, as CSV.
Half of the tables, by the hash of their names, were looked at when the rules were made; the other
half was not. An answer is right if its values are the given ones after normalising numbers, case,
accents, quotes, footnotes and words in brackets at the end; a number may come with its unit. A
question without an answer counts as wrong.
"""

import argparse
import csv
import gzip
import hashlib
import io
import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from fathom.documents.formats.csv import parse
from fathom.evaluation.statistics import bootstrap_interval
from fathom.question.question import Question
from fathom.tables.answer import ComputedAnswer, answer_over_tables
from fathom.tables.links import TableWords
from fathom.tables.rows import list_document_tables
from fathom.tables.table import build_table
from fathom.types import Document

HALVES = ("looked at", "not looked at")
HEAD = (
    "| half | questions | right | 95 % | answered | wrong for each right | not tentative |\n"
    "|---|---|---|---|---|---|---|"
)
_MARKS = str.maketrans(
    {**dict.fromkeys("\u2018\u2019\u00b4`", "'"), **dict.fromkeys("\u201c\u201d", '"')}
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-")
)
_FOOTNOTES = re.compile(r"((?<!^)\[[^\]]*\]|\[\d+\]|[\u2022\u2666\u2020\u2021*#+])*$")
_BRACKETS = re.compile(r"(?<!^)( \([^)]*\))*$")
_QUOTED = re.compile(r'^"([^"]*)"$')


@dataclass(frozen=True, slots=True)
class Outcome:
    """A question with what was answered.

    Attributes:
        question: The record of the data set.
        answer: The answer; `None` if none was given.
        is_right: Whether the answer is the given one.
    """

    question: Mapping[str, Any]
    answer: ComputedAnswer | None
    is_right: bool

    @property
    def kind(self) -> str:
        """The kind of computation."""
        return self.answer.computation.operation if self.answer else "no answer"


def load_questions(folder: Path) -> list[Mapping[str, Any]]:
    """Return the questions of a data set."""
    with gzip.open(folder / "queries.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def find_half(question: Mapping[str, Any]) -> str:
    """Return the half to which the table of a question belongs."""
    name = question["metadata"]["file"]
    return HALVES[hashlib.sha256(name.encode()).digest()[0] % 2]


def load_table(file: Path, title: str) -> TableWords:
    """Return the words of a table, read by the parser of CSV files."""
    # The data set marks quotes by a backslash, which is not the form of CSV that programs write.
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.reader(lines, escapechar="\\", doublequote=False))
    standard = io.StringIO()
    csv.writer(standard).writerows(rows)
    parsed = parse(standard.getvalue().encode())
    document = Document(
        id=file.stem, text=parsed.text, path=file.name, title=title, blocks=parsed.blocks
    )
    return TableWords.of(build_table(list_document_tables(document)[0], title))


def normalize_value(value: str) -> str:
    """Return a value in a form in which equal ones are the same text."""
    decomposed = unicodedata.normalize("NFKD", value)
    text = "".join(char for char in decomposed if unicodedata.category(char) != "Mn")
    text, before = text.translate(_MARKS), None
    while text != before:
        before = text
        text = _BRACKETS.sub("", _FOOTNOTES.sub("", text.strip()).strip())
        text = _QUOTED.sub(r"\1", text.strip())
    text = " ".join(text.removesuffix(".").split()).lower()
    try:
        return f"{float(text.replace(',', '')):.6g}"
    except ValueError:
        return text


def denotes_same(answer: ComputedAnswer | None, expected: Sequence[str]) -> bool:
    """Return whether an answer has exactly the expected values."""
    if answer is None:
        return False
    values, unit = answer.result.values, answer.result.unit
    forms = [values, tuple(f"{value} {unit}" for value in values)] if unit else [values]
    wanted = sorted(map(normalize_value, expected))
    return any(sorted(map(normalize_value, form)) == wanted for form in forms)


def ask_questions(folder: Path) -> Iterator[Outcome]:
    """Yield the outcome of each question."""
    tables: dict[str, TableWords] = {}
    for question in load_questions(folder):
        metadata = question["metadata"]
        name = metadata["file"]
        if name not in tables:
            tables[name] = load_table(folder / name, metadata["title"])
        answer = answer_over_tables(Question(question["text"]), [tables[name]]).answer
        yield Outcome(question, answer, denotes_same(answer, question["answers"]))


def format_ratio(outcomes: Sequence[Outcome]) -> str:
    """Return the wrong answers for each right one."""
    right = sum(outcome.is_right for outcome in outcomes)
    return f"{(len(outcomes) - right) / right:.2f}" if right else "-"


def format_half(half: str, outcomes: Sequence[Outcome]) -> str:
    """Return the line of a half."""
    marks = [float(outcome.is_right) for outcome in outcomes]
    low, high = bootstrap_interval(marks)
    given = [outcome for outcome in outcomes if outcome.answer]
    sure = [outcome for outcome in given if outcome.answer and not outcome.answer.is_tentative]
    right = sum(outcome.is_right for outcome in sure)
    return (
        f"| {half} | {len(outcomes)} | {sum(marks) / len(marks):.3f} | {low:.3f} to {high:.3f} "
        f"| {len(given) / len(outcomes):.2f} | {format_ratio(given)} "
        f"| {format_ratio(sure)} ({right} right, {len(sure) - right} wrong) |"
    )


def print_kinds(by_half: Mapping[str, Sequence[Outcome]]) -> None:
    """Print right and asked by the kind of computation."""
    counts: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for half, outcomes in by_half.items():
        for outcome in outcomes:
            counts[outcome.kind][half].append(outcome.is_right)
    print(f"\n| computation | {' | '.join(HALVES)} |\n|---|---|---|")
    for kind in sorted(counts, key=lambda kind: -sum(map(len, counts[kind].values()))):
        cells = (f"{sum(counts[kind][half])} of {len(counts[kind][half])}" for half in HALVES)
        print(f"| {kind} | {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--misses", action="store_true", help="list them for the half looked at")
    arguments = parser.parse_args()
    start = perf_counter()
    by_half: dict[str, list[Outcome]] = {half: [] for half in HALVES}
    for outcome in ask_questions(arguments.folder):
        by_half[find_half(outcome.question)].append(outcome)
    print(HEAD)
    for half, outcomes in by_half.items():
        print(format_half(half, outcomes))
    print(format_half("both", [outcome for half in HALVES for outcome in by_half[half]]))
    print_kinds(by_half)
    print(f"\n{perf_counter() - start:.0f} s")
    for outcome in by_half[HALVES[0]] if arguments.misses else ():
        if not outcome.is_right:
            given = outcome.answer.result if outcome.answer else None
            print(outcome.question["text"], outcome.question["answers"], given, sep="\n  ")


if __name__ == "__main__":
    main()
