"""The reports of an evaluation: a brief one for terminals, and a full one with plots."""

from collections.abc import Iterator, Sequence
from math import inf

from fathom import __version__
from fathom.evaluation.breakdown import (
    BREAKDOWN_MEASURES,
    FIELDS,
    RANKING_BREAKDOWN_MEASURES,
    Field,
    break_down_groups,
)
from fathom.evaluation.comparison import PairedTest, correct_for_all
from fathom.evaluation.findings import Findings
from fathom.evaluation.grading import JUDGE_MEASURES
from fathom.evaluation.measures import DRAFT_MEASURES, LOWER_IS_BETTER
from fathom.evaluation.records import Group
from fathom.evaluation.report.blocks import (
    EvaluationReport,
    ReportBlock,
    ReportSection,
    ReportStatement,
    ReportTable,
    Sentences,
)
from fathom.evaluation.report.curves import compute_size_lines, group_by_dataset
from fathom.evaluation.report.figures import draw_sizes, draw_systems
from fathom.evaluation.report.narrative import (
    compare_leaders,
    describe_scope,
    describe_standings,
    list_failures,
)
from fathom.evaluation.rows import HEADLINES, RANKING_HEADLINES, SystemScores

MAX_FAILURES = 50
"""The number of failed questions that a report lists, at most; it counts all."""
USAGE_COLUMNS = ("retrievals", "llm_calls", "tokens")
"""The columns of usage in tables of strategies; retrievers have none."""
BREAKDOWN_TITLES: dict[Field, str] = {
    "phase": "by the phase in which questions ended",
    "kind": "by kind of question",
}
UNEQUAL_QUESTIONS = (
    "Not all of them were asked the same questions, so these means cannot be compared; "
    "sentences on two systems rest on the questions that both were asked."
)
INTERVALS = (
    "Numbers in brackets are 95 % intervals over the questions; where all questions "
    "gave the same value they say how far unseen ones could move the mean. A question whose run "
    "failed counts against its system. "
    "Every p is corrected for all tests that were made together."
)


def build_brief_report(findings: Findings, by: Sequence[Field] = ()) -> EvaluationReport:
    """Build the report for terminals: tables of retrieval and answers, and sentences.

    Args:
        findings: The findings.
        by: The fields by which further tables are split.
    """
    blocks: list[ReportBlock] = []
    for rows, measures in (
        ([row for row in findings.rows if "answered" not in row.measures], RANKING_HEADLINES),
        (
            [row for row in findings.rows if "answered" in row.measures],
            (*HEADLINES, *JUDGE_MEASURES),
        ),
    ):
        blocks += [build_measure_table(rows, measures)] if rows else []
    blocks += _tabulate_drafts(findings.rows)
    blocks += _list_sentences([test.sentence for test in findings.comparisons])
    blocks += _list_sentences(_describe_synthetic(findings))
    for field in by:
        blocks += _break_down(findings, field)
    blocks += _list_sentences(findings.agreement_sentences)
    return EvaluationReport(
        title=_build_title(findings),
        sections=(ReportSection(blocks=(*blocks, *_describe_gate(findings))),),
        foot=_build_foot(findings),
    )


def build_full_report(findings: Findings) -> EvaluationReport:
    """Build the report of all findings, with plots and failed questions.

    Raises:
        UsageError: If there is something to draw, and the `eval` extra is not installed.
    """
    statements = (
        describe_scope(findings.ranked),
        describe_scope(findings.answered),
        *_describe_synthetic(findings),
        INTERVALS,
    )
    lead = ReportSection(
        # Without retrievers or without strategies, their statement is empty.
        blocks=tuple(ReportStatement(text=statement) for statement in statements if statement)
    )
    sections = (
        ReportSection(title=title, blocks=tuple(blocks))
        for title, blocks in _build_sections(findings)
    )
    filled = (section for section in sections if section.blocks)
    return EvaluationReport(
        title=_build_title(findings), sections=(lead, *filled), foot=_build_foot(findings)
    )


