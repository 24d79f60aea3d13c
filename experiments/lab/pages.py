"""The pages of results: Markdown, one page per paper, from summaries only."""

from collections.abc import Iterator, Mapping, Sequence

from experiments.lab.clean import Published
from experiments.lab.outcome import fill_figures
from experiments.lab.plan import SAMPLES, Experiment
from experiments.lab.provenance import merge_provenances

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


def format_page(paper: str, published: Sequence[Published]) -> str:
    """Return the page with all experiments of a paper.

    Args:
        paper: Its short name.
        published: Those of this paper that have a summary.
    """
    lines = [f"# {PAPERS.get(paper, paper)}", "", *_warn_of_few(published)]
    lines += [
        "Made by `make reproduce` from records; do not edit. [What the measures "
        "mean](../measures.md), [all results](README.md)."
    ]
    for entry in published:
        lines += ["", *_format_section(entry)]
    return "\n".join(lines) + "\n"


def format_contents(published: Sequence[Published]) -> str:
    """Return the page that lists all of them."""
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
        *_warn_of_few(published),
        "| experiment | of the paper | questions asked | clean | seconds |",
        "|---|---|---|---|---|",
    ]
    for entry in published:
        experiment, summary = entry.experiment, entry.summary
        count = sum(row["queries"] for row in summary.rows)
        link = f"[{experiment.title}]({experiment.paper}.md#{_format_anchor(experiment)})"
        seconds = "" if summary.seconds is None else f"{summary.seconds:.0f}"
        cells = (link, experiment.where, str(count), entry.state, seconds)
        lines.append(f"| {' | '.join(cells)} |")
    provenances = merge_provenances(entry.summary.provenance for entry in published)
    return "\n".join([*lines, "", *(f"Made by {entry.sentence}." for entry in provenances)]) + "\n"


def _warn_of_few(published: Sequence[Published]) -> Sequence[str]:
    """Return a warning if only samples were asked."""
    if any(data.set != SAMPLES for entry in published for data in entry.experiment.data):
        return ()
    return (
        "**On the project's own samples only**, a handful of questions over 26 documents: this "
        "shows that everything runs. The intervals are as wide as so few questions make them; "
        "only where a sentence says that one system is better do the figures tell two apart.",
        "",
    )


def _format_anchor(experiment: Experiment) -> str:
    return experiment.id.replace("/", "-")


def _format_section(published: Published) -> Iterator[str]:
    experiment, summary = published.experiment, published.summary
    yield f'<a id="{_format_anchor(experiment)}"></a>'
    yield f"## {experiment.title}"
    yield ""
    yield f"*{experiment.where}.* `python -m experiments {experiment.id}`"
    yield ""
    yield published.note
    for block in summary.blocks:
        yield ""
        yield from _format_block(block, experiment)
    if experiment.printed:
        printed = experiment.printed
        rows = tuple(tuple(map(str, row)) for row in printed.rows)
        yield ""
        yield from render_block(ReportTable(title="The paper prints", head=printed.head, rows=rows))
        yield from ("", printed.note) if printed.note else ()
    for paragraph in (*experiment.reading.split("\n\n"), *fill_figures(published).split("\n\n")):
        if paragraph.strip():
            yield ""
            yield " ".join(paragraph.split())
    yield ""
    yield f"<sub>{summary.provenance.sentence}.</sub>"


def _format_block(block: ReportBlock, experiment: Experiment) -> Iterator[str]:
    if isinstance(block, Figure):
        yield f"![{block.caption}]({locate_figure(experiment, block)})"
        yield ""
    yield from render_block(block)


def locate_figure(experiment: Experiment, figure: Figure) -> str:
    """Return the path of a plot, relative to the page."""
    return f"{experiment.id}-{figure.name}.svg"
