"""The accuracy of answers that are computed over tables.

    python -m experiments.tables FOLDER [--together [--index DIR]]
    python -m experiments.tables FOLDER --alone [--model local:FILE --replies FILE]

The folder holds `queries.jsonl.gz` with questions, answers and the table of each question, as CSV.
Half of the tables, by the hash of their names, were looked at when the rules were made; the other
half was not. An answer is right if its values are the given ones after normalising numbers, case,
accents, quotes, footnotes and words in brackets at the end; a number may come with its unit. A
question without an answer counts as wrong.

Each question is asked of its own table; with `--together` all tables are ingested into one index,
each as a page with its title, and each question is asked as a user asks it, without its table being
named: `Engine.ask`, strategy `naive` or the one of `--strategy`. The index is made anew unless
`--index` names one that was made before. With `--alone` each table is ingested into an index of its
own and asked in the same way, with a language model if `--model` names one; its replies are kept in
the file of `--replies`, and no reply in it is asked for again. `--first N` asks only the first N
questions, their tables ordered by a hash of their names. `--set ask.min_probability=0` gives every
answer, sure or not.
"""

import argparse
import csv
import gzip
import hashlib
import html
import io
import json
import re
import tempfile
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

from experiments.lab.kept_replies import KeptReplies, connect_keeping

