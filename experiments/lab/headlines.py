"""The figures of the README, each beside the simplest system that does the same."""

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
        told: What it is, in plain words.
    """

    told: str
    experiment: str
    set: str
    measure: str
    arm: str
    baseline: str


HEADLINES: Sequence[Headline] = (
    Headline(
        told="right minus wrong answers, unanswerable questions among them, silence counts nothing "
        "(CRAG-truthfulness, SQuAD)",
        experiment="fathom/defaults",
        set="squad-fresh",
        measure="CRAG-truthfulness",
        arm="adaptive",
        baseline="never silent",
    ),
    Headline(
        told="answers to the same questions beside the accepted ones (F1, SQuAD)",
        experiment="fathom/defaults",
        set="squad-fresh",
        measure="F1",
        arm="adaptive",
        baseline="one chunk by keyword",
    ),
    Headline(
        told="answers to questions over Indonesian news (F1, FacQA)",
        experiment="fathom/defaults",
        set="facqa-id",
        measure="F1",
        arm="naive",
        baseline="one chunk by keyword",
    ),
)
"""Default settings on clean questions only; `python -m experiments --check` sees to it."""


def headlines(summaries: Mapping[str, Summary]) -> list[str]:
    """A Markdown table; only of experiments that have a summary with both rows.

    Args:
        summaries: By experiment.
    """
    lines = ["| | Fathom | simplest | questions |", "|---|---|---|---|"]
    return lines + [line for each in HEADLINES for line in _line(each, summaries)]


def with_headlines(text: str, lines: Sequence[str]) -> str:
    """A text with these lines between the two marks."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return "\n".join([f"{before}{START}", *lines, f"{END}{after}"])


def write_headlines(readme: Path, summaries: Mapping[str, Summary]) -> None:
    """Bring the README in line with what is published."""
    text = readme.read_text(encoding="utf-8")
    if START in text:
        readme.write_text(with_headlines(text, headlines(summaries)), encoding="utf-8")


def _line(headline: Headline, summaries: Mapping[str, Summary]) -> Iterator[str]:
    summary = summaries.get(headline.experiment)
    rows = {
        row["system"]: row
        for row in (summary.rows if summary else ())
        if row["set"] == headline.set and not row["corpus"]
    }
    if headline.arm not in rows or headline.baseline not in rows:
        return
    ours, theirs = rows[headline.arm], rows[headline.baseline]
    paper, _, name = headline.experiment.partition("/")
    page = f"docs/results/{paper}.md#{paper}-{name}"
    cells = [_value(headline.measure, row) for row in (ours, theirs)]
    yield f"| {headline.told} | {cells[0]} | {cells[1]} | [{ours['queries']}]({page}) |"


def _value(measure: str, row: Mapping[str, Any]) -> str:
    low, high = row["intervals"][measure]
    return f"{row['measures'][measure]:.2f} [{low:.2f}, {high:.2f}] (`{row['system']}`)"
