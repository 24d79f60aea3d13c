"""The store of reports beside an index, as JSON for the page of `fathom serve`."""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fathom.evaluation.report.blocks import EvaluationReport, Figure, ReportBlock
from fathom.evaluation.report.svg import make_standalone
from fathom.jsonable import Json

FOLDER = "reports"
"""The folder of the reports below the directory of an index."""
_NAME = re.compile(r"[0-9]{8}T[0-9]{6}\.[0-9]{6}Z", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSummary:
    """A report in a list; `created` is ISO 8601 in UTC."""

    name: str
    title: str
    created: str


def report_to_json(report: EvaluationReport) -> Json:
    """Convert a report to JSON, with plots on a white background."""
    sections = [
        {"title": section.title, "blocks": [_block_to_json(block) for block in section.blocks]}
        for section in report.sections
    ]
    return {"title": report.title, "sections": sections, "foot": report.foot}


def _block_to_json(block: ReportBlock) -> dict[str, Any]:
    if isinstance(block, Figure):
        block = replace(block, svg=make_standalone(block.svg))
    return {"kind": type(block).__name__, **asdict(block)}


def save_report(report: EvaluationReport, directory: Path) -> Path:
    """Save a report in the directory of an index, completely or not at all; return its path."""
    now = datetime.now(UTC)
    path = directory / FOLDER / f"{now:%Y%m%dT%H%M%S.%fZ}.json"
    path.parent.mkdir(exist_ok=True)
    text = json.dumps({"created": now.isoformat(), **report_to_json(report)}, ensure_ascii=False)
    unfinished = path.with_suffix(".tmp")
    unfinished.write_text(text, encoding="utf-8")
    os.replace(unfinished, path)  # noqa: PTH105 - atomic, also if the file exists
    return path


def list_reports(directory: Path) -> list[ReportSummary]:
    """Return the reports beside an index, newest first."""
    # The names are times, so they sort by age.
    return sorted(_summarize_reports(directory), key=lambda report: report.name, reverse=True)


def _summarize_reports(directory: Path) -> Iterator[ReportSummary]:
    for path in (directory / FOLDER).glob("*.json"):
        report = load_report(directory, path.stem)
        if report is not None:
            values = {field.name: report.get(field.name, "") for field in fields(ReportSummary)}
            yield ReportSummary(**{**values, "name": path.stem})


def load_report(directory: Path, name: str) -> Json | None:
    """Load the report of a name; `None` if it does not exist or cannot be read."""
    # The name comes from a URL, so it must not lead to another folder.
    if not _NAME.fullmatch(name):
        return None
    try:
        report = json.loads((directory / FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return report if isinstance(report, dict) else None