from fathom.config import parse_settings
from fathom.documents.formats.csv import parse
from fathom.engine import Engine
from fathom.evaluation.statistics import bootstrap_interval
from fathom.question.question import Question
from fathom.settings import IndexSettings, Settings
from fathom.tables.answer import answer_over_tables
from fathom.tables.links import TableWords
from fathom.tables.rows import list_document_tables
from fathom.tables.table import build_table
from fathom.types import Answer, Document

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
        values: The values of the answer; none if none was given.
        kind: The kind of computation; `read` where a text was read, `no answer` without an answer.
        is_sure: Whether the answer was given and not only shown as not sure.
        is_right: Whether the answer is the given one.
    """

    question: Mapping[str, Any]
    values: Sequence[str]
    kind: str
    is_sure: bool
    is_right: bool


@dataclass(frozen=True, slots=True)
class Asking:
    """The options of asking tables one by one.

    Attributes:
        strategy: The strategy.
        model: The language model; empty for none.
        replies: The file of its replies.
        varied: The values of other settings by their names.
    """

    strategy: str
    model: str
    replies: Path
    varied: Mapping[str, str] = field(default_factory=dict)

    def make_settings(self, index: Path) -> Settings:
        """Return the settings with an index."""
        fixed = {"index.directory": str(index), "llm.model": self.model}
        return parse_settings({**fixed, **self.varied})


def load_questions(folder: Path) -> list[Mapping[str, Any]]:
    """Return the questions of a data set."""
    with gzip.open(folder / "queries.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def choose_first(
    questions: Sequence[Mapping[str, Any]], most: int | None
) -> list[Mapping[str, Any]]:
    """Return the first questions with their tables in an order by chance; all without a number."""
    if most is None:
        return [*questions]
    return sorted(questions, key=_hash_table)[:most]


def _hash_table(question: Mapping[str, Any]) -> str:
    # Not the hash of `find_half`, so that both halves are among the first.
    return hashlib.sha256(f"w{question['metadata']['file']}".encode()).hexdigest()


def find_half(question: Mapping[str, Any]) -> str:
    """Return the half to which the table of a question belongs."""
    name = question["metadata"]["file"]
    return HALVES[hashlib.sha256(name.encode()).digest()[0] % 2]


def read_rows(file: Path) -> list[list[str]]:
    """Return the cells of a table."""
    # The data set marks quotes by a backslash, which is not the form of CSV that programs write.
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.reader(lines, escapechar="\\", doublequote=False))


def load_table(file: Path, title: str) -> TableWords:
    """Return the words of a table, read by the parser of CSV files."""
    standard = io.StringIO()
    csv.writer(standard).writerows(read_rows(file))
    parsed = parse(standard.getvalue().encode())
    document = Document(
        id=file.stem, text=parsed.text, path=file.name, title=title, blocks=parsed.blocks
    )
    return TableWords.of(build_table(list_document_tables(document)[0], title))


def format_page(title: str, rows: Sequence[Sequence[str]]) -> str:
    """Return a table as the page of its title."""
    head, *body = (
        "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row)
        for row, tag in zip(rows, ["th", *["td"] * len(rows)], strict=False)
    )
    lines = "\n".join(f"<tr>{row}</tr>" for row in (head, *body))
    name = html.escape(title)
    return (
        f'<html><head><meta charset="utf-8"><title>{name}</title></head>'
        f"<body><h1>{name}</h1>\n<table>\n{lines}\n</table></body></html>"
    )


def ingest_tables(folder: Path, index: Path) -> None:
    """Ingest all tables of a data set into an index."""
    titles = {
        question["metadata"]["file"]: question["metadata"]["title"]
        for question in load_questions(folder)
    }
    with tempfile.TemporaryDirectory() as place, open_engine(index) as engine:
        for file, title in titles.items():
            write_page(folder / file, title, Path(place))
        engine.ingest([Path(place)])


def write_page(file: Path, title: str, place: Path) -> None:
    """Write the page of a table into a folder."""
    page = place / f"{file.parent.name}-{file.stem}.html"
    page.write_text(format_page(title, read_rows(file)), encoding="utf-8")


def open_engine(index: Path) -> Engine:
    """Return an engine over an index."""
    return Engine(Settings(index=IndexSettings(directory=index)))


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


def denotes_same(values: Sequence[str], unit: str, expected: Sequence[str]) -> bool:
    """Return whether values, with or without their unit, are exactly the expected ones."""
    forms = [values, [f"{value} {unit}" for value in values]] if unit else [values]
    wanted = sorted(map(normalize_value, expected))
    return any(sorted(map(normalize_value, form)) == wanted for form in forms)


def ask_questions(folder: Path) -> Iterator[Outcome]:
    """Yield the outcome of each question, asked of its own table."""
    tables: dict[str, TableWords] = {}
    for question in load_questions(folder):
        metadata = question["metadata"]
        name = metadata["file"]
        if name not in tables:
            tables[name] = load_table(folder / name, metadata["title"])
        answer = answer_over_tables(Question(question["text"]), [tables[name]]).answer
        values, unit = (answer.result.values, answer.result.unit) if answer else ((), "")
        yield Outcome(
            question,
            values,
            answer.computation.operation if answer else "no answer",
            is_sure=answer is not None and not answer.is_tentative,
            is_right=bool(values) and denotes_same(values, unit, question["answers"]),
        )


def ask_together(folder: Path, index: Path, strategy: str) -> Iterator[Outcome]:
    """Yield the outcome of each question, asked of an index of all tables."""
    with open_engine(index) as engine:
        for question in load_questions(folder):
            yield judge_answer(question, engine.ask(question["text"], strategy=strategy))


def ask_alone(
    folder: Path, questions: Sequence[Mapping[str, Any]], asking: Asking
) -> Iterator[Outcome]:
    """Yield the outcome of each question, asked of an index of its table alone."""
    by_table: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for question in questions:
        by_table[question["metadata"]["file"]].append(question)
    # One child process serves the model of all tables.
    with connect_keeping(asking.make_settings(Path()), KeptReplies(asking.replies)) as connect:
        for file, group in by_table.items():
            with tempfile.TemporaryDirectory() as place:
                pages = Path(place) / "pages"
                pages.mkdir()
                write_page(folder / file, group[0]["metadata"]["title"], pages)
                settings = asking.make_settings(Path(place) / "index")
                with Engine(settings, connect=connect) as engine:
                    engine.ingest([pages])
                    for question in group:
                        answer = engine.ask(question["text"], strategy=asking.strategy)
                        yield judge_answer(question, answer)


def judge_answer(question: Mapping[str, Any], answer: Answer) -> Outcome:
    """Return the outcome of a question that an engine answered."""
    is_given = answer.status == "answered"
    calculation = answer.calculation
    unit = calculation.unit if calculation else ""
    bare = answer.short_answer.removesuffix(f" {unit}") if unit else answer.short_answer
    # Several values stand in one line; a comma may also stand within a value.
    forms = ([bare], bare.split(", "))
    return Outcome(
        question,
        forms[0] if is_given else (),
        calculation.operation if calculation else "read" if is_given else "no answer",
        is_sure=is_given and not answer.tentative,
        is_right=is_given and any(denotes_same(form, unit, question["answers"]) for form in forms),
    )


def format_ratio(outcomes: Sequence[Outcome]) -> str:
    """Return the wrong answers for each right one."""
    right = sum(outcome.is_right for outcome in outcomes)
    return f"{(len(outcomes) - right) / right:.2f}" if right else "-"


def format_half(half: str, outcomes: Sequence[Outcome]) -> str:
    """Return the line of a half."""
    marks = [float(outcome.is_right) for outcome in outcomes]
    low, high = bootstrap_interval(marks)
    given = [outcome for outcome in outcomes if outcome.values]
    sure = [outcome for outcome in given if outcome.is_sure]
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


def ask_in_mode(arguments: argparse.Namespace, place: Path) -> Iterator[Outcome]:
    """Yield the outcomes in the mode that the arguments name; a new index is made at a place."""
    if arguments.alone:
        varied = dict(pair.split("=", 1) for pair in arguments.set)
        asking = Asking(arguments.strategy, arguments.model, arguments.replies, varied)
        questions = choose_first(load_questions(arguments.folder), arguments.first)
        return ask_alone(arguments.folder, questions, asking)
    if not arguments.together:
        return ask_questions(arguments.folder)
    if arguments.index is None:
        ingest_tables(arguments.folder, place)
    return ask_together(arguments.folder, arguments.index or place, arguments.strategy)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--misses", action="store_true", help="list them for the half looked at")
    parser.add_argument("--together", action="store_true", help="ask an index of all tables")
    parser.add_argument("--index", type=Path, help="the index of all tables, made before")
    parser.add_argument("--alone", action="store_true", help="ask an index of each table")
    parser.add_argument("--model", default="", help="the language model for --alone")
    parser.add_argument("--replies", type=Path, default=Path(".work/tables/replies.jsonl"))
    parser.add_argument("--first", type=int, help="with --alone: the number of questions")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--strategy", default="naive")
    arguments = parser.parse_args()
    start = perf_counter()
    by_half: dict[str, list[Outcome]] = {half: [] for half in HALVES}
    with tempfile.TemporaryDirectory() as place:
        for outcome in ask_in_mode(arguments, Path(place)):
            by_half[find_half(outcome.question)].append(outcome)
    print(HEAD)
    for half, outcomes in by_half.items():
        print(format_half(half, outcomes))
    print(format_half("both", [outcome for half in HALVES for outcome in by_half[half]]))
    print_kinds(by_half)
    print(f"\n{perf_counter() - start:.0f} s")
    for outcome in by_half[HALVES[0]] if arguments.misses else ():
        if not outcome.is_right:
            print(outcome.question["text"], outcome.question["answers"], outcome.values, sep="\n  ")


if __name__ == "__main__":
    main()
