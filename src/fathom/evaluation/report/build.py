"""What a report says of an evaluation: the tables and sentences of a terminal, or all of it."""

from collections.abc import Iterator, Sequence
from math import inf

from fathom import __version__
from fathom.evaluation.breakdown import FIELDS, SHOWN, SHOWN_OF_RANKINGS, Field, rows_of_parts
from fathom.evaluation.comparison import PairedTest, corrected
from fathom.evaluation.findings import Findings
from fathom.evaluation.grading import JUDGED
from fathom.evaluation.measures import LOWER_IS_BETTER
from fathom.evaluation.records import Group
from fathom.evaluation.report.blocks import (
    EvaluationReport,
    ReportBlock,
    ReportSection,
    ReportStatement,
    ReportTable,
    Sentences,
)
from fathom.evaluation.report.curves import by_dataset, size_lines
from fathom.evaluation.report.figures import of_sizes, of_systems
from fathom.evaluation.report.narrative import failures, leaders, scope, standings
from fathom.evaluation.rows import HEADLINES, HEADLINES_OF_RANKINGS, Row

MOST_FAILURES = 50
"""So many failed questions are listed; all are counted."""
SPENT = ("retrievals", "llm_calls", "tokens")
"""What tables show of the usage of strategies; retrievers have no tokens."""
APART: dict[Field, str] = {
    "phase": "by the phase in which questions ended",
    "kind": "by kind of question",
}
UNLIKE = (
    "Not all of them were asked the same questions, so these means cannot be compared; "
    "what is said above of two systems rests on the questions that both were asked."
)
INTERVALS = (
    "Numbers in brackets are 95 % intervals over the questions; there is none where all "
    "questions gave the same value. A question whose run failed counts against its system. "
    "Every p is corrected for all that is tested together."
)


def brief(found: Findings, by: Sequence[Field] = ()) -> EvaluationReport:
    """Tables of retrieval and of answers, and what can be said of them in plain sentences.

    Args:
        found: All of it.
        by: Further tables, of each system by phase or by kind.
    """
    blocks: list[ReportBlock] = []
    for rows, wanted in (
        ([row for row in found.rows if "answered" not in row.measures], HEADLINES_OF_RANKINGS),
        ([row for row in found.rows if "answered" in row.measures], (*HEADLINES, *JUDGED)),
    ):
        blocks += [measured(rows, wanted)] if rows else []
    blocks += _said([each.sentence for each in found.comparisons])
    blocks += _said(_synthetic(found))
    for field in by:
        blocks += _by(found, field)
    blocks += _said([each.sentence for each in found.agreements])
    return EvaluationReport(
        title=_title(found),
        sections=(ReportSection(blocks=(*blocks, *_gate(found))),),
        foot=_foot(found),
    )


def full(found: Findings) -> EvaluationReport:
    """All that is known: who leads, all measures, plots, and what failed.

    Raises:
        UsageError: If there is something to draw and the `eval` extra is not installed.
    """
    told = (scope(found.ranked), scope(found.answered), *_synthetic(found), INTERVALS)
    scopes = [each for each in told if each]
    lead = ReportSection(blocks=tuple(ReportStatement(text=each) for each in scopes))
    sections = (ReportSection(title=title, blocks=tuple(held)) for title, held in _sections(found))
    filled = (section for section in sections if section.blocks)
    return EvaluationReport(title=_title(found), sections=(lead, *filled), foot=_foot(found))


