"""A report as one HTML file that needs nothing else: no script, no font, no other server."""

from collections.abc import Iterator, Sequence
from html import escape
from math import inf

from fathom import __version__
from fathom.evaluation.breakdown import FIELDS, SHOWN, SHOWN_OF_RANKINGS, Field, rows_of_parts
from fathom.evaluation.comparison import Comparison, corrected
from fathom.evaluation.curves import Group, by_dataset, size_lines
from fathom.evaluation.figures import of_sizes, of_systems
from fathom.evaluation.findings import Findings
from fathom.evaluation.grading import JUDGED
from fathom.evaluation.markup import Pictures, contents, items, paragraph, section, table, value
from fathom.evaluation.measures import LOWER_IS_BETTER
from fathom.evaluation.narrative import failures, leaders, scope, standings
from fathom.evaluation.report import HEADLINES, HEADLINES_OF_RANKINGS, Row

MOST_FAILURES = 50
"""So many failed questions are listed; all are counted."""
APART: dict[Field, str] = {
    "phase": "by the phase in which questions ended",
    "kind": "by kind of question",
}
UNLIKE = (
    "Not all of them were asked the same questions, so these means cannot be compared; "
    "what is said above of two systems rests on the questions that both were asked."
)
FEWEST_SECTIONS = 4
"""With so many sections there is a table of contents."""
STYLE = """\
:root{color-scheme:light dark;--paper:#fff;--ink:#1c1e21;--line:#8886;--link:#0b5cad}
@media (prefers-color-scheme:dark){:root{--paper:#16181b;--ink:#e6e7e9;--link:#7db8f0}}
body{background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif;\
max-width:64rem;margin:2rem auto;padding:0 1rem;overflow-wrap:break-word}
a{color:var(--link)}li{margin:.2rem 0}h2{margin-top:2.5rem}
nav ul{display:flex;flex-wrap:wrap;gap:.2rem 1.5rem;padding:0;list-style:none}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,25rem),1fr));\
gap:1.5rem 2rem;align-items:start}
figure{margin:0}svg{display:block;width:100%;height:auto;max-width:40rem}
figcaption{font-size:.9rem;padding-bottom:.5rem}
.wide{overflow-x:auto;margin:1rem 0}
table{border-collapse:separate;border-spacing:0;font-size:.85rem;font-variant-numeric:tabular-nums}
caption{text-align:left;padding:.3rem 0;font-weight:bold}
caption span{display:inline-block;position:sticky;left:0;max-width:calc(100vw - 2.5rem)}
th,td{border-bottom:1px solid var(--line);padding:.25rem .6rem;text-align:right;vertical-align:top}
th:first-child{text-align:left;min-width:clamp(7rem,25vw,12rem);position:sticky;left:0;background:var(--paper)}
small{opacity:.8;font-size:.8em}td small{display:block;white-space:nowrap}
.fell,.held{border-left:.4rem solid #cc3d3d;padding-left:.8rem;font-weight:bold}
.held{border-color:#169c76}
@media print{body{max-width:none;margin:0;font-size:10pt}.wide{overflow:visible}\
figure,tr,li{break-inside:avoid}h2,caption{break-after:avoid}\
.plots{grid-template-columns:1fr 1fr}}"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(findings: Findings) -> str:
    """The report; equal findings give equal bytes.

    Raises:
        UsageError: If there is something to draw and the `eval` extra is not installed.
    """
    body = "\n".join(part for part in _parts(findings) if part)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_title(findings)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _title(findings: Findings) -> str:
    names = ", ".join(by_dataset(findings.recorded))
    return escape(f"Fathom: evaluation of {names or 'nothing'}")


def _parts(findings: Findings) -> Iterator[str]:
    yield "<h1>Evaluation</h1>"
    yield paragraph(scope(findings.ranked))
    yield paragraph(scope(findings.answered))
    yield paragraph(
        "Numbers in brackets are 95 % intervals over the questions; there is none where all "
        "questions gave the same value. A question whose run failed counts against its system. "
        "Every p is corrected for all that is tested together."
    )
    filled = {title: body for title, body in _sections(findings).items() if any(body)}
    if len(filled) >= FEWEST_SECTIONS:
        yield contents(list(filled))
    for place, (title, body) in enumerate(filled.items()):
        yield section(place, title, body)
    yield (
        f"<footer><p><small>Fathom {escape(__version__)}; made by setup "
        f"{_setups(findings.recorded)}. What each measure means: docs/measures.md and "
        "docs/evaluation.md.</small></p></footer>"
    )


def _sections(findings: Findings) -> dict[str, list[str]]:
    """What stands under each heading; some may be empty."""
    pictures = Pictures()
    ranked, answered = findings.ranked, findings.answered
    leading = corrected([*leaders(ranked), *leaders(answered)])
    found = {
        "Gate": _gate(findings),
        "In plain words": [items([each.sentence for each in findings.comparisons])],
        "Who leads": [items(standings(leading)), _differences(leading)],
        "How far the judges can be believed": [items([a.sentence for a in findings.agreements])],
    }
    for name in by_dataset(findings.recorded):
        retrieval = [row for row in findings.retrieval if row.dataset == name]
        rows = [row for row in findings.rows if row.dataset == name]
        found[f"Data set {name}"] = [
            *_systems("Retrievers", retrieval, by_dataset(ranked).get(name, ()), pictures),
            *_systems("Strategies", rows, by_dataset(answered).get(name, ()), pictures),
        ]
    sizes = [*size_lines(ranked).items(), *size_lines(answered).items()]
    found["The size of the corpus"] = [_plots(of_sizes(sizes, pictures))]
    found["Failed questions"] = _failed(findings.recorded)
    return found


def _differences(made: Sequence[Comparison]) -> str:
    """A line for each test, with what stands behind the sentences."""
    if not made:
        return ""
    cells = [
        [
            escape(each.measure),
            value(f"{each.difference:+.3f}", _around(each.interval, "+.3f")),
            f"{each.p_holm:.3g}",
            str(each.queries),
            f"{each.detectable:.3f}" if 0 < each.detectable < inf else "",
        ]
        for each in made
    ]
    return table(
        "The difference to each of the others. p: corrected for all lines (Holm); last column: a "
        "difference that so many questions would probably have shown",
        ["", "measure", "difference", "p", "questions", "would have been seen"],
        [f"{each.first} - {each.second}, {each.dataset}" for each in made],
        cells,
    )


def _gate(findings: Findings) -> list[str]:
    verdict = findings.verdict
    if verdict is None:
        return []
    told = paragraph(verdict.sentence, "fell" if verdict.fallen else "held")
    return [told, items([each.sentence for each in verdict.checks])]


def _systems(
    title: str, rows: Sequence[Row], groups: Sequence[Group], pictures: Pictures
) -> Iterator[str]:
    """A table of systems on one data set, plots, and tables of their parts."""
    if not groups:
        return
    ranks = groups[0][0].ranks
    names = HEADLINES_OF_RANKINGS if ranks else (*HEADLINES, *JUDGED)
    yield _measured(f"{title}: the mean of each measure", rows, names)
    if len({frozenset(record.question for record in group) for group in groups}) > 1:
        yield paragraph(UNLIKE)
    yield _plots(of_systems(groups, pictures))
    for field in FIELDS:
        told = f"{title}: {APART[field]}"
        yield _parted(told, rows_of_parts(groups, field), SHOWN_OF_RANKINGS if ranks else SHOWN)


def _plots(figures: Sequence[str]) -> str:
    drawn = "\n".join(figures)
    return f'<div class="plots">\n{drawn}\n</div>' if figures else ""


def _measured(caption: str, rows: Sequence[Row], wanted: Sequence[str]) -> str:
    """A line for each measure, a column for each system."""
    shown = [name for name in wanted if any(name in row.measures for row in rows)]
    cells = [[_value(row, name) for row in rows] for name in shown]
    names = [f"{name} {'↓' if name in LOWER_IS_BETTER else '↑'}" for name in shown]
    costs = {
        "tokens a question": [f"{row.usage.get('tokens', 0.0):,.0f}" for row in rows],
        "model calls a question": [f"{row.usage.get('llm_calls', 0.0):,.1f}" for row in rows],
        "retrievals a question": [f"{row.usage.get('retrievals', 0.0):,.1f}" for row in rows],
        "seconds, median": [f"{row.latency_s['p50']:.3f}" for row in rows],
        "seconds, 95th percentile": [f"{row.latency_s['p95']:.3f}" for row in rows],
    }
    return table(
        f"{caption}; ↑ higher is better, ↓ lower is better",
        ["", *(row.system for row in rows)],
        ["questions", *names, *costs],
        [[str(row.queries) for row in rows], *cells, *costs.values()],
    )


def _parted(caption: str, rows: Sequence[Row], wanted: Sequence[str]) -> str:
    """A line for each part of a system, a column for each measure."""
    if not rows:
        return ""
    shown = [name for name in wanted if any(name in row.measures for row in rows)]
    cells = [[str(row.queries), *(_value(row, name) for name in shown)] for row in rows]
    return table(caption, ["", "questions", *shown], [row.system for row in rows], cells)


def _value(row: Row, name: str) -> str:
    if name not in row.measures:
        return ""
    around = row.intervals.get(name, (0.0, 0.0))
    return value(f"{row.measures[name]:.3f}", _around(around, ".3f"))


def _around(interval: tuple[float, float], form: str) -> str:
    """The interval, unless all values are the same: that says nothing about other questions."""
    low, high = interval
    return f"[{low:{form}}, {high:{form}}]" if low < high else ""


def _failed(recorded: Sequence[Group]) -> list[str]:
    found = failures(recorded)
    shown = found[:MOST_FAILURES]
    if not found:
        return []
    told = [f"{each.dataset} {each.system} {each.question}: {each.stop_reason}" for each in shown]
    return [paragraph(f"The first {len(shown)} of {len(found)}, and why:"), items(told)]


def _setups(recorded: Sequence[Group]) -> str:
    found = dict.fromkeys(record.setup for group in recorded for record in group if record.setup)
    return escape(", ".join(found) or "unknown")
