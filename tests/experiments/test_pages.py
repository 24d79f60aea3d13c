"""Pages are made from summaries; published pages are those that would be made today."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from experiments.__main__ import CHOSEN, MANIFESTS, PUBLISHED
from experiments.lab.bench import ROOT
from experiments.lab.clean import Published
from experiments.lab.pages import format_contents, format_page
from experiments.lab.plan import find_experiments
from experiments.lab.provenance import Provenance
from experiments.lab.summary import Summary
from research.contamination import load_manifests
from tests.experiments.toy import experiment

from fathom.evaluation.report.blocks import Figure, ReportTable, Sentences
from fathom.evaluation.report.svg import make_standalone

PROVENANCE = Provenance(
    version="1", commits=("abc", "def"), cpu="a processor, 2 cores", python="3.11", system="Linux"
)
PLOT = Figure(name="front-toy", caption="Up is better", svg='<svg viewBox="0 0 2 1"></svg>')
SUMMARY = Summary(
    id="toy/table",
    provenance=PROVENANCE,
    rows=[{"set": "toy", "queries": 2}, {"set": "toy", "queries": 3}],
    seconds=12.4,
    blocks=(
        ReportTable(title="Ours", head=("system", "F1"), rows=(("a|b", "0.5"),)),
        Sentences(title="Tested", lines=("a is better than b",)),
        PLOT,
    ),
)


def load_published(folder: Path) -> Published:
    return Published(experiment=experiment(folder), summary=SUMMARY, questions=(), stains=())


def test_every_kind_of_block_has_its_form(tmp_path: Path) -> None:
    markdown = format_page("toy", [load_published(tmp_path)])
    assert "**Ours**\n\n| system | F1 |\n|---|---|\n| a\\|b | 0.5 |\n" in markdown
    assert "**Tested**\n\n- a is better than b\n" in markdown
    assert "![Up is better](toy/table-front-toy.svg)\n\n*Up is better*\n" in markdown
    assert "Fathom 1 at abc, def, a processor, 2 cores, Python 3.11, Linux, seed 0." in markdown
    assert "samples" not in markdown


def test_the_contents_count_the_questions(tmp_path: Path) -> None:
    markdown = format_contents([load_published(tmp_path)])
    assert "| [Two systems](toy.md#toy-table) | Toy, Table I | 5 | not checked | 12 |" in markdown
    assert markdown.count("Made by Fathom 1 at abc, def") == 1
    later = replace(SUMMARY, provenance=replace(PROVENANCE, commits=("def", "ghi")))
    both = format_contents(
        [load_published(tmp_path), replace(load_published(tmp_path), summary=later)]
    )
    assert both.count("Made by Fathom 1 at abc, def, ghi, a processor") == 1


def test_few_questions_are_called_few(tmp_path: Path) -> None:
    whole = load_published(tmp_path)
    short = replace(whole, experiment=whole.experiment.shorten())
    for markdown in (format_page("toy", [short]), format_contents([short])):
        assert "On the project's own samples only" in markdown


def test_a_summary_is_read_as_it_was_saved(tmp_path: Path) -> None:
    toy = experiment(tmp_path)
    SUMMARY.save(tmp_path / "out")
    assert (tmp_path / "out" / "toy" / "table-front-toy.svg").read_text() == make_standalone(
        PLOT.svg
    )
    read = Summary.load(tmp_path / "out", toy)
    assert read is not None
    assert read == replace(SUMMARY, blocks=(*SUMMARY.blocks[:2], replace(PLOT, svg="")))
    replace(SUMMARY, blocks=()).save(tmp_path / "out")
    assert not (tmp_path / "out" / "toy" / "table-front-toy.svg").exists()


def load_all_published() -> list[str]:
    return [file.name for file in sorted(PUBLISHED.glob("*.md"))]


def test_every_paper_is_published() -> None:
    papers = {planned.paper for planned in find_experiments(ROOT / "experiments")}
    assert set(load_all_published()) == {"README.md", *(f"{paper}.md" for paper in papers)}


@cache
def load_all_results() -> list[Published]:
    """Return the published experiments, which every page is made of."""
    learned = tuple(load_manifests(MANIFESTS, CHOSEN))
    every = [
        Published.load(PUBLISHED, entry, learned)
        for entry in find_experiments(ROOT / "experiments")
    ]
    return [entry for entry in every if entry is not None]


@pytest.mark.parametrize("name", load_all_published())
def test_published_pages_are_up_to_date(name: str) -> None:
    whole = load_all_results()
    paper = name.removesuffix(".md")
    results_of_paper = [entry for entry in whole if entry.experiment.paper == paper]
    markdown = format_contents(whole) if paper == "README" else format_page(paper, results_of_paper)
    assert (PUBLISHED / name).read_text(encoding="utf-8") == markdown, (
        "python -m experiments --pages"
    )


def test_every_plot_of_a_page_exists() -> None:
    lines = [
        line
        for name in load_all_published()
        for line in (PUBLISHED / name).read_text().splitlines()
    ]
    plots = [line.rpartition("(")[2].rstrip(")") for line in lines if line.startswith("![")]
    assert plots
    assert [plot for plot in plots if not (PUBLISHED / plot).is_file()] == []
