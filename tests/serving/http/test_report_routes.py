"""Evaluation reports over HTTP: those stored beside the caller's own index."""

from fastapi.testclient import TestClient

from fathom.evaluation.report.blocks import EvaluationReport, ReportSection, ReportStatement
from fathom.evaluation.report.storage import save_report
from fathom.settings import Settings


def test_stored_reports_are_listed_and_shown(fresh_client: TestClient, settings: Settings) -> None:
    assert fresh_client.get("/api/v1/reports").json() == {"reports": []}
    statement = ReportStatement(text="maf leads \u202enaive.")
    section = ReportSection(title="Who leads", blocks=(statement,))
    path = save_report(EvaluationReport(title="T", sections=(section,)), settings.index.directory)
    (listed,) = fresh_client.get("/api/v1/reports").json()["reports"]
    assert (listed["name"], listed["title"]) == (path.stem, "T")
    body = fresh_client.get(f"/api/v1/reports/{path.stem}").json()
    assert body["sections"][0]["blocks"][0]["text"] == "maf leads \ufffdnaive."


def test_a_missing_report_is_a_problem(client: TestClient) -> None:
    for name in ("20260101T000000.000000Z", "%2e%2e%2ffathom", "x" * 500):
        assert client.get(f"/api/v1/reports/{name}").status_code == 404
    problem = client.get("/api/v1/reports/none").json()
    assert problem["type"] == "urn:fathom:problem:report_missing"
