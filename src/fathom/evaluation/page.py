"""A report as one HTML file that needs nothing else: no script, no font, no other server."""

from collections.abc import Iterator, Sequence
from html import escape

from fathom import __version__
from fathom.evaluation.curves import (
    Group,
    Heat,
    by_dataset,
    front,
    headline,
    kinds,
    phases,
    recall_lines,
    risk_lines,
    seconds,
    size_lines,
    sweep_lines,
)
from fathom.evaluation.findings import Findings
from fathom.evaluation.grading import JUDGED
from fathom.evaluation.plots import (
    draw_front,
    draw_heat,
    draw_lines,
    draw_shares,
    draw_violins,
)
from fathom.evaluation.report import HEADLINES, Row
from fathom.evaluation.svg import told_apart
from fathom.evaluation.words import failures, leaders, scope

SHOWN = (*HEADLINES, *JUDGED)
MOST_FAILURES = 50
"""So many failed questions are listed; all are counted."""
STYLE = """\
:root{color-scheme:light dark;--paper:#fff;--ink:#1c1e21;--line:#8886}
@media (prefers-color-scheme:dark){:root{--paper:#16181b;--ink:#e6e7e9}}
body{background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif;\
max-width:62rem;margin:2rem auto;padding:0 1rem}
figure{margin:1.5rem 0}svg{width:100%;height:auto;max-width:52rem}
figcaption,caption{text-align:left;padding:.3rem 0;font-style:italic}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.85rem;margin:1rem 0}
th,td{border-bottom:1px solid var(--line);padding:.25rem .6rem;text-align:right;\
white-space:nowrap}
th[scope=row],td.text{text-align:left;white-space:normal}small{opacity:.75}
.fell{border-left:.4rem solid #cc3d3d;padding-left:.8rem}
.held{border-left:.4rem solid #169c76;padding-left:.8rem}"""
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
        f"<title>Fathom: evaluation</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _parts(findings: Findings) -> Iterator[str]:
    answered = findings.answered
    yield "<h1>Evaluation</h1>"
    yield _paragraph(scope(answered))
    yield _paragraph(
        "Numbers in brackets are 95 % intervals over the questions. A question whose run failed "
        "counts against its strategy. Every p is corrected for all that is tested together."
    )
    yield from _gate(findings)
    yield _sentences("In plain words", [each.sentence for each in findings.comparisons])
    yield _sentences("Who leads", [each.sentence for each in leaders(answered)])
    yield _sentences(
        "How far the judges can be believed", [a.sentence for a in findings.agreements]
    )
    yield _table("Retrieval", findings.retrieval, ())
    pictures = _Pictures()
    for name, groups in by_dataset(answered).items():
        yield f"<h2>{escape(name)}</h2>"
        yield _table("Answers", [r for r in findings.rows if r.dataset == name], SHOWN)
        yield from _drawn(groups, pictures)
    for measure, lines in size_lines(answered).items():
        drawn = draw_lines(lines, x="documents in the corpus", y=measure, log=True, marked=True)
        yield pictures.figure(drawn, f"{measure} of the same questions over the size of the corpus")
    yield _failed(findings)
    yield f"<p><small>Fathom {escape(__version__)}; answers made by setup {_setups(answered)}."
    yield "What each measure means: docs/measures.md and docs/evaluation.md.</small></p>"


def _drawn(groups: Sequence[Group], pictures: "_Pictures") -> Iterator[str]:
    quality = headline(groups)
    found = front(groups)
    if found:
        told = f"{quality} against cost; filled marks: nothing better costs as little"
        yield pictures.figure(draw_front(found), told)
    if risks := risk_lines(groups):
        drawn = draw_lines(risks, x="share of the questions, the surest first", y="share wrong")
        yield pictures.figure(drawn, "Risk and coverage: lower is better, on the left above all")
    if recalls := recall_lines(groups):
        drawn = draw_lines(recalls, x="first k documents of the evidence", y="recall")
        yield pictures.figure(drawn, "Relevant documents among the first k of the evidence")
    for key, lines in sweep_lines(groups).items():
        drawn = draw_lines(lines, x=key, y=quality, marked=True)
        yield pictures.figure(drawn, f"{quality} for each value of {key}")
    yield pictures.figure(draw_violins(seconds(groups)), "How long questions took, and the median")
    ends = phases(groups)
    yield pictures.figure(draw_shares(ends), "The phase in which questions ended")
    yield _heat("The phase in which questions ended", ends)
    if by_kind := kinds(groups):
        yield pictures.figure(draw_heat(by_kind), f"{quality} for each kind of question")
        yield _heat(f"{quality} for each kind of question", by_kind)