def measured(rows: Sequence[Row], wanted: Sequence[str], *, intervals: int = 1) -> ReportTable:
    """A line for each system, a column for each measure; an empty cell where there is none.

    Args:
        rows: What was measured.
        wanted: Names of measures, of which those are shown that there are.
        intervals: The first so many measures are shown with their intervals.
    """
    shown = [name for name in wanted if any(name in row.measures for row in rows)]
    spent = SPENT if any("answered" in row.measures for row in rows) else ()
    lines = tuple(
        (
            row.dataset,
            row.system,
            str(row.queries),
            *(value_of(row, name, interval=at < intervals) for at, name in enumerate(shown)),
            *(f"{row.usage.get(name, 0.0):.1f}" for name in spent),
            *(f"{row.latency_s[name] * 1000:.1f}" for name in ("p50", "p95")),
        )
        for row in rows
    )
    head = ("data set", "system", "queries", *shown, *spent, "p50 ms", "p95 ms")
    return ReportTable(title="", head=head, rows=lines)


def value_of(row: Row, name: str, *, interval: bool = True) -> str:
    """A measure as a table shows it, with its interval where it has one; empty if it has none."""
    if name not in row.measures:
        return ""
    value = f"{row.measures[name]:.3f}"
    if not interval or name not in row.intervals:
        return value
    low, high = row.intervals[name]
    return f"{value} [{low:.3f}, {high:.3f}]"


def _title(found: Findings) -> str:
    names = ", ".join(by_dataset(found.recorded))
    return f"Fathom: evaluation of {names or 'nothing'}"


def _foot(found: Findings) -> str:
    records = [record for group in found.recorded for record in group]
    setups = dict.fromkeys(record.setup for record in records if record.setup)
    return (
        f"Fathom {__version__}; made by setup {', '.join(setups) or 'unknown'}. What each measure "
        "means: docs/measures.md and docs/evaluation.md."
    )


def _synthetic(found: Findings) -> list[str]:
    return [
        f"{count} of the questions of {dataset} are synthetic: made from the documents, asked by "
        "nobody; what people ask is harder"
        for dataset, count in found.synthetic.items()
    ]


def _said(sentences: Sequence[str]) -> list[ReportBlock]:
    return [Sentences(lines=tuple(sentences))] if sentences else []


def _sections(found: Findings) -> Iterator[tuple[str, list[ReportBlock]]]:
    """What stands under each heading; some may be empty."""
    leading = corrected([*leaders(found.ranked), *leaders(found.answered)])
    yield "Gate", _gate(found)
    yield "In plain words", _said([each.sentence for each in found.comparisons])
    yield "Who leads", [*_said(standings(leading)), *_differences(leading)]
    believed = _said([each.sentence for each in found.agreements])
    yield "How far the judges can be believed", believed
    for name in by_dataset(found.recorded):
        rows = [row for row in found.rows if row.dataset == name]
        held: list[ReportBlock] = []
        for title, groups, ranks in (
            ("Retrievers", found.ranked, True),
            ("Strategies", found.answered, False),
        ):
            own = [row for row in rows if ("answered" not in row.measures) is ranks]
            held += _systems(title, own, by_dataset(groups).get(name, ()))
        yield f"Data set {name}", held
    sizes = [*size_lines(found.ranked).items(), *size_lines(found.answered).items()]
    yield "The size of the corpus", list(of_sizes(sizes))
    yield "Failed questions", _failed(found.recorded)


def _differences(made: Sequence[PairedTest]) -> list[ReportBlock]:
    """A line for each test, with what stands behind the sentences."""
    lines = tuple(
        (
            f"{each.first} - {each.second}, {each.dataset}",
            each.measure,
            _around(f"{each.difference:+.3f}", each.interval, "+.3f"),
            f"{each.p_holm:.3g}",
            str(each.queries),
            f"{each.detectable:.3f}" if 0 < each.detectable < inf else "",
        )
        for each in made
    )
    title = (
        "The difference to each of the others. p: corrected for all lines (Holm); last column: a "
        "difference that so many questions would probably have shown"
    )
    head = ("", "measure", "difference", "p", "questions", "would have been seen")
    return [ReportTable(title=title, head=head, rows=lines)] if lines else []


