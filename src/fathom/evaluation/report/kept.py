"""Reports kept beside an index, as JSON: what the page of `fathom serve` shows."""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fathom.evaluation.report.blocks import EvaluationReport, Figure, ReportBlock
from fathom.evaluation.report.svg import standalone
from fathom.jsonable import Json

FOLDER = "reports"
"""Below the directory of an index."""
_NAME = re.compile(r"[0-9]{8}T[0-9]{6}\.[0-9]{6}Z", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptReport:
    """A report as listed: `created` is ISO 8601 in UTC."""

    name: str
    title: str
    created: str


def report_json(report: EvaluationReport) -> Json:
    """A report as plain JSON; its plots are on white paper."""
    sections = [
        {"title": each.title, "blocks": [_block(block) for block in each.blocks]}
        for each in report.sections
    ]
    return {"title": report.title, "sections": sections, "foot": report.foot}


def _block(block: ReportBlock) -> dict[str, Any]:
    if isinstance(block, Figure):
        block = replace(block, svg=standalone(block.svg))
    return {"kind": type(block).__name__, **asdict(block)}


def keep(report: EvaluationReport, directory: Path) -> Path:
    """Keep a report beside the index in `directory`; no reader ever sees half of it."""
    now = datetime.now(UTC)
    path = directory / FOLDER / f"{now:%Y%m%dT%H%M%S.%fZ}.json"
    path.parent.mkdir(exist_ok=True)
    text = json.dumps({"created": now.isoformat(), **report_json(report)}, ensure_ascii=False)
    unfinished = path.with_suffix(".tmp")
    unfinished.write_text(text, encoding="utf-8")
    os.replace(unfinished, path)  # noqa: PTH105 - atomic, and named so
    return path


def kept(directory: Path) -> list[KeptReport]:
    """The reports beside an index, newest first."""
    return sorted(_listed(directory), key=lambda each: each.name, reverse=True)


def _listed(directory: Path) -> Iterator[KeptReport]:
    for path in (directory / FOLDER).glob("*.json"):
        found = load(directory, path.stem)
        if found is not None:
            told = {field.name: found.get(field.name, "") for field in fields(KeptReport)}
            yield KeptReport(**{**told, "name": path.stem})


def load(directory: Path, name: str) -> Json | None:
    """The report of this name, or `None` where there is none that can be read."""
    if not _NAME.fullmatch(name):
        return None
    try:
        found = json.loads((directory / FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
