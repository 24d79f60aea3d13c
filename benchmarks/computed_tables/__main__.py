"""Computed questions over tables of all formats: python -m benchmarks.computed_tables.

Makes 16 tables (CSV, XLSX, ODS, HTML, Markdown, DOCX, PPTX and PDF, in English and Indonesian) and
300 questions over them, ingests all tables into one index, and asks every question as a user asks
it. 60 questions cannot be computed: a cell, a row or a column is missing, two units do not go
together, or two columns may be meant. Prints for each half of the wordings: the share of right
answers, of right answers whose operands are all cited at their cells, the number of answers with a
number that no citation holds, and how many of the 60 were rightly refused.
"""

import argparse
import re
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.computed_tables.files import write_table
from benchmarks.computed_tables.questions import (
    MadeQuestion,
    MadeTable,
    make_questions,
    make_tables,
)

from fathom.engine import Engine
from fathom.settings import IndexSettings, Settings
from fathom.types import Answer

_MARK = re.compile(r"\[\d+\]")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True)
class Outcome:
    """A question with what was answered.

    Attributes:
        question: The question.
        answer: The answer.
    """

    question: MadeQuestion
    answer: Answer

    @property
    def is_right(self) -> bool:
        """Return whether the answer has the right value, or was rightly refused."""
        is_given = self.answer.status == "answered"
        if not self.question.answers:
            return not is_given
        return is_given and any(
            is_value(self.answer.short_answer, value) for value in self.question.answers
        )

    @property
    def is_cited(self) -> bool:
        """Return whether every operand is cited at its cell."""
        calculation = self.answer.calculation
        quotes = {citation.n: citation for citation in self.answer.citations}
        if calculation is None:
            cited = [
                cell for quote in quotes.values() for cell in re.split(r" \| |: ", quote.quote)
            ]
            return all(operand in cited for operand in self.question.operands)
        cells = [
            cell.text
            for cell in calculation.cells
            if (quote := quotes.get(cell.citation)) is not None
            and quote.quote[cell.start - quote.start : cell.end - quote.start] == cell.text
        ]
        return not Counter(self.question.operands) - Counter(cells)

    @property
    def uncited_numbers(self) -> list[str]:
        """The numbers of the answer that neither a citation, the question nor the result has."""
        sources = [citation.quote for citation in self.answer.citations]
        sources += [self.question.text, self.answer.short_answer]
        if self.answer.calculation is not None:
            cells = self.answer.calculation.cells
            sources += [cell.name for cell in cells]
            # A mean divides by the number of its cells, and a count tells of how many rows it is.
            sources.append(" ".join(map(str, range(len(self.answer.citations) + 41))))
        held = {normalize_number(number) for text in sources for number in _NUMBER.findall(text)}
        # A line without a mark is the head of a table that is quoted below it.
        lines = [line for line in self.answer.answer.splitlines() if _MARK.search(line)]
        text = _MARK.sub("", "\n".join(lines))
        return [number for number in _NUMBER.findall(text) if normalize_number(number) not in held]


def normalize_number(text: str) -> str:
    """Return a number without marks between thousands."""
    return re.sub(r"[.,](?=\d{3}(?:\D|$))", "", text).replace(",", ".")


def is_value(text: str, expected: str) -> bool:
    """Return whether an answer is a name, or a number to within a rounding in its last place."""
    numbers = _NUMBER.findall(text)
    if not re.fullmatch(r"[\d.]+", expected):
        return text.strip().casefold() == expected.casefold()
    if len(numbers) != 1:
        return False
    # Either mark may be the decimal one.
    english, other = numbers[0].replace(",", ""), numbers[0].replace(".", "").replace(",", ".")
    return any(abs(float(text) - float(expected)) <= 0.006 for text in (english, other))


def write_tables(tables: Sequence[MadeTable], folder: Path) -> None:
    """Write each table as a file of its format."""
    for table in tables:
        rows = [["" if cell is None else str(cell) for cell in row] for row in table.rows]
        spec = table.spec
        content = write_table(spec["format"], spec["title"], [spec["heads"], *rows])
        (folder / table.name).write_bytes(content)


def ask_questions(
    engine: Engine, questions: Sequence[MadeQuestion], strategy: str
) -> Iterator[Outcome]:
    """Yield the outcome of each question."""
    for question in questions:
        yield Outcome(question, engine.ask(question.text, strategy=strategy))


def ask_tables(
    tables: Sequence[MadeTable], questions: Sequence[MadeQuestion], strategy: str
) -> list[Outcome]:
    """Return the outcomes of questions over one index of all tables."""
    with tempfile.TemporaryDirectory() as place:
        corpus = Path(place) / "corpus"
        corpus.mkdir()
        write_tables(tables, corpus)
        settings = Settings(index=IndexSettings(directory=Path(place) / "index"))
        with Engine(settings) as engine:
            engine.ingest([corpus])
            return list(ask_questions(engine, questions, strategy))


def format_half(name: str, outcomes: Sequence[Outcome]) -> str:
    """Return the line of a half of the wordings."""
    asked = [outcome for outcome in outcomes if outcome.question.answers]
    right = [outcome for outcome in asked if outcome.is_right]
    cited = sum(outcome.is_cited for outcome in right)
    refused = [outcome for outcome in outcomes if not outcome.question.answers]
    uncited = sum(bool(outcome.uncited_numbers) for outcome in outcomes)
    rightly = sum(outcome.is_right for outcome in refused)
    return (
        f"| {name} | {len(right)} of {len(asked)} ({len(right) / max(len(asked), 1):.3f}) "
        f"| {cited} of {len(right)} | {uncited} "
        f"| {rightly} of {len(refused)} ({rightly / max(len(refused), 1):.3f}) |"
    )


def main() -> None:
    """Ask, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=33)
    parser.add_argument("--strategy", default="adaptive")
    parser.add_argument("--misses", action="store_true", help="list those of the half looked at")
    options = parser.parse_args()
    tables = make_tables(options.seed)
    started = time.perf_counter()
    outcomes = ask_tables(tables, make_questions(tables, options.seed), options.strategy)
    print("| wordings | right | operands cited | with an uncited number | rightly refused |")
    print("|---|---|---|---|---|")
    halves = {True: "looked at", False: "not looked at"}
    for was_looked_at, name in halves.items():
        half = [o for o in outcomes if o.question.was_looked_at == was_looked_at]
        print(format_half(name, half))
    print(format_half("all", outcomes))
    by_kind: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_kind[outcome.question.kind].append(outcome)
        by_kind[Path(outcome.question.table).suffix].append(outcome)
    for kind, group in by_kind.items():
        halves_right = [
            f"{sum(o.is_right for o in half)} of {len(half)}"
            for looked in halves
            if (half := [o for o in group if o.question.was_looked_at == looked])
        ]
        print(f"| {kind} | {' | '.join(halves_right)} |")
    print(f"{time.perf_counter() - started:.0f} s")
    for outcome in outcomes if options.misses else ():
        is_good = outcome.is_right and not outcome.uncited_numbers
        if outcome.question.was_looked_at and not is_good:
            answer = outcome.answer
            print(outcome.question.kind, "|", outcome.question.text, "|", outcome.question.answers)
            print("   ", answer.status, answer.tentative, answer.short_answer, "|", answer.answer)
            print("   ", outcome.uncited_numbers)


if __name__ == "__main__":
    main()