def build_measure_table(
    rows: Sequence[SystemScores], measures: Sequence[str], *, intervals: int = 1
) -> ReportTable:
    """Build a table with a line for each system and a column for each measure.

    A cell is empty if the system does not have the measure.

    Args:
        rows: The scores of the systems.
        measures: The measures; those that no system has are left out.
        intervals: The number of first columns with intervals.
    """
    names = [name for name in measures if any(name in row.measures for row in rows)]
    # Only strategies have the measure "answered".
    spent = USAGE_COLUMNS if any("answered" in row.measures for row in rows) else ()
    lines = tuple(
        (
            row.dataset,
            row.system,
            str(row.queries),
            *(format_value(row, name, interval=at < intervals) for at, name in enumerate(names)),
            *(f"{row.usage.get(name, 0.0):.1f}" for name in spent),
            *(f"{row.latency_s[name] * 1000:.1f}" for name in ("p50", "p95")),
        )
        for row in rows
    )
    head = ("data set", "system", "queries", *names, *spent, "p50 ms", "p95 ms")
    return ReportTable(title="", head=head, rows=lines)


def _tabulate_drafts(rows: Sequence[SystemScores]) -> list[ReportBlock]:
    """Return a table with the fates of right and wrong drafts, a line for each strategy."""
    lines = tuple(
        (row.dataset, row.system, *(f"{share:.3f}" for share in (*shares, 1 - sum(shares))))
        for row in rows
        if (shares := [row.measures[name] for name in DRAFT_MEASURES if name in row.measures])
    )
    head = ("data set", "system", *DRAFT_MEASURES, "no draft")
    title = "What became of the drafts, as shares of the questions"
    return [ReportTable(title=title, head=head, rows=lines)] if lines else []


def format_value(row: SystemScores, name: str, *, interval: bool = True) -> str:
    """Format the value of a measure with its interval; empty if the row does not have it."""
    if name not in row.measures:
        return ""
    value = f"{row.measures[name]:.3f}"
    if not interval or name not in row.intervals:
        return value
    low, high = row.intervals[name]
    return f"{value} [{low:.3f}, {high:.3f}]"


def _build_title(findings: Findings) -> str:
    names = ", ".join(group_by_dataset(findings.groups))
    return f"Fathom: evaluation of {names or 'nothing'}"


def _build_foot(findings: Findings) -> str:
    records = [record for group in findings.groups for record in group]
    setups = dict.fromkeys(record.setup for record in records if record.setup)
    return (
        f"Fathom {__version__}; made by setup {', '.join(setups) or 'unknown'}. What each measure "
        "means: docs/measures.md and docs/evaluation.md."
    )


def _describe_synthetic(findings: Findings) -> list[str]:
    return [
        f"{count} of the questions of {dataset} are synthetic: made from the documents, not asked "
        "by people, whose questions are harder"
        for dataset, count in findings.synthetic_counts.items()
    ]


def _list_sentences(sentences: Sequence[str]) -> list[ReportBlock]:
    return [Sentences(lines=tuple(sentences))] if sentences else []


def _build_sections(findings: Findings) -> Iterator[tuple[str, list[ReportBlock]]]:
    """Yield the heading and the blocks of each section; some may have no blocks."""
    # All tests of the page are corrected together.
    leading = correct_for_all(
        [*compare_leaders(findings.ranked), *compare_leaders(findings.answered)]
    )
    yield "Gate", _describe_gate(findings)
    yield "In plain words", _list_sentences([test.sentence for test in findings.comparisons])
    yield (
        "Who leads",
        [*_list_sentences(describe_standings(leading)), *_tabulate_differences(leading)],
    )
    yield (
        "Agreement of the judges",
        _list_sentences(findings.agreement_sentences),
    )
    for name in group_by_dataset(findings.groups):
        rows = [row for row in findings.rows if row.dataset == name]
        blocks: list[ReportBlock] = []
        for title, groups, ranks in (
            ("Retrievers", findings.ranked, True),
            ("Strategies", findings.answered, False),
        ):
            group_rows = [row for row in rows if ("answered" not in row.measures) is ranks]
            blocks += _describe_systems(title, group_rows, group_by_dataset(groups).get(name, ()))
        yield f"Data set {name}", blocks
    sizes = [
        *compute_size_lines(findings.ranked).items(),
        *compute_size_lines(findings.answered).items(),
    ]
    yield "The size of the corpus", list(draw_sizes(sizes))
    yield "Failed questions", _list_failures(findings.groups)


