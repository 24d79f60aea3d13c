"""A server opens no socket except its own: not offline, not by default, for any request.

The real server runs in a child process that notes every name it looks up and every address it
goes to, and a canary on this machine counts who knocks. Requests, files and conversations then hold
the addresses that servers are tricked into opening.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx2
import pytest

ROOT = Path(__file__).parent.parent.parent.parent
QUESTION = "Where is bitumen emulsion stored?"
WATCH = """
import os, sys

_seen = os.open(os.environ["WATCHED"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
_WAYS = ("connect", "bind", "sendto", "sendmsg", "getaddrinfo", "gethostbyname", "gethostbyaddr")

def _note(event, arguments):
    # A file is handed to the process of a parser over a pair of sockets without any address.
    if event == "socket.sendmsg" and arguments[0].family.name == "AF_UNIX":
        return
    if event.startswith("socket.") and event.removeprefix("socket.") in _WAYS:
        told = [each for each in arguments if isinstance(each, (str, int, tuple, bytes))]
        os.write(_seen, f"{event} {told!r}\\n".encode())

sys.addaudithook(_note)
"""


BY_DEFAULT = pytest.mark.parametrize("server", ["by default"], indirect=True)


class CanaryServer:
    """Listens on this machine and counts connections."""

    def __init__(self) -> None:
        self.knocks = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.knocks += 1
            connection.close()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()


class WatchedServer(NamedTuple):
    client: httpx2.Client
    watched: Path
    document: str


@pytest.fixture
def canary() -> Iterator[CanaryServer]:
    server = CanaryServer()
    yield server
    server.close()


FATHOM = (sys.executable, "-m", "fathom")


def make_watching_environment(folder: Path) -> dict[str, str]:
    """Return the environment of a child whose network is watched."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "PYTHONPATH": str(folder),
        "WATCHED": str(folder / "watched"),
    }


@pytest.fixture(scope="module")
def ingested_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with one document in its index, and the network log of the ingestion."""
    folder = tmp_path_factory.mktemp("ingested")
    (folder / "sitecustomize.py").write_text(WATCH)
    handbook = ROOT / "samples" / "corpus" / "road-repair-handbook.docx"
    command = [*FATHOM, "ingest", str(handbook)]
    subprocess.run(command, cwd=folder, env=make_watching_environment(folder), check=True)
    return folder


@pytest.fixture(scope="module", params=["by default", "--offline"])
def server(
    request: pytest.FixtureRequest, ingested_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Any:
    """Yield the real server over one document."""
    folder = shutil.copytree(
        ingested_folder, tmp_path_factory.mktemp("way-out"), dirs_exist_ok=True
    )
    environment = make_watching_environment(folder)
    flags = {"by default": [], "fetching": ["--set", "serve.fetch_urls=true"]}
    flags |= {"--offline": ["--offline"]}
    child = subprocess.Popen(
        [*FATHOM, "serve", "--port", "0", *flags[request.param]],
        cwd=folder,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stderr is not None
    try:
        line = child.stderr.readline()
        hits = re.search(r"http://127\.0\.0\.1:\d+", line)
        assert hits is not None, line
        with httpx2.Client(base_url=hits[0], timeout=120) as client:
            documents = client.get("/api/v1/documents").json()["documents"]
            yield WatchedServer(client, folder / "watched", documents[0]["id"])
    finally:
        child.terminate()
        child.communicate(timeout=60)


def list_targets(port: int) -> list[str]:
    """Return addresses that a server could be tricked into opening: this machine, its net, its
    cloud.
    """
    hosts = [
        *("127.0.0.1", "localhost", "localhost.", "LOCALHOST", "127.1", "127.0.1", "0", "0.0.0.0"),
        *("2130706433", "0x7f000001", "0x7f.0.0.1", "017700000001", "0177.0.0.1", "127.0.0.1."),
        *("[::1]", "[::]", "[::ffff:127.0.0.1]", "[0:0:0:0:0:ffff:7f00:1]", "user:pw@127.0.0.1"),
        *("example.com@127.0.0.1", "127.0.0.1%2523@example.com", "①②⑦.⓪.⓪.①", "127。0。0。1"),
    ]
    elsewhere = [
        "http://169.254.169.254/latest/meta-data/",
        "http://[fd00:ec2::254]/latest/meta-data/",
        "http://metadata.google.internal/computeMetadata/v1/",
        "http://100.100.100.200/latest/meta-data/",
        "http://10.0.0.1/",
        "http://172.16.0.1/",
        "http://192.168.0.1/",
        "http://127.0.0.1.nip.io/",
        "https://example.com/",
        "//example.com/x",
        "file:///etc/passwd",
        f"ftp://127.0.0.1:{port}/x",
        f"gopher://127.0.0.1:{port}/_x",
        f"dict://127.0.0.1:{port}/x",
        f"ldap://127.0.0.1:{port}/x",
        f"jar:http://127.0.0.1:{port}/x!/",
        r"\\127.0.0.1\share\x",
    ]
    return [*(f"http://{host}:{port}/x" for host in hosts), *elsewhere]


def list_connections(server: WatchedServer) -> list[str]:
    """Return the network operations of the server, except binding to this machine.

    It listens there; and a library binds to ::1 for a moment to see whether there is IPv6.
    """
    allowed = ("socket.bind [('127.0.0.1', ", "socket.bind [('::1', 0)")
    lines = server.watched.read_text().splitlines()
    return [line for line in lines if not line.startswith(allowed)]


def wait_for_job(server: WatchedServer, reply: httpx2.Response) -> dict[str, Any]:
    """Return a job at its end."""
    job: dict[str, Any] = reply.json()
    name = job.get("id") or job["job"]
    for _ in range(600):
        job = server.client.get(f"/api/v1/jobs/{name}").json()
        if job["state"] in {"done", "failed"}:
            return job
        time.sleep(0.2)
    raise AssertionError(job)


def test_no_request_opens_a_socket(server: WatchedServer) -> None:
    client = server.client
    answer = client.post("/api/v1/ask", json={"question": QUESTION}).json()
    assert answer["status"] == "answered"
    stream = client.post("/api/v1/ask/stream", json={"question": QUESTION}).text
    assert "event: final" in stream
    assert client.post("/api/v1/search", json={"query": "emulsion"}).json()["hits"]
    file = ("notes.md", b"# Notes\n\nThe emulsion is brown.\n", "text/markdown")
    assert (
        wait_for_job(server, client.post("/api/v1/documents", files=[("files", file)]))["state"]
        == "done"
    )
    for path in list_get_paths(client, server.document, answer["trace_id"]):
        assert client.get(path).status_code < 500, path
    assert not call_tool(client, "ask", question=QUESTION).json()["result"]["isError"]
    replay = client.post(f"/api/v1/traces/{answer['trace_id']}/replay").json()
    assert replay["same"]
    assert list_connections(server) == []


def call_tool(client: httpx2.Client, name: str, **arguments: Any) -> httpx2.Response:
    """Call a tool of the Model Context Protocol."""
    parameters = {"name": name, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters}
    accept = {"Accept": "application/json, text/event-stream"}
    return client.post("/mcp", json=message, headers=accept)


def list_get_paths(client: httpx2.Client, document: str, trace: str) -> list[str]:
    """Return the path of every GET route."""
    values = {"document_id": document, "trace_id": trace, "page": "1", "name": "naive"}
    paths = [
        path
        for path, methods in client.get("/openapi.json").json()["paths"].items()
        if "get" in methods
    ]
    assert len(paths) > 10
    return ["/", *(re.sub(r"{(\w+)}", lambda m: values.get(m[1], "x"), path) for path in paths)]


@BY_DEFAULT
@pytest.mark.parametrize(
    "part",
    [
        # Of each kind some: numbers, names, this machine, its net, its cloud, other protocols.
        pytest.param(slice(1, None, 3), id="a third"),
        pytest.param(slice(None), id="all", marks=pytest.mark.slow),
    ],
)
def test_no_address_in_a_request_is_opened(
    server: WatchedServer, canary: CanaryServer, part: slice, count_probes: Callable[[int], None]
) -> None:
    client = server.client
    assert len(list_targets(canary.port)) == 40
    for address in list_targets(canary.port)[part]:
        count_probes(1)
        name = quote(address, safe="")
        replies = [
            client.post("/api/v1/search", json={"query": address, "k": 1}),
            client.post("/api/v1/search", json={"query": "x", "retriever": address}),
            client.post("/api/v1/search", json={"query": "x", "filters": [f"path={address}"]}),
            client.post("/api/v1/ask", json={"question": "What?", "strategy": address}),
            client.post("/api/v1/feedback", json={"trace_id": address, "correct": True}),
            client.get(f"/api/v1/documents/{name}"),
            client.get(f"/api/v1/documents/{name}/file"),
            client.get(f"/api/v1/traces/{name}"),
            call_tool(client, "get_document", id=address),
            client.post("/api/v1/documents/from-url", json={"url": address}),
            client.get("/healthz", headers=[(b"Referer", address.encode())]),
        ]
        assert all(reply.status_code < 500 for reply in replies), address
    assert (canary.knocks, list_connections(server)) == (0, [])


@BY_DEFAULT
def test_no_address_in_a_question_or_a_conversation_is_opened(
    server: WatchedServer, canary: CanaryServer
) -> None:
    client, listed = server.client, list_targets(canary.port)
    for some in (listed[:20], listed[20:]):
        text = " ".join(some)
        body = {"question": f"What stands at {text}?", "history": [_make_turn(f"See {text}")]}
        assert client.post("/api/v1/ask", json=body).status_code < 500
        content: list[dict[str, Any]] = [{"type": "text", "text": f"What is at {text}?"}]
        content += [{"type": "image_url", "image_url": {"url": address}} for address in some]
        chat = {"model": "naive", "messages": [{"role": "user", "content": content}]}
        assert client.post("/v1/chat/completions", json=chat).status_code < 500
    assert (canary.knocks, list_connections(server)) == (0, [])


def _make_turn(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


@BY_DEFAULT
def test_no_address_in_a_document_is_opened(server: WatchedServer, canary: CanaryServer) -> None:
    files = [
        ("files", (name, text.encode(), "application/octet-stream"))
        for name, text in make_hostile_files(list_targets(canary.port)).items()
    ]
    job = wait_for_job(server, server.client.post("/api/v1/documents", files=files))
    assert job["files_done"] == len(files)
    for document in server.client.get("/api/v1/documents").json()["documents"]:
        for part in ("", "/text", "/chunks", "/file"):
            assert server.client.get(f"/api/v1/documents/{document['id']}{part}").status_code < 500
    body = {"question": "What stands behind the links?"}
    assert server.client.post("/api/v1/ask", json=body).status_code == 200
    assert (canary.knocks, list_connections(server)) == (0, [])


def make_hostile_files(addresses: list[str]) -> dict[str, str]:
    """Yield files of several formats whose readers are able to fetch."""
    tags = (
        "<img src='{}'>",
        "<iframe src='{}'></iframe>",
        "<link rel=stylesheet href='{}'>",
        "<script src='{}'></script>",
        "<object data='{}'></object>",
        "<base href='{}'>",
        "<meta http-equiv=refresh content='0;url={}'>",
        "<a ping='{0}' href='{0}'>link</a>",
    )
    html = "".join(tag.format(address) for address in addresses for tag in tags)
    entities = "".join(f'<!ENTITY e{n} SYSTEM "{address}">' for n, address in enumerate(addresses))
    used = "".join(f"&e{n};" for n in range(len(addresses)))
    drawn = "".join(f"<image href='{address}'/>" for address in addresses)
    dtds = {
        f"dtd{n}.xml": f'<!DOCTYPE r SYSTEM "{address}"><r>What stands behind the links</r>'
        for n, address in enumerate(addresses[:3])
    }
    return {
        "links.html": f"<html><body><p>What stands behind the links</p>{html}</body></html>",
        "entities.xml": f"<!DOCTYPE r [{entities}]><r>What stands behind {used}</r>",
        "drawing.svg": f"<svg xmlns='http://www.w3.org/2000/svg'>{drawn}</svg>",
        "include.rst": "".join(f".. include:: {a}\n\n.. image:: {a}\n\n" for a in addresses),
        "links.md": "".join(f"![]({address}) <{address}>\n\n" for address in addresses),
        "letter.eml": "Subject: Links\nContent-Type: message/external-body; access-type=URL; "
        f'URL="{addresses[0]}"\n\nWhat stands behind the links\n',
        "records.jsonl": "".join(
            json.dumps({"_id": address, "text": address}) + "\n" for address in addresses
        ),
        **dtds,
    }


@pytest.mark.parametrize("server", ["fetching"], indirect=True)
def test_a_server_that_may_fetch_documents_contacts_no_address_inside(
    server: WatchedServer, canary: CanaryServer, count_probes: Callable[[int], None]
) -> None:
    for address in list_targets(canary.port):
        if "example.com" not in address:  # that one is outside
            count_probes(1)
            body = {"url": address}
            reply = server.client.post("/api/v1/documents/from-url", json=body)
            # 502: a name that nobody here knows
            assert 400 <= reply.status_code < 500 or reply.status_code == 502, address
    assert canary.knocks == 0
    assert [line for line in list_connections(server) if "getaddrinfo" not in line] == []


def test_the_watch_detects_a_connection(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(WATCH)
    code = (
        "import socket\n"
        "socket.getaddrinfo('localhost', 1)\n"
        "socket.socket().connect_ex(('127.0.0.1', 1))\n"
    )
    environment = {"PYTHONPATH": str(tmp_path), "WATCHED": str(tmp_path / "watched")}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    text = (tmp_path / "watched").read_text()
    assert "socket.getaddrinfo ['localhost'" in text
    assert "socket.connect [('127.0.0.1', 1)]" in text
