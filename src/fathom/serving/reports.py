"""What `fathom eval` writes beside its table: reports as files, a baseline, and the gate."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from fathom.serving.files import check_writable

if TYPE_CHECKING:  # a command imports what it needs: `--help` must not wait for it
    from fathom.evaluation.breakdown import Field
    from fathom.evaluation.comparison import Comparison
    from fathom.evaluation.findings import Findings
    from fathom.evaluation.gate import Baseline
    from fathom.evaluation.report import Row

FELL = 7
"""The exit code where quality fell below the baseline."""
ALL_FAILED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Reports:
    """What is wanted, each a file or nothing.

    Attributes:
        gate: A baseline to hold the run against.
        save_baseline: Where to write a new one.
        by: What systems are shown by as well, beside their means.
    """

    html: Path | None = None
    markdown: Path | None = None
    gate: Path | None = None
    save_baseline: Path | None = None
    by: "Sequence[Field]" = ()

    def check(self) -> "Baseline | None":
        """See to it that what is wanted can be had, before hours are spent on it.

        Returns:
            The baseline of the gate, where there is one.

        Raises:
            UsageError: If a file cannot be written, nothing can be drawn, or the gate's file is no
                baseline.
        """
        for file in (self.html, self.markdown, self.save_baseline):
            if file is not None:
                check_writable(file)
        if self.html is not None:
            from fathom.evaluation.canvas import check_drawing

            check_drawing()
        if self.gate is None:
            return None
        from fathom.evaluation.gate import Baseline

        return Baseline.load(self.gate)

    def judged(self, findings: "Findings", baseline: "Baseline | None") -> "Findings":
        """The findings with the verdict of the gate, where there is one."""
        if baseline is None:
            return findings
        from fathom.evaluation.gate import gated

        return replace(findings, verdict=gated(baseline, findings.recorded))

    def write(self, findings: "Findings") -> None:
        """Write all files."""
        from fathom.serving.terminal import plain

        if self.html is not None:
            from fathom.evaluation.page import page

            self.html.write_text(plain(page(findings)), encoding="utf-8")
        if self.markdown is not None:
            self.markdown.write_text(plain(markdown(findings, self.by)) + "\n", encoding="utf-8")
        if self.save_baseline is not None:
            from fathom.evaluation.gate import Baseline

            Baseline.of(findings.recorded).save(self.save_baseline)


def exit_code(findings: "Findings") -> int:
    """That of the command."""
    if findings.failed:
        return ALL_FAILED
    return FELL if findings.verdict is not None and findings.verdict.fallen else 0


def markdown(findings: "Findings", by: "Sequence[Field]" = ()) -> str:
    """Tables of retrieval and of answers, and what can be said of them in plain sentences.

    Args:
        findings: All of them.
        by: Further tables, of each system by phase or by kind.
    """
    parts = [report_text([*findings.retrieval, *findings.rows], findings.comparisons)]
    parts += [_parted(findings, field) for field in by]
    parts.append("\n".join(each.sentence for each in findings.agreements))
    if findings.verdict is not None:
        checks = [f"- {each.sentence}" for each in findings.verdict.checks]
        parts.append("\n".join([findings.verdict.sentence, *checks]))
    return "\n\n".join(part for part in parts if part)


def report_text(rows: "Sequence[Row]", comparisons: "Sequence[Comparison]") -> str:
    """Tables of retrieval and of answers, and a sentence for each comparison."""
    from fathom.evaluation.grading import JUDGED
    from fathom.evaluation.report import HEADLINES, HEADLINES_OF_RANKINGS, table

    of_answers = [row for row in rows if "answered" in row.measures]
    of_retrieval = [row for row in rows if "answered" not in row.measures]
    parts = [table(of_retrieval, HEADLINES_OF_RANKINGS)] if of_retrieval else []
    parts += [table(of_answers, (*HEADLINES, *JUDGED))] if of_answers else []
    parts += ["\n".join(each.sentence for each in comparisons)] if comparisons else []
    return "\n\n".join(parts)


def _parted(findings: "Findings", field: "Field") -> str:
    from fathom.evaluation.breakdown import SHOWN, SHOWN_OF_RANKINGS, rows_of_parts
    from fathom.evaluation.report import table

    ranked, answered = (
        rows_of_parts(groups, field) for groups in (findings.ranked, findings.answered)
    )
    tables = [table(ranked, SHOWN_OF_RANKINGS)] if ranked else []
    tables += [table(answered, SHOWN)] if answered else []
    return "\n\n".join([f"By {field}:", *tables]) if tables else f"By {field}: nothing differs."


def as_object(findings: "Findings", by: "Sequence[Field]" = ()) -> dict[str, object]:
    """The one JSON object of `--json`.

    Args:
        findings: All of them.
        by: Further rows, of each system by phase or by kind, under `by`.
    """
    from dataclasses import asdict

    from fathom.evaluation.breakdown import rows_of_parts

    told: dict[str, object] = {
        "rows": [asdict(row) for row in (*findings.retrieval, *findings.rows)]
    }
    if by:
        told["by"] = {
            field: [asdict(row) for row in rows_of_parts(findings.recorded, field)] for field in by
        }
    if findings.comparisons:
        told["comparisons"] = [_said(each) for each in findings.comparisons]
    if findings.judgements:
        told["judges"] = {
            "judgements": [asdict(each) for each in findings.judgements],
            "agreements": [
                {**asdict(each), "sentence": each.sentence} for each in findings.agreements
            ],
        }
    if findings.verdict is not None:
        told["gate"] = {
            "passed": not findings.verdict.fallen,
            "sentence": findings.verdict.sentence,
            "checks": [_said(each) for each in findings.verdict.checks],
        }
    return told


def _said(comparison: "Comparison") -> dict[str, object]:
    from dataclasses import asdict

    told = {**asdict(comparison), "sentence": comparison.sentence}
    return told | ({} if isfinite(comparison.detectable) else {"detectable": None})