def _tabulate_differences(tests: Sequence[PairedTest]) -> list[ReportBlock]:
    """Return a table with a line for each test."""
    lines = tuple(
        (
            f"{test.first} - {test.second}, {test.dataset}",
            test.measure,
            _format_interval(f"{test.difference:+.3f}", test.interval, "+.3f"),
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


def _describe_gate(findings: Findings) -> list[ReportBlock]:
    verdict = findings.verdict
    if verdict is None:
        return []
    statement = ReportStatement(
        text=verdict.sentence, tone="bad" if verdict.regressions else "good"
    )
    return [statement, *_list_sentences([check.sentence for check in verdict.checks])]


def _describe_systems(
    title: str, rows: Sequence[SystemScores], groups: Sequence[Group]
) -> Iterator[ReportBlock]:
    """Yield the tables and plots of systems on one data set, also by phase and by kind."""
    if not groups:
        return
    ranks = groups[0][0].is_ranking
    names = RANKING_HEADLINES if ranks else (*HEADLINES, *JUDGE_MEASURES)
    yield _tabulate_systems(f"{title}: the mean of each measure", rows, names)
    yield from _tabulate_drafts(rows)
    # A run that was stopped early has fewer questions.
    if len({frozenset(record.question for record in group) for group in groups}) > 1:
        yield ReportStatement(text=UNEQUAL_QUESTIONS)
    yield from draw_systems(groups)
    for field in FIELDS:
        rows_of_field = break_down_groups(groups, field)
        caption = f"{title}: {BREAKDOWN_TITLES[field]}"
        yield from _tabulate_breakdown(
            caption, rows_of_field, RANKING_BREAKDOWN_MEASURES if ranks else BREAKDOWN_MEASURES
        )


def _tabulate_systems(
    caption: str, rows: Sequence[SystemScores], measures: Sequence[str]
) -> ReportTable:
    """Return a table with a line for each measure and a column for each system."""
    names = [name for name in measures if any(name in row.measures for row in rows)]
    lines = {
        "questions": [str(row.queries) for row in rows],
        **{
            f"{name} {'↓' if name in LOWER_IS_BETTER else '↑'}": [
                _format_cell(row, name) for row in rows
            ]
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


def _break_down(findings: Findings, field: Field) -> list[ReportBlock]:
    tables = [
        *_tabulate_breakdown(
            f"By {field}", break_down_groups(findings.ranked, field), RANKING_BREAKDOWN_MEASURES
        ),
        *_tabulate_breakdown(
            f"By {field}", break_down_groups(findings.answered, field), BREAKDOWN_MEASURES
        ),
    ]
    return [*tables] if tables else [ReportStatement(text=f"By {field}: nothing differs.")]


def _tabulate_breakdown(
    caption: str, rows: Sequence[SystemScores], measures: Sequence[str]
) -> Iterator[ReportTable]:
    """Yield a table with a line for each phase or kind, if there are rows."""
    names = [name for name in measures if any(name in row.measures for row in rows)]
    lines = tuple(
        (row.system, str(row.queries), *(_format_cell(row, name) for name in names)) for row in rows
    )
    if lines:
        yield ReportTable(title=caption, head=("", "questions", *names), rows=lines)


def _format_cell(row: SystemScores, name: str) -> str:
    if name not in row.measures:
        return ""
    return _format_interval(f"{row.measures[name]:.3f}", row.intervals.get(name, (0.0, 0.0)), ".3f")


def _format_interval(value: str, interval: tuple[float, float], form: str) -> str:
    """Format a value with its interval, unless the interval is a point."""
    # The interval of equal values is a point, which says nothing about other questions.
    low, high = interval
    return f"{value} [{low:{form}}, {high:{form}}]" if low < high else value


def _list_failures(groups: Sequence[Group]) -> list[ReportBlock]:
    records = list_failures(groups)
    listed = records[:MAX_FAILURES]
    if not records:
        return []
    lines = (
        f"{record.dataset} {record.system} {record.question}: {record.stop_reason}"
        for record in listed
    )
    statement = ReportStatement(text=f"The first {len(listed)} of {len(records)}, and why:")
    return [statement, Sentences(lines=tuple(lines))]
