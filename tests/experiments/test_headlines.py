"""The figures of the README are those that are published."""

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
from experiments.lab.plan import found
from experiments.lab.summary import Summary
from tests.experiments.test_pages import SUMMARY


def row(headline: Headline, system: str, value: float, corpus: str = "") -> dict[str, object]:
    return {
        "set": headline.set,
        "system": system,
        "corpus": corpus,
        "queries": 50,
        "measures": {each.measure: value for each in HEADLINES},
        "intervals": {each.measure: [value - 0.1, value + 0.1] for each in HEADLINES},
    }


def test_a_line_for_each_figure_whose_experiment_was_made() -> None:
    first = HEADLINES[0]
    own = [headline for headline in HEADLINES if headline.experiment == first.experiment]
    rows = [
        made
        for each in own
        for made in (
            row(each, each.arm, 0.66),
            row(each, each.baseline, 0.5),
            row(each, each.arm, 0.1, corpus="legacy"),
        )
    ]
    lines = format_headlines({first.experiment: replace(SUMMARY, id=first.experiment, rows=rows)})
    assert len(lines) == 2 + len(own)
    assert (
        f"| 0.66 [0.56, 0.76] (`{first.arm}`) | 0.50 [0.40, 0.60] (`{first.baseline}`) |"
        in lines[2]
    )
    assert lines[2].endswith("| 50 |")
    assert len(format_headlines({})) == 2
    ours = [made for made in rows if made["system"] == first.arm]
    alone = replace(SUMMARY, id=first.experiment, rows=ours)
    assert len(format_headlines({first.experiment: alone})) == 2


def test_the_lines_stand_between_the_marks() -> None:
    text = f"before\n{START}\nold\n{END}\nafter\n"
    made = insert_headlines(text, ["new", "newer"])
    assert made == f"before\n{START}\nnew\nnewer\n{END}\nafter\n"
    assert insert_headlines(made, ["new", "newer"]) == made


def test_our_readme_is_up_to_date() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert START in text
    known = [Summary.load(PUBLISHED, each) for each in found(ROOT / "experiments")]
    summaries = {summary.id: summary for summary in known if summary is not None}
    assert text == insert_headlines(text, format_headlines(summaries)), (
        "python -m experiments --pages"
    )