def _gate(found: Findings) -> list[ReportBlock]:
    verdict = found.verdict
    if verdict is None:
        return []
    told = ReportStatement(text=verdict.sentence, tone="bad" if verdict.fallen else "good")
    return [told, *_said([each.sentence for each in verdict.checks])]


def _systems(title: str, rows: Sequence[Row], groups: Sequence[Group]) -> Iterator[ReportBlock]:
    """A table of systems on one data set, plots, and tables of their parts."""
    if not groups:
        return
    ranks = groups[0][0].ranks
    names = HEADLINES_OF_RANKINGS if ranks else (*HEADLINES, *JUDGED)
    yield _side_by_side(f"{title}: the mean of each measure", rows, names)
    if len({frozenset(record.question for record in group) for group in groups}) > 1:
        yield ReportStatement(text=UNLIKE)
    yield from of_systems(groups)
    for field in FIELDS:
        parts = rows_of_parts(groups, field)
        told = f"{title}: {APART[field]}"
        yield from _apart(told, parts, SHOWN_OF_RANKINGS if ranks else SHOWN)


def _side_by_side(caption: str, rows: Sequence[Row], wanted: Sequence[str]) -> ReportTable:
    """A line for each measure, a column for each system."""
    shown = [name for name in wanted if any(name in row.measures for row in rows)]
    lines = {
        "questions": [str(row.queries) for row in rows],
        **{
            f"{name} {'↓' if name in LOWER_IS_BETTER else '↑'}": [_cell(row, name) for row in rows]
            for name in shown
        },
        "tokens a question": [f"{row.usage.get('tokens', 0.0):,.0f}" for row in rows],
        "model calls a question": [f"{row.usage.get('llm_calls', 0.0):,.1f}" for row in rows],
        "retrievals a question": [f"{row.usage.get('retrievals', 0.0):,.1f}" for row in rows],
        "seconds, median": [f"{row.latency_s['p50']:.3f}" for row in rows],
        "seconds, 95th percentile": [f"{row.latency_s['p95']:.3f}" for row in rows],
    }
    return ReportTable(
        title=f"{caption}; ↑ higher is better, ↓ lower is better",
        head=("", *(row.system for row in rows)),
        rows=tuple((name, *cells) for name, cells in lines.items()),
    )


def _by(found: Findings, field: Field) -> list[ReportBlock]:
    tables = [
        *_apart(f"By {field}", rows_of_parts(found.ranked, field), SHOWN_OF_RANKINGS),
        *_apart(f"By {field}", rows_of_parts(found.answered, field), SHOWN),
    ]
    return [*tables] if tables else [ReportStatement(text=f"By {field}: nothing differs.")]


def _apart(caption: str, rows: Sequence[Row], wanted: Sequence[str]) -> Iterator[ReportTable]:
    """A line for each part of a system, a column for each measure; nothing of nothing."""
    shown = [name for name in wanted if any(name in row.measures for row in rows)]
    lines = tuple(
        (row.system, str(row.queries), *(_cell(row, name) for name in shown)) for row in rows
    )
    if lines:
        yield ReportTable(title=caption, head=("", "questions", *shown), rows=lines)


def _cell(row: Row, name: str) -> str:
    if name not in row.measures:
        return ""
    return _around(f"{row.measures[name]:.3f}", row.intervals.get(name, (0.0, 0.0)), ".3f")


def _around(value: str, interval: tuple[float, float], form: str) -> str:
    """With its interval, unless all values are the same: that says nothing of other questions."""
    low, high = interval
    return f"{value} [{low:{form}}, {high:{form}}]" if low < high else value


def _failed(recorded: Sequence[Group]) -> list[ReportBlock]:
    found = failures(recorded)
    shown = found[:MOST_FAILURES]
    if not found:
        return []
    told = (f"{each.dataset} {each.system} {each.question}: {each.stop_reason}" for each in shown)
    first = ReportStatement(text=f"The first {len(shown)} of {len(found)}, and why:")
    return [first, Sentences(lines=tuple(told))]
