"""The client against servers that refuse or are not Qdrant, and `tests.qdrant_edge`."""

import threading
from collections.abc import Callable
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from pydantic import SecretStr
from tests.qdrant_server import QUICK, EdgeServer

from fathom.errors import RunError, UsageError
from fathom.index.qdrant.address import parse_qdrant_address
from fathom.index.qdrant.client import QdrantClient

ServerStarter = Callable[..., EdgeServer]


def run_answering_server(
    status: int, body: bytes, headers: dict[str, str] | None = None
) -> HTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.server.asked += 1  # type: ignore[attr-defined]
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_PUT = do_POST = do_GET  # noqa: N815 - as the base class names them

        def log_message(self, *_: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.asked = 0  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@pytest.mark.parametrize(
    ("status", "body", "message", "tries"),
    [
        (503, b"{}", "said 503", 3),
        (400, b'{"status": {"error": "no\\nsuch thing"}}', "said 400: no such thing", 1),
        (200, b"<html>", "said 200 and no JSON", 1),
        (200, b"[1]", "said 200 and no JSON", 1),
        (302, b"", "said 302", 1),
        (200, b'{"result": {"status": "acknowledged"}}', "'acknowledged', not with", 1),
    ],
)
def test_a_failed_request_is_reported_in_one_line(
    status: int, body: bytes, message: str, tries: int
) -> None:
    server = run_answering_server(status, body, {"Location": "http://127.0.0.1:1/"})
    address = parse_qdrant_address(f"http://127.0.0.1:{server.server_address[1]}")
    client = QdrantClient(address, policy=QUICK, sleep=lambda _: None)
    with client, pytest.raises(RunError) as raised:
        client.write("PUT", "/collections/x/points", {"points": []})
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
    assert server.asked == tries  # type: ignore[attr-defined]
    server.shutdown()
    server.server_close()


def test_an_absent_server_is_reported() -> None:
    with (
        QdrantClient(
            parse_qdrant_address("http://127.0.0.1:9"), policy=QUICK, sleep=lambda _: None
        ) as client,
        pytest.raises(RunError, match="cannot be reached") as raised,
    ):
        client.request("GET", "/collections/x")
    assert raised.value.exit_code == 5


def test_a_refused_key_is_reported(start_edge_server: ServerStarter) -> None:
    address = parse_qdrant_address(start_edge_server(key="right").url)
    for key in (None, SecretStr("wrong")):
        client = QdrantClient(replace(address, key=key), policy=QUICK)
        with client, pytest.raises(UsageError, match=r"refuses the API key"):
            client.request("GET", "/collections/x")
    with QdrantClient(replace(address, key=SecretStr("right")), policy=QUICK) as client:
        assert client.request("GET", "/collections/x") is None


def test_the_test_server_refuses_unexpected_requests(start_edge_server: ServerStarter) -> None:
    with QdrantClient(parse_qdrant_address(start_edge_server().url), policy=QUICK) as client:
        layout = {"on_disk_payload": True, "sparse_vectors": {"words": {}}}
        idf = {"sparse_vectors": {"words": {"modifier": "idf"}}}
        with pytest.raises(RunError, match="unknown field `modifier`"):
            client.request("PUT", "/collections/c", layout | idf)
        client.request("PUT", "/collections/c", layout)
        with pytest.raises(RunError, match="missing field `payload`"):
            client.write("PUT", "/collections/c/points", {"points": [{"id": "1", "vector": {}}]})
        with pytest.raises(RunError, match="no tenant"):
            client.write("POST", "/collections/c/points/delete", {"filter": {"must": []}})
        with pytest.raises(RunError, match="does not ask"):
            client.request("PUT", "/collections/c/points", {"points": []}, {"wait": "false"})
        with pytest.raises(RunError, match="does not ask"):
            client.request("GET", "/telemetry")
