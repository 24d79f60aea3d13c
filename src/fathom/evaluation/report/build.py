"""The reports of an evaluation: a brief one for terminals, and a full one with plots."""

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
from fathom.evaluation.rows import HEADLINES, HEADLINES_OF_RANKINGS, SystemScores

MOST_FAILURES = 50
"""The number of failed questions that a report lists; it counts all."""
SPENT = ("retrievals", "llm_calls", "tokens")
"""The columns of usage in tables of strategies; retrievers use no tokens."""
APART: dict[Field, str] = {
    "phase": "by the phase in which questions ended",
    "kind": "by kind of question",
}
UNLIKE = (
    "Not all of them were asked the same questions, so these means cannot be compared; "
    "sentences on two systems rest on the questions that both were asked."
)
INTERVALS = (
    "Numbers in brackets are 95 % intervals over the questions; there is none where all "
    "questions gave the same value. A question whose run failed counts against its system. "
    "Every p is corrected for all tests that were made together."
)


def brief(findings: Findings, by: Sequence[Field] = ()) -> EvaluationReport:
    """Build the report of tables of retrieval and of answers, with sentences on them.

    Args:
        findings: The findings of an evaluation.
        by: Further tables, of each system by phase or by kind.
    """
    blocks: list[ReportBlock] = []
    for rows, measures in (
        ([row for row in findings.rows if "answered" not in row.measures], HEADLINES_OF_RANKINGS),
        ([row for row in findings.rows if "answered" in row.measures], (*HEADLINES, *JUDGED)),
    ):
        blocks += [measured(rows, measures)] if rows else []
    blocks += _said([test.sentence for test in findings.comparisons])
    blocks += _said(_synthetic(findings))
    for field in by:
        blocks += _by(findings, field)
    blocks += _said([agreement.sentence for agreement in findings.agreements])
    return EvaluationReport(
        title=_title(findings),
        sections=(ReportSection(blocks=(*blocks, *_gate(findings))),),
        foot=_foot(findings),
    )


def full(findings: Findings) -> EvaluationReport:
    """Build the report of all findings: who leads, all measures, plots, and what failed.

    Raises:
        UsageError: If there is something to draw and the `eval` extra is not installed.
    """
    statements = (
        scope(findings.ranked),
        scope(findings.answered),
        *_synthetic(findings),
        INTERVALS,
    )
    lead = ReportSection(
        # The scope of systems that were not asked is empty.
        blocks=tuple(ReportStatement(text=statement) for statement in statements if statement)
    )
    sections = (
        ReportSection(title=title, blocks=tuple(blocks)) for title, blocks in _sections(findings)
    )
    filled = (section for section in sections if section.blocks)
    return EvaluationReport(title=_title(findings), sections=(lead, *filled), foot=_foot(findings))


def measured(
    rows: Sequence[SystemScores], measures: Sequence[str], *, intervals: int = 1
) -> ReportTable:
    """Build a table with a line for each system and a column for each measure.

    A cell is empty where the system does not have the measure.

    Args:
        rows: The scores of the systems.
        measures: Names of measures; those that some system has are shown.
        intervals: The first so many measures are shown with their intervals.
    """
    names = [name for name in measures if any(name in row.measures for row in rows)]
    # Only strategies have the measure "answered".
    spent = SPENT if any("answered" in row.measures for row in rows) else ()
    lines = tuple(
        (
            row.dataset,
            row.system,
            str(row.queries),
            *(value_of(row, name, interval=at < intervals) for at, name in enumerate(names)),
            *(f"{row.usage.get(name, 0.0):.1f}" for name in spent),
            *(f"{row.latency_s[name] * 1000:.1f}" for name in ("p50", "p95")),
        )
        for row in rows
    )
    head = ("data set", "system", "queries", *names, *spent, "p50 ms", "p95 ms")
    return ReportTable(title="", head=head, rows=lines)


def value_of(row: SystemScores, name: str, *, interval: bool = True) -> str:
    """Return a measure as a table shows it, with its interval; empty if the row has none."""
    if name not in row.measures:
        return ""
    value = f"{row.measures[name]:.3f}"
    if not interval or name not in row.intervals:
        return value
    low, high = row.intervals[name]
    return f"{value} [{low:.3f}, {high:.3f}]"


def _title(findings: Findings) -> str:
    names = ", ".join(by_dataset(findings.recorded))
    return f"Fathom: evaluation of {names or 'nothing'}"


def _foot(findings: Findings) -> str:
    records = [record for group in findings.recorded for record in group]
    setups = dict.fromkeys(record.setup for record in records if record.setup)
    return (
        f"Fathom {__version__}; made by setup {', '.join(setups) or 'unknown'}. What each measure "
        "means: docs/measures.md and docs/evaluation.md."
    )


def _synthetic(findings: Findings) -> list[str]:
    return [
        f"{count} of the questions of {dataset} are synthetic: made from the documents, not asked "
        "by people, whose questions are harder"
        for dataset, count in findings.synthetic.items()
    ]


def _said(sentences: Sequence[str]) -> list[ReportBlock]:
    return [Sentences(lines=tuple(sentences))] if sentences else []


