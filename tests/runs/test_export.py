import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.runs.test_telemetry import make_trace
from tests.scripted_server import find_closed_url

from fathom.errors import RunError, UsageError
from fathom.runs.export import export_trace

pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="the extra otel is missing")


@pytest.fixture
def collector_server() -> Iterator[tuple[str, list[bytes]]]:
    """Yield a server that accepts whatever is posted to it."""
    bodies: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(404 if self.path == "/nowhere" else 200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", bodies
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_file_holds_otlp_json(tmp_path: Path) -> None:
    trace, file = make_trace(), tmp_path / "spans.json"
    assert (
        export_trace(trace, str(file), content=False, offline=True) == f"5 spans written to {file}"
    )
    text = file.read_text()
    (resource,) = json.loads(text)["resourceSpans"]
    spans = [span for scope in resource["scopeSpans"] for span in scope["spans"]]
    assert {span["traceId"] for span in spans} == {trace.id}
    assert [span["name"] for span in spans if "parentSpanId" not in span] == [
        "invoke_workflow naive"
    ]
    assert "a question" not in text
    export_trace(trace, str(file), content=True, offline=True)
    assert "a question" in file.read_text()


def test_spans_are_sent_to_a_collector(collector_server: tuple[str, list[bytes]]) -> None:
    url, bodies = collector_server
    message = export_trace(make_trace(), f"{url}/v1/traces", content=False, offline=False)
    assert message == f"5 spans sent to {url}/v1/traces"
    assert b"invoke_workflow naive" in bodies[0]


def test_a_trace_that_cannot_be_exported_is_reported_in_one_line(
    tmp_path: Path, collector_server: tuple[str, list[bytes]]
) -> None:
    trace = make_trace()
    with pytest.raises(UsageError, match="offline allows none"):
        export_trace(trace, "http://h/v1/traces", content=False, offline=True)
    with pytest.raises(UsageError, match="give a file"):
        export_trace(trace, "ftp://h", content=False, offline=False)
    with pytest.raises(RunError, match="choose another place"):
        export_trace(trace, str(tmp_path / "no" / "file"), content=False, offline=False)
    with pytest.raises(RunError, match="did not accept"):
        export_trace(trace, f"{collector_server[0]}/nowhere", content=False, offline=False)


def test_a_collector_that_does_not_run_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fathom.runs.export.TIMEOUT_S", 0.5)
    url = find_closed_url()
    with pytest.raises(RunError, match="check") as caught:
        export_trace(make_trace(), url, content=False, offline=False)
    assert "\n" not in str(caught.value)
