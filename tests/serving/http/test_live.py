"""A server on a real socket: disconnects, crowds, and shutdown; `fathom serve`,
fathom.serving.http.server, fathom.serving.http.event_stream, fathom.serving.http.admission,
fathom.serving.http.idempotency.
"""

import asyncio
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from starlette.responses import Response

from fathom.config import parse_settings
from fathom.engine.request import AskRequest
from fathom.index.engines import EmbeddedIndex
from fathom.runs.events import StepStart
from fathom.runs.trace import Step
from fathom.serving.http import event_stream as streams
from fathom.serving.http.access import LOCAL
from fathom.serving.http.admission import Admission
from fathom.serving.http.app import create_app
from fathom.serving.http.event_stream import ServerEvent, Shutdown, iterate_frames
from fathom.serving.http.idempotency import create_reply_store
from fathom.serving.http.problems import Problem
from fathom.serving.http.question_runner import QuestionRunner
from fathom.settings import Settings

ASK = {"question": "Where is bitumen emulsion stored?"}
PART = b'--b\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\n'
Live = Callable[[FastAPI], AbstractContextManager[str]]


class SlowEngine:
    """Replaces the engine of the default workspace: it begins a step and never ends."""

    def __init__(self, app: FastAPI) -> None:
        self.begun = 0
        self.cancelled = 0
        engine = app.state.workspaces._engine
        engine.arun = self.arun

    async def arun(self, request: AskRequest) -> Any:
        self.begun += 1
        if request.listener is not None:
            request.listener.on_event(StepStart(Step(id="search", name="search")))
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("path", ["/api/v1/ask", "/api/v1/ask/stream"])
def test_a_client_that_disconnects_frees_its_work(
    settings: Settings, live: Live, path: str
) -> None:
    app = create_app(settings)
    slow = SlowEngine(app)
    with live(app) as address:
        with (
            httpx.Client(base_url=address) as client,
            client.stream("POST", path, json=ASK)
            if (path.endswith("stream"))
            else request_and_leave(client, path),
        ):
            wait_for(lambda: slow.begun == 1)
            if path.endswith("stream"):  # whoever asked otherwise has left by now
                assert app.state.asking.admission.running == 1
        wait_for(lambda: slow.cancelled == 1)
        assert app.state.asking.admission.running == 0


@contextmanager
def request_and_leave(client: httpx.Client, path: str) -> Iterator[None]:
    """Send a request whose reply nobody waits for."""
    with pytest.raises(httpx.ReadTimeout):
        client.post(path, json=ASK, timeout=httpx.Timeout(5, read=0.5))
    yield