def _sections(findings: Findings) -> Iterator[tuple[str, list[ReportBlock]]]:
    """Yield the heading and the blocks of each section; some may have no blocks."""
    # One page makes all these tests, so they are corrected together.
    leading = corrected([*leaders(findings.ranked), *leaders(findings.answered)])
    yield "Gate", _gate(findings)
    yield "In plain words", _said([test.sentence for test in findings.comparisons])
    yield "Who leads", [*_said(standings(leading)), *_differences(leading)]
    yield "Agreement of the judges", _said([judge.sentence for judge in findings.agreements])
    for name in by_dataset(findings.recorded):
        rows = [row for row in findings.rows if row.dataset == name]
        blocks: list[ReportBlock] = []
        for title, groups, ranks in (
            ("Retrievers", findings.ranked, True),
            ("Strategies", findings.answered, False),
        ):
            group_rows = [row for row in rows if ("answered" not in row.measures) is ranks]
            blocks += _systems(title, group_rows, by_dataset(groups).get(name, ()))
        yield f"Data set {name}", blocks
    sizes = [*size_lines(findings.ranked).items(), *size_lines(findings.answered).items()]
    yield "The size of the corpus", list(of_sizes(sizes))
    yield "Failed questions", _failed(findings.recorded)


def _differences(tests: Sequence[PairedTest]) -> list[ReportBlock]:
    """Return a table with a line for each test: the numbers behind the sentences."""
    lines = tuple(
        (
            f"{test.first} - {test.second}, {test.dataset}",
            test.measure,
            _around(f"{test.difference:+.3f}", test.interval, "+.3f"),
            f"{test.p_holm:.3g}",
            str(test.queries),
            f"{test.detectable:.3f}" if 0 < test.detectable < inf else "",
        )
        for test in tests
    )
    title = (
        "The difference to each of the others. p: corrected for all lines (Holm); last column: the "
        "difference that so many questions would probably have shown"
    )
    head = ("", "measure", "difference", "p", "questions", "would have been seen")
    return [ReportTable(title=title, head=head, rows=lines)] if lines else []


def _gate(findings: Findings) -> list[ReportBlock]:
    verdict = findings.verdict
    if verdict is None:
        return []
    statement = ReportStatement(text=verdict.sentence, tone="bad" if verdict.fallen else "good")
    return [statement, *_said([check.sentence for check in verdict.checks])]


def _systems(
    title: str, rows: Sequence[SystemScores], groups: Sequence[Group]
) -> Iterator[ReportBlock]:
    """Yield a table of systems on one data set, plots, and tables of phases and kinds."""
    if not groups:
        return
    ranks = groups[0][0].ranks
    names = HEADLINES_OF_RANKINGS if ranks else (*HEADLINES, *JUDGED)
    yield _side_by_side(f"{title}: the mean of each measure", rows, names)
    # A run that was stopped early has asked fewer questions.
    if len({frozenset(record.question for record in group) for group in groups}) > 1:
        yield ReportStatement(text=UNLIKE)
    yield from of_systems(groups)
    for field in FIELDS:
        rows_of_field = rows_of_parts(groups, field)
        caption = f"{title}: {APART[field]}"
        yield from _apart(caption, rows_of_field, SHOWN_OF_RANKINGS if ranks else SHOWN)


def _side_by_side(
    caption: str, rows: Sequence[SystemScores], measures: Sequence[str]
) -> ReportTable:
    """Return a table with a line for each measure and a column for each system."""
    names = [name for name in measures if any(name in row.measures for row in rows)]
    lines = {
        "questions": [str(row.queries) for row in rows],
        **{
            f"{name} {'↓' if name in LOWER_IS_BETTER else '↑'}": [_cell(row, name) for row in rows]
            for name in names
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


def _by(findings: Findings, field: Field) -> list[ReportBlock]:
    tables = [
        *_apart(f"By {field}", rows_of_parts(findings.ranked, field), SHOWN_OF_RANKINGS),
        *_apart(f"By {field}", rows_of_parts(findings.answered, field), SHOWN),
    ]
    return [*tables] if tables else [ReportStatement(text=f"By {field}: nothing differs.")]


def _apart(
    caption: str, rows: Sequence[SystemScores], measures: Sequence[str]
) -> Iterator[ReportTable]:
    """Yield a table with a line for each phase or kind; none if there are no rows."""
    names = [name for name in measures if any(name in row.measures for row in rows)]
    lines = tuple(
        (row.system, str(row.queries), *(_cell(row, name) for name in names)) for row in rows
    )
    if lines:
        yield ReportTable(title=caption, head=("", "questions", *names), rows=lines)


def _cell(row: SystemScores, name: str) -> str:
    if name not in row.measures:
        return ""
    return _around(f"{row.measures[name]:.3f}", row.intervals.get(name, (0.0, 0.0)), ".3f")


def _around(value: str, interval: tuple[float, float], form: str) -> str:
    """Return the value with its interval, unless the interval is a point."""
    # Equal values have a point for an interval, which says nothing about other questions.
    low, high = interval
    return f"{value} [{low:{form}}, {high:{form}}]" if low < high else value


def _failed(groups: Sequence[Group]) -> list[ReportBlock]:
    records = failures(groups)
    listed = records[:MOST_FAILURES]
    if not records:
        return []
    lines = (
        f"{record.dataset} {record.system} {record.question}: {record.stop_reason}"
        for record in listed
    )
    statement = ReportStatement(text=f"The first {len(listed)} of {len(records)}, and why:")
    return [statement, Sentences(lines=tuple(lines))]
