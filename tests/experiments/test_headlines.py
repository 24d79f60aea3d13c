"""The figures of the README are the published ones."""

from dataclasses import replace

from experiments.__main__ import PUBLISHED
from experiments.lab.bench import ROOT
from experiments.lab.headlines import (
    END,
    HEADLINES,
    START,
    Headline,
    format_headlines,
    insert_headlines,
)
from experiments.lab.plan import find_experiments
from experiments.lab.summary import Summary
from tests.experiments.test_pages import SUMMARY


def make_row(headline: Headline, system: str, value: float, corpus: str = "") -> dict[str, object]:
    return {
        "set": headline.set,
        "system": system,
        "corpus": corpus,
        "queries": 50,
        "measures": {entry.measure: value for entry in HEADLINES},
        "intervals": {entry.measure: [value - 0.1, value + 0.1] for entry in HEADLINES},
    }


def test_each_published_figure_has_a_line() -> None:
    first = HEADLINES[0]
    headlines = [headline for headline in HEADLINES if headline.experiment == first.experiment]
    rows = [
        line_row
        for headline in headlines
        for line_row in (
            make_row(headline, headline.arm, 0.66),
            make_row(headline, headline.baseline, 0.5),
            make_row(headline, headline.arm, 0.1, corpus="legacy"),
        )
    ]
    lines = format_headlines({first.experiment: replace(SUMMARY, id=first.experiment, rows=rows)})
    assert len(lines) == 2 + len(headlines)
    assert (
        f"| 0.66 [0.56, 0.76] (`{first.arm}`) | 0.50 [0.40, 0.60] (`{first.baseline}`) |"
        in lines[2]
    )
    assert lines[2].endswith("| 50 |")
    assert len(format_headlines({})) == 2
    ours = [line_row for line_row in rows if line_row["system"] == first.arm]
    alone = replace(SUMMARY, id=first.experiment, rows=ours)
    assert len(format_headlines({first.experiment: alone})) == 2


def test_the_lines_are_inserted_between_the_marks() -> None:
    text = f"before\n{START}\nold\n{END}\nafter\n"
    text_ = insert_headlines(text, ["new", "newer"])
    assert text_ == f"before\n{START}\nnew\nnewer\n{END}\nafter\n"
    assert insert_headlines(text_, ["new", "newer"]) == text_


def test_the_readme_is_up_to_date() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert START in text
    loaded = [
        Summary.load(PUBLISHED, planned) for planned in find_experiments(ROOT / "experiments")
    ]
    summaries = {summary.id: summary for summary in loaded if summary is not None}
    assert text == insert_headlines(text, format_headlines(summaries)), (
        "python -m experiments --pages"
    )