@contextmanager
def serve(settings: Settings, *more: str) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Run `fathom serve` in a child process and yield its address."""
    command = [sys.executable, "-m", "fathom", "serve", "--port", "0", "--offline"]
    command += ["--index", str(settings.index.directory), *more]
    with subprocess.Popen(command, stderr=subprocess.PIPE, cwd=settings.index.directory) as server:
        try:
            assert server.stderr is not None
            line = server.stderr.readline().decode()
            address = re.search(r"http://\S+/", line)
            assert address, line
            yield server, address[0]
        finally:
            server.kill()


def test_the_command_serves_reports_its_address_and_ends_with_its_signal(
    settings: Settings,
) -> None:
    with serve(settings) as (server, address), httpx.Client(base_url=address) as client:
        assert client.get("/readyz").json() == {"status": "ready"}
        assert client.post("/api/v1/ask", json=ASK, timeout=60).json()["status"] == "answered"
        assert "<html" in client.get("/").text
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=30) in {0, -signal.SIGTERM}


def test_open_streams_are_told_that_the_server_ends(settings: Settings, live: Live) -> None:
    brief = settings.model_copy(
        update={"serve": settings.serve.model_copy(update={"running": 100, "drain_s": 0.5})}
    )
    app = create_app(brief)
    slow = SlowEngine(app)
    opened: list[int] = []
    last: list[str] = []

    async def follow(client: httpx.AsyncClient) -> None:
        async with client.stream("POST", "/api/v1/ask/stream", json=ASK) as reply:
            opened.append(reply.status_code)
            async for line in reply.aiter_lines():
                last.append(line) if line.startswith("event: error") else None

    async def ask_as_crowd(address: str) -> None:
        limits = httpx.Limits(max_connections=200)
        async with httpx.AsyncClient(base_url=address, timeout=60, limits=limits) as client:
            tasks = [asyncio.create_task(follow(client)) for _ in range(100)]
            while len(opened) < 100:
                await asyncio.sleep(0.02)
            app.state.stopping.announce()
            await asyncio.gather(*tasks)

    with live(app) as address:
        asyncio.run(ask_as_crowd(address))
    assert last == ["event: error"] * 100
    assert slow.cancelled == 100


def drip_body(address: str, path: str, *, piece: bytes) -> bytes:
    """Send a request whose body comes in pieces and never ends; return the reply."""
    host, _, port = address.removeprefix("http://").partition(":")
    kind = "multipart/form-data; boundary=b" if "documents" in path else "application/json"
    lines = (
        f"POST {path} HTTP/1.1",
        f"Host: {host}",
        f"Content-Type: {kind}",
        "Content-Length: 999",
    )
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall("\r\n".join((*lines, "", "")).encode())
        if "documents" in path:
            connection.sendall(PART)
        for _ in range(100):
            if select.select([connection], [], [], 0.05)[0]:
                break
            connection.sendall(piece)
        reply = bytearray()
        # A piece that was on its way when the server closed resets the connection.
        with suppress(ConnectionResetError):
            while part := connection.recv(65536):  # to the end of the connection
                reply += part
    return bytes(reply)


@pytest.mark.parametrize(
    ("path", "piece", "constants"),
    [
        ("/api/v1/ask", b"", {"serve.body_s": 0.3}),
        ("/api/v1/ask", b" ", {"serve.body_s": 0.3}),
        ("/mcp", b" ", {"serve.body_s": 0.3}),
        ("/v1/chat/completions", b" ", {"serve.body_s": 0.3}),
        ("/api/v1/documents", b"", {"serve.body_s": 0.3}),
        ("/api/v1/documents", b" ", {"serve.upload_s": 0.3}),
    ],
)
def test_a_body_that_stalls_or_drips_ends_in_time_with_its_connection(
    tmp_path: Path, live: Live, path: str, piece: bytes, constants: dict[str, float]
) -> None:
    tree = {"index.directory": str(tmp_path / "index"), "offline": True, **constants}
    with live(create_app(parse_settings(tree, constants=True))) as address:
        reply = drip_body(address, path, piece=piece)
    assert reply.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in reply.lower()
    assert b"came too slowly" in reply


def test_a_hopeless_request_is_refused_at_once_and_a_waiting_one_gets_its_turn() -> None:
    async def play_scene() -> None:
        admission = Admission(running=1, waiting=2, patience_s=60)
        ended: list[int] = []

        async def ask(number: int, go: asyncio.Event) -> None:
            async with admission.take_turn():
                await go.wait()
                ended.append(number)

        go = asyncio.Event()
        tasks = [asyncio.create_task(ask(number, go)) for number in range(3)]
        await asyncio.sleep(0)
        assert (admission.running, admission.waiting) == (1, 2)
        with pytest.raises(Problem) as away:
            async with admission.take_turn():
                pass
        assert away.value.status == 503
        assert away.value.retry_after is not None
        assert admission.refused_count == 1
        tasks[1].cancel()
        await asyncio.sleep(0.01)
        assert admission.waiting == 1
        go.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert ended == [0, 2]
        assert (admission.running, admission.waiting) == (0, 0)

    asyncio.run(play_scene())


def test_a_crowd_is_told_when_to_retry(settings: Settings, live: Live) -> None:
    few = settings.serve.model_copy(update={"running": 1, "waiting": 1})
    app = create_app(settings.model_copy(update={"serve": few}))
    slow = SlowEngine(app)

    async def ask_as_crowd(address: str) -> list[httpx.Response]:
        async with httpx.AsyncClient(base_url=address, timeout=60) as client:
            jobs = [client.post("/api/v1/ask", json=ASK) for _ in range(20)]
            tasks = [asyncio.create_task(job) for job in jobs]
            while sum(task.done() for task in tasks) < 18:
                await asyncio.sleep(0.02)
            assert (slow.begun, app.state.asking.admission.waiting) == (1, 1)
            replies = [task.result() for task in tasks if task.done()]
            for task in tasks:
                task.cancel()
            return replies

    with live(app) as address:
        replies = asyncio.run(ask_as_crowd(address))
    assert {reply.status_code for reply in replies} == {503}
    assert all(reply.json()["type"] == "urn:fathom:problem:overloaded" for reply in replies)
    assert all(int(reply.headers["retry-after"]) >= 1 for reply in replies)


def test_drawing_replay_and_search_wait_for_a_turn_as_questions_do(client: TestClient) -> None:
    name = client.get("/api/v1/documents").json()["documents"][0]["id"]
    trace = client.post("/api/v1/ask", json=ASK).json()["trace_id"]
    requests = [
        ("GET", f"/api/v1/documents/{name}/pages/1.png", None),
        ("POST", f"/api/v1/traces/{trace}/replay", None),
        ("POST", "/api/v1/search", {"query": "bitumen"}),
    ]
    admission = client.app.state.asking.admission  # type: ignore[attr-defined]
    try:
        admission.running, admission.most_waiting = admission.most_running, 0
        for method, path, body in requests:
            reply = client.request(method, path, json=body)
            assert (reply.status_code, reply.json()["title"]) == (503, "overloaded"), path
    finally:
        admission.running, admission.most_waiting = 0, 256
    assert client.post(requests[1][1]).json()["same"]


def test_work_in_threads_holds_its_turn_until_it_ends_even_if_its_client_leaves(
    client: TestClient,
) -> None:
    app = client.app
    assert isinstance(app, FastAPI)
    space = app.state.workspaces.get_workspace(LOCAL)
    begun, leave = Event(), Event()

    def work() -> None:
        begun.set()
        leave.wait(30)

    async def run() -> None:
        admission = Admission(running=1, waiting=8, patience_s=30)
        runner = QuestionRunner(admission, app.state.access, app.state.metrics)
        task = asyncio.create_task(runner.run_in_turn(space, work))
        await asyncio.to_thread(begun.wait, 30)
        task.cancel()
        await asyncio.sleep(0)
        next_task = asyncio.create_task(runner.run_in_turn(space, lambda: "next"))
        await asyncio.sleep(0)
        assert (admission.running, admission.waiting) == (1, 1)
        leave.set()
        assert await next_task == "next"
        with pytest.raises(asyncio.CancelledError):
            await task
        assert admission.running == 0

    asyncio.run(run())


def test_a_question_that_cannot_be_answered_in_time_is_refused() -> None:
    async def play_scene() -> None:
        admission = Admission(running=1, waiting=10, patience_s=60)
        async with admission.take_turn() as waited:
            assert waited < 1
            with pytest.raises(Problem):  # about half a second to wait, and no time for it
                async with admission.take_turn(seconds=0.2):
                    pass
            admission.close()
            with pytest.raises(Problem, match="stopping"):
                async with admission.take_turn():
                    pass

    asyncio.run(play_scene())


def test_a_failing_stream_ends_with_a_problem_and_a_silent_one_sends_heartbeats(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "HEARTBEAT_S", 0.01)

    async def iterate_events() -> Any:
        yield ServerEvent("plan", "{}")
        await asyncio.sleep(0.1)
        raise RuntimeError("secret of a document")

    async def read_frames() -> bytes:
        return b"".join([frame async for frame in iterate_frames(iterate_events(), Shutdown(1))])

    text = asyncio.run(read_frames()).decode()
    assert text.startswith("id: 1\nevent: plan\ndata: {}\n\n: still at work\n\n")
    assert "id: 2\nevent: error\n" in text
    assert "secret" not in text


def test_a_stream_whose_time_is_over_sends_what_has_happened_up_to_its_end() -> None:
    async def iterate_events(*, is_done: bool) -> Any:
        for name in ("step", "usage", "final"):
            yield ServerEvent(name, "{}")
        if not is_done:
            await asyncio.sleep(30)

    async def read_slowly(*, is_done: bool) -> str:
        stopping, frames = Shutdown(0), list[bytes]()
        async for frame in iterate_frames(iterate_events(is_done=is_done), stopping):
            frames.append(frame)
            stopping.announce()
            await asyncio.sleep(0.01)
        return b"".join(frames).decode()

    done = asyncio.run(read_slowly(is_done=True))
    assert re.findall("event: (.*)", done) == ["step", "usage", "final"]
    cut = asyncio.run(read_slowly(is_done=False))
    assert re.findall("event: (.*)", cut) == ["step", "usage", "final", "error"]


def test_concurrent_equal_requests_are_done_once_and_a_failed_one_is_retried(
    tmp_path: Path,
) -> None:
    async def play_scene() -> None:
        once, done = create_reply_store(EmbeddedIndex(tmp_path)), 0

        async def work() -> Response:
            nonlocal done
            done += 1
            await asyncio.sleep(0.01)
            if done == 1:
                raise Problem(503, "overloaded", "too much")
            return Response("made")

        both = [once.run_once("key", "body", work) for _ in range(2)]
        failed = await asyncio.gather(*both, return_exceptions=True)
        assert all(isinstance(failure, Problem) for failure in failed)
        assert done == 1
        replies = await asyncio.gather(*(once.run_once("key", "body", work) for _ in range(3)))
        assert done == 2
        assert len({id(reply) for reply in replies}) == 1
        once.close()

    asyncio.run(play_scene())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a POSIX system")
def test_a_used_port_is_reported(settings: Settings) -> None:
    with serve(settings) as (_, address):
        port = address.rstrip("/").rpartition(":")[2]
        command = [sys.executable, "-m", "fathom", "serve", "--port", port]
        done = subprocess.run(command, capture_output=True, cwd=Path("/"), check=False)
    assert done.returncode == 2
    assert b"choose another with --host and --port" in done.stderr
