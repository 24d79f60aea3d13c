"""Questions over quarterly reports: python -m benchmarks.financial_reports PDFS [--index DIR].

Ingests the reports of `../shared/data/sec-10-q/pdfs` into one index, or takes the one of `--index`,
and asks every question of `questions.py` as a user asks it. An answer is right if its number is the
right one, in the unit of the statement or told out. A question that the statements do not answer is
right if no value is given. Prints for each half: right, wrong and not answered with Wilson
intervals, wrong answers that are not tentative, right answers whose cells are all cited, and the
questions rightly refused.
"""

import argparse
import json
import re
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.financial_reports.questions import HALVES, ReportQuestion, make_questions
from benchmarks.poison import compute_wilson

from fathom.config import parse_settings
from fathom.engine import Engine
from fathom.types import Answer

_NUMBER = re.compile(r"(?P<sign>[-\u2212(]?)\s?\$?\s?(?P<digits>\d+(?:,\d{3})*(?:\.\d+)?)")
_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "ribu": 1e3, "juta": 1e6}
_STATED = 1e6
"""The unit of the amounts of all statements."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A question with what was answered.

    Attributes:
        question: The question.
        answer: The answer.
    """

    question: ReportQuestion
    answer: Answer

    @property
    def is_given(self) -> bool:
        """Return whether an answer was given."""
        return self.answer.status == "answered"

    @property
    def is_right(self) -> bool:
        """Return whether the answer is the right value, or was rightly refused."""
        if self.question.answer is None:
            return not self.is_given
        return self.is_given and is_value(self.answer.short_answer, self.question)

    @property
    def is_cited(self) -> bool:
        """Return whether every cell of the right answer stands in a citation."""
        quotes = [citation.quote for citation in self.answer.citations]
        return all(any(cell in quote for quote in quotes) for cell in self.question.cells)


def is_value(text: str, question: ReportQuestion) -> bool:
    """Return whether a text begins with a number that is the right value to within a rounding.

    The sign of an amount that was paid, or by which one changed, may be left to the words.
    """
    match = _NUMBER.search(text)
    expected = question.answer
    if match is None or expected is None:
        return False
    digits = match["digits"].replace(",", "")
    number = float(digits) * (-1 if match["sign"] else 1)
    if not question.signed:
        number, expected = abs(number), abs(expected)
    # A number that is told with fewer digits than the statement has may be rounded.
    allowed = 0.5 * 10 ** -len(digits.partition(".")[2]) + 1e-9
    scale = next((factor for word, factor in _SCALES.items() if word in text), None)
    forms = (expected, expected * _STATED) if scale is None else (expected * _STATED / scale,)
    return any(abs(number - form) <= allowed for form in forms)


def ask_questions(
    engine: Engine, questions: Sequence[ReportQuestion], strategy: str
) -> Iterator[Outcome]:
    """Yield the outcome of each question."""
    for question in questions:
        yield Outcome(question, engine.ask(question.text, strategy=strategy))


def format_share(part: int, whole: int) -> str:
    """Return a share with its interval of 95 %."""
    if not whole:
        return "-"
    low, high = compute_wilson(part, whole)
    return f"{part} of {whole} ({part / whole:.2f}, {low:.2f} to {high:.2f})"


def format_half(name: str, outcomes: Sequence[Outcome]) -> str:
    """Return the line of a half."""
    asked = [outcome for outcome in outcomes if outcome.question.answer is not None]
    right = [outcome for outcome in asked if outcome.is_right]
    given = [outcome for outcome in asked if outcome.is_given]
    sure_wrong = [o for o in given if not o.is_right and not o.answer.tentative]
    refused = [outcome for outcome in outcomes if outcome.question.answer is None]
    rightly = sum(outcome.is_right for outcome in refused)
    cited = sum(outcome.is_cited for outcome in right)
    return (
        f"| {name} | {format_share(len(right), len(asked))} "
        f"| {format_share(len(given) - len(right), len(asked))} "
        f"| {format_share(len(asked) - len(given), len(asked))} | {len(sure_wrong)} "
        f"| {cited} of {len(right)} | {format_share(rightly, len(refused))} |"
    )


def print_kinds(outcomes: Sequence[Outcome]) -> None:
    """Print right and asked by the kind of question."""
    by_kind: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_kind[outcome.question.kind].append(outcome)
    print(f"\n| kind | {' | '.join(HALVES)} |\n|---|---|---|")
    for kind, group in by_kind.items():
        cells = []
        for half in HALVES:
            marks = [outcome.is_right for outcome in group if outcome.question.half == half]
            cells.append(f"{sum(marks)} of {len(marks)}")
        print(f"| {kind} | {' | '.join(cells)} |")


def run_questions(arguments: argparse.Namespace, place: Path) -> list[Outcome]:
    """Return the outcomes over an index that is named, or made anew at a place."""
    index = arguments.index or place
    varied = dict(pair.split("=", 1) for pair in arguments.set)
    with Engine(parse_settings({"index.directory": str(index), **varied})) as engine:
        if arguments.index is None:
            engine.ingest([arguments.folder])
        return list(ask_questions(engine, make_questions(arguments.seed), arguments.strategy))


def main() -> None:
    """Ask, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--index", type=Path, help="an index of the reports, made before")
    parser.add_argument("--seed", type=int, default=33)
    parser.add_argument("--strategy", default="adaptive")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--out", type=Path, help="a file for all answers, as JSON lines")
    parser.add_argument("--misses", action="store_true", help="list those of the half looked at")
    arguments = parser.parse_args()
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as place:
        outcomes = run_questions(arguments, Path(place) / "index")
    print(
        "| reports | right | wrong | not answered | wrong, not tentative | cells cited | refused |"
    )
    print("|---|---|---|---|---|---|---|")
    for half in HALVES:
        print(format_half(half, [o for o in outcomes if o.question.half == half]))
    print(format_half("all", outcomes))
    print_kinds(outcomes)
    print(f"\n{time.perf_counter() - started:.0f} s")
    if arguments.out:
        lines = (
            json.dumps([o.question.half, o.question.text, o.answer.short_answer, o.is_right])
            for o in outcomes
        )
        arguments.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    for outcome in outcomes if arguments.misses else ():
        if outcome.question.half == HALVES[0] and not outcome.is_right:
            answer = outcome.answer
            print(outcome.question.kind, "|", outcome.question.text, "|", outcome.question.answer)
            print("   ", answer.status, answer.tentative, answer.short_answer, "|", answer.answer)


if __name__ == "__main__":
    main()
