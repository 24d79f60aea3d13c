"""Evaluation reports over HTTP: what `fathom eval --html` kept beside the index."""

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from fathom.evaluation.report.kept import list_reports, load_report
from fathom.serving.http.dependencies import Here, MayRead
from fathom.serving.http.problems import Problem
from fathom.serving.http.streams import json_text
from fathom.serving.shapes import harmless

router = APIRouter(prefix="/api/v1", tags=["reports"])


@router.get("/reports")
def reports(space: Here, _: MayRead) -> Any:  # noqa: ANN401
    """The reports, newest first."""
    return {"reports": [harmless(asdict(each)) for each in list_reports(space.directory)]}


@router.get("/reports/{name}")
def report(name: str, space: Here, _: MayRead) -> Response:
    """A report: sections of tables, sentences and plots (`svg`)."""
    found = load_report(space.directory, name)
    if found is None:
        raise Problem(
            404,
            "report_missing",
            f"there is no report {name[:64]!r}",
            next="fathom eval QUESTIONS --strategy naive,adaptive --html report.html makes one",
        )
    return Response(json_text(harmless(found)), media_type="application/json")
