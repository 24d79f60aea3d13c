"""The figures of the README, each beside those of the simplest system for the same task."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.lab.summary import Summary

START, END = "<!-- results -->", "<!-- end of results -->"


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """A measure of two arms of an experiment.

    Attributes:
        label: The measure and the data set, in plain words.
    """

    label: str
    experiment: str
    set: str
    measure: str
    arm: str
    baseline: str


HEADLINES: Sequence[Headline] = (
    Headline(
        label="right minus wrong answers, SQuAD",
        experiment="fathom/defaults",
        set="squad-fresh",
        measure="CRAG-truthfulness",
        arm="adaptive",
        baseline="never silent",
    ),
    Headline(
        label="F1 of the answers, SQuAD",
        experiment="fathom/defaults",
        set="squad-fresh",
        measure="F1",
        arm="adaptive",
        baseline="one chunk by keyword",
    ),
    Headline(
        label="F1 of the answers, FacQA",
        experiment="fathom/defaults",
        set="facqa-id",
        measure="F1",
        arm="naive",
        baseline="one chunk by keyword",
    ),
)
"""Default settings on clean questions only; `python -m experiments --check` sees to it."""


def format_headlines(summaries: Mapping[str, Summary]) -> list[str]:
    """Return a Markdown table of the headlines whose experiment has both rows.

    Args:
        summaries: By experiment.
    """
    lines = ["| | Fathom | simplest | questions |", "|---|---|---|---|"]
    return lines + [line for headline in HEADLINES for line in _format_line(headline, summaries)]


def insert_headlines(text: str, lines: Sequence[str]) -> str:
    """Return the text with these lines between the two marks."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return "\n".join([f"{before}{START}", *lines, f"{END}{after}"])


def write_headlines(readme: Path, summaries: Mapping[str, Summary]) -> None:
    """Replace the table in the README with the published figures."""
    text = readme.read_text(encoding="utf-8")
    if START in text:
        readme.write_text(insert_headlines(text, format_headlines(summaries)), encoding="utf-8")


def _format_line(headline: Headline, summaries: Mapping[str, Summary]) -> Iterator[str]:
    summary = summaries.get(headline.experiment)
    rows = {
        row["system"]: row
        for row in (summary.rows if summary else ())
        if row["set"] == headline.set and not row["corpus"]
    }
    if headline.arm not in rows or headline.baseline not in rows:
        return
    ours, theirs = rows[headline.arm], rows[headline.baseline]
    cells = [_format_value(headline.measure, row) for row in (ours, theirs)]
    yield f"| {headline.label} | {cells[0]} | {cells[1]} | {ours['queries']} |"


def _format_value(measure: str, row: Mapping[str, Any]) -> str:
    low, high = row["intervals"][measure]
    return f"{row['measures'][measure]:.2f} [{low:.2f}, {high:.2f}] (`{row['system']}`)"
