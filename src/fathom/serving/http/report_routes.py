"""The routes of evaluation reports, which `fathom eval --html` stores beside the index."""

from dataclasses import asdict

from fastapi import APIRouter
from starlette.responses import Response

from fathom.evaluation.report.storage import list_reports, load_report
from fathom.serving.http.dependencies import CurrentWorkspace, ReadCaller
from fathom.serving.http.event_stream import build_json_reply, encode_json
from fathom.serving.http.problems import Problem
from fathom.serving.http.reply_schemas import ReportList, ReportReply
from fathom.serving.shapes import replace_invisible

router = APIRouter(prefix="/api/v1", tags=["reports"])


@router.get("/reports", response_model=ReportList)
def list_evaluation_reports(space: CurrentWorkspace, _: ReadCaller) -> Response:
    """List the reports, newest first."""
    reports = [replace_invisible(asdict(summary)) for summary in list_reports(space.directory)]
    return build_json_reply({"reports": reports})


@router.get("/reports/{name}", response_model=ReportReply)
def get_evaluation_report(name: str, space: CurrentWorkspace, _: ReadCaller) -> Response:
    """Get a report: sections of tables, sentences and plots (`svg`)."""
    report_json = load_report(space.directory, name)
    if report_json is None:
        raise Problem(
            404,
            "report_missing",
            f"there is no report {name[:64]!r}",
            next="`fathom eval QUESTIONS --strategy naive,adaptive --html report.html` makes one",
        )
    return Response(encode_json(replace_invisible(report_json)), media_type="application/json")
