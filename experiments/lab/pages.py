"""The pages of results: Markdown, one page a paper, from summaries only."""

from collections.abc import Iterator, Mapping, Sequence

from experiments.lab.clean import Published
from experiments.lab.plan import SAMPLES, Experiment
from experiments.lab.provenance import together

from fathom.evaluation.report.blocks import Figure, ReportBlock, ReportTable
from fathom.evaluation.report.render import render_block

PAPERS: Mapping[str, str] = {
    "maf": "MAF-RAG: confidence ladder and debate",
    "rrf": "Multi-retrieval with reciprocal rank fusion",
    "anchor": "Anchors and the budget-aware uncertainty gate",
    "mao": "MAO-ARAG: planned workflows",
    "hybrid": "Parallel agentic hybrid retrieval",
    "fathom": "All strategies on all data sets",
}


def page(paper: str, published: Sequence[Published]) -> str:
    """All experiments of a paper.

    Args:
        paper: Its short name.
        published: Those of this paper that have a summary.
    """
    lines = [f"# {PAPERS.get(paper, paper)}", "", *_few(published)]
    lines += [
        "Made by `make reproduce` from records; do not edit. [What the measures "
        "mean](../measures.md), [all results](README.md)."
    ]
    for each in published:
        lines += ["", *_section(each)]
    return "\n".join(lines) + "\n"


def contents(published: Sequence[Published]) -> str:
    """The page that names all of them."""
    lines = [
        "# Results",
        "",
        "Every table and figure of the five papers, remade on the data that we have. Made by "
        "`make reproduce`; do not edit. Numbers in brackets are 95 % intervals.",
        "",
        "*Clean*: no question, and no article or document that one is about, was learned from or "
        "chosen on; each page says what is not. The scores of every question, without texts, are "
        "in `<paper>/<name>.scores.jsonl.gz`.",
        "",
        *_few(published),
        "| experiment | of the paper | questions asked | clean | seconds |",
        "|---|---|---|---|---|",
    ]
    for each in published:
        experiment, summary = each.experiment, each.summary
        asked = sum(row["queries"] for row in summary.rows)
        link = f"[{experiment.title}]({experiment.paper}.md#{_anchor(experiment)})"
        cells = (link, experiment.where, str(asked), each.state, f"{summary.seconds:.0f}")
        lines.append(f"| {' | '.join(cells)} |")
    made = together(each.summary.provenance for each in published)
    return "\n".join([*lines, "", *(f"Made by {each.sentence}." for each in made)]) + "\n"


def _few(published: Sequence[Published]) -> Sequence[str]:
    """A warning where nothing but samples was asked."""
    if any(data.set != SAMPLES for each in published for data in each.experiment.data):
        return ()
    return (
        "**On the project's own samples only**, a handful of questions over 26 documents: this "
        "shows that everything runs. The intervals are as wide as so few questions make them; "
        "only where a sentence says that one system is better do the figures tell two apart.",
        "",
    )


def _anchor(experiment: Experiment) -> str:
    return experiment.id.replace("/", "-")


def _section(published: Published) -> Iterator[str]:
    experiment, summary = published.experiment, published.summary
    yield f'<a id="{_anchor(experiment)}"></a>'
    yield f"## {experiment.title}"
    yield ""
    yield f"*{experiment.where}.* `python -m experiments {experiment.id}`"
    yield ""
    yield published.note
    for block in summary.blocks:
        yield ""
        yield from _lines(block, experiment)
    if experiment.printed:
        given = experiment.printed
        rows = tuple(tuple(map(str, row)) for row in given.rows)
        yield ""
        yield from render_block(ReportTable(title="The paper prints", head=given.head, rows=rows))
        yield from ("", given.note) if given.note else ()
    for paragraph in experiment.reading.split("\n\n"):
        yield ""
        yield " ".join(paragraph.split())
    yield ""
    yield f"<sub>{summary.provenance.sentence}.</sub>"


def _lines(block: ReportBlock, experiment: Experiment) -> Iterator[str]:
    if isinstance(block, Figure):
        yield f"![{block.caption}]({figure_file(experiment, block)})"
        yield ""
    yield from render_block(block)


def figure_file(experiment: Experiment, figure: Figure) -> str:
    """Where a plot lies, from the page."""
    return f"{experiment.id}-{figure.name}.svg"