class _Pictures:
    """Numbers the figures, so that their ids do not meet."""

    def __init__(self) -> None:
        self._count = 0

    def figure(self, svg: str, caption: str) -> str:
        self._count += 1
        told = escape(caption)
        named = told_apart(svg, f"p{self._count}")
        labelled = named.replace("<svg", f'<svg role="img" aria-label="{told}"', 1)
        return f"<figure>\n{labelled}\n<figcaption>{told}</figcaption>\n</figure>"


def _gate(findings: Findings) -> Iterator[str]:
    verdict = findings.verdict
    if verdict is not None:
        kind = "fell" if verdict.fallen else "held"
        yield f'<h2>Gate</h2>\n<p class="{kind}"><strong>{escape(verdict.sentence)}</strong></p>'
        yield _list([each.sentence for each in verdict.checks])


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>" if text else ""


def _list(sentences: Sequence[str]) -> str:
    return "<ul>\n" + "\n".join(f"<li>{escape(each)}</li>" for each in sentences) + "\n</ul>"


def _sentences(title: str, sentences: Sequence[str]) -> str:
    return f"<h2>{escape(title)}</h2>\n{_list(sentences)}" if sentences else ""


def _table(title: str, rows: Sequence[Row], names: Sequence[str]) -> str:
    if not rows:
        return ""
    wanted = names or list(dict.fromkeys(name for row in rows for name in row.measures))
    shown = [name for name in wanted if any(name in row.measures for row in rows)]
    head = ["system", "questions", *shown, "tokens", "p50 s", "p95 s"]
    lines = []
    for row in rows:
        cells = [str(row.queries), *(_value(row, name) for name in shown)]
        cells += [f"{row.usage['tokens']:.1f}" if "tokens" in row.usage else ""]
        cells += [f"{row.latency_s[name]:.3f}" for name in ("p50", "p95")]
        lines.append(_line(row.system if names else f"{row.dataset}: {row.system}", cells))
    return _whole(title, head, lines)


def _value(row: Row, name: str) -> str:
    if name not in row.measures:
        return ""
    value = f"{row.measures[name]:.3f}"
    if name not in row.intervals:
        return value
    low, high = row.intervals[name]
    return f"{value} <small>[{low:.3f}, {high:.3f}]</small>"


def _heat(title: str, heat: Heat) -> str:
    lines = [
        _line(name, ["" if cell is None else f"{cell:.3f}" for cell in cells])
        for name, cells in zip(heat.rows, heat.cells, strict=True)
    ]
    return f"<details><summary>Table</summary>{_whole(title, ['', *heat.columns], lines)}</details>"


def _line(name: str, cells: Sequence[str]) -> str:
    told = "".join(f"<td>{cell}</td>" for cell in cells)
    return f'<tr><th scope="row">{escape(name)}</th>{told}</tr>'


def _whole(title: str, head: Sequence[str], lines: Sequence[str]) -> str:
    columns = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    body, told = "\n".join(lines), escape(title)
    return (
        f'<div class="wide" role="region" aria-label="{told}" tabindex="0">'
        f"<table><caption>{told}</caption>\n"
        f"<thead><tr>{columns}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def _failed(findings: Findings) -> str:
    found = failures(findings.answered)
    if not found:
        return ""
    lines = [
        f'<tr><th scope="row">{escape(f"{each.dataset} {each.strategy} {each.question}")}</th>'
        f'<td class="text">{escape(each.stop_reason)}</td></tr>'
        for each in found[:MOST_FAILURES]
    ]
    title = f"The first {len(lines)} of {len(found)} failed questions, and why"
    return f"<h2>Failed</h2>\n{_whole(title, ['question', 'reason'], lines)}"


def _setups(answered: Sequence[Group]) -> str:
    found = dict.fromkeys(record.setup for group in answered for record in group if record.setup)
    return escape(", ".join(found) or "unknown")
