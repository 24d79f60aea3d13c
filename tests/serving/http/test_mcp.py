"""The tools at /mcp of the server: the SDK's own client, by the keys of the server."""

import asyncio
import json
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest
import uvicorn
from fastapi.testclient import TestClient
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from tests.serving.http.conftest import FILES

from fathom.config import parse_settings
from fathom.index.engines import EmbeddedIndex
from fathom.serving.http.app import create_app
from fathom.serving.http.keys import Key, create_key_store
from fathom.serving.http.server import FathomServer
from fathom.settings import Settings

QUESTION = "Where is bitumen emulsion stored?"
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ACCEPT = {"Accept": "application/json, text/event-stream"}


def call(name: str, **arguments: Any) -> dict[str, Any]:
    asked = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked}


@contextmanager
def listening(settings: Settings) -> Iterator[str]:
    """Where the real server listens, in a thread."""
    app = create_app(settings)
    server = FathomServer(app, uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}/mcp"
    server.should_exit = True
    thread.join(30)


@pytest.fixture
def address(settings: Settings) -> Iterator[str]:
    with listening(settings) as place:
        yield place


def use(address: str, key: str, body: Callable[[Client], Awaitable[None]]) -> None:
    async def run() -> None:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as wire,
            Client(streamable_http_client(address, http_client=wire)) as client,
        ):
            await body(client)

    asyncio.run(run())


def test_the_sdk_s_client_asks_the_server_by_its_key(settings: Settings, address: str) -> None:
    _, key = create_key_store(EmbeddedIndex(settings.index.directory)).add(Key(id="", name="agent"))

    async def body(client: Client) -> None:
        reply = await client.call_tool("ask", {"question": QUESTION})
        assert not reply.is_error
        assert reply.structured_content is not None
        assert "Depot North, bay 5" in reply.structured_content["answer"]
        state = await client.call_tool("status", {})
        assert state.structured_content is not None
        assert state.structured_content["documents"] == len(FILES)

    use(address, key, body)


def test_keys_and_names_are_those_of_the_server(settings: Settings) -> None:
    keys = create_key_store(EmbeddedIndex(settings.index.directory))
    _, reads = keys.add(Key(id="", name="agent"))
    _, adds = keys.add(Key(id="", name="loader", scopes=frozenset({"ingest"})))
    with TestClient(create_app(settings), base_url="http://127.0.0.1:8000") as client:

        def status(**headers: str) -> int:
            told = {**ACCEPT, **headers}
            return int(client.post("/mcp", json=LIST, headers=told).status_code)

        assert status(Authorization=f"Bearer {reads}") == 200
        assert status() == 401
        assert status(Authorization="Bearer fth_0_nonsense") == 401
        assert status(Authorization=f"Bearer {adds}") == 403
        assert status(Authorization=f"Bearer {reads}", Origin="http://evil.example") == 403
    with TestClient(create_app(settings), base_url="http://127.0.0.1:8000") as client:
        # A stranger's name is refused where a browser could be made to use it: without keys.
        for key in keys.list_keys():
            keys.revoke(key.id)
        assert client.post("/mcp", json=LIST, headers=ACCEPT).status_code == 401
        keys.open_door()
        assert client.post("/mcp", json=LIST, headers=ACCEPT).status_code == 200
        stranger = {**ACCEPT, "Host": "evil.example"}
        assert client.post("/mcp", json=LIST, headers=stranger).status_code == 421


def test_each_key_sees_its_own_workspace(settings: Settings) -> None:
    keys = create_key_store(EmbeddedIndex(settings.index.directory))
    _, own = keys.add(Key(id="", name="own"))
    _, other = keys.add(Key(id="", name="other", workspace="elsewhere"))
    with TestClient(create_app(settings), base_url="http://127.0.0.1:8000") as client:

        def reply(key: str, name: str, **arguments: Any) -> dict[str, Any]:
            headers = {**ACCEPT, "Authorization": f"Bearer {key}"}
            told = client.post("/mcp", json=call(name, **arguments), headers=headers)
            found: dict[str, Any] = told.json()["result"]
            return found

        listed = reply(own, "list_documents")["structuredContent"]["documents"]
        assert len(listed) == len(FILES)
        for name, arguments in (
            ("list_documents", {}),
            ("get_document", {"id": listed[0]["id"]}),
            ("get_document", {"id": listed[0]["path"]}),
            ("search", {"query": "emulsion"}),
            ("ask", {"question": QUESTION}),
        ):
            refused = reply(other, name, **arguments)
            assert refused["isError"], name
            assert "Depot" not in json.dumps(refused)


def test_a_question_is_on_the_account_of_its_key(settings: Settings) -> None:
    keys = create_key_store(EmbeddedIndex(settings.index.directory))
    made, text = keys.add(Key(id="", name="poor", tokens_per_day=0))
    assert made.tokens_per_day == 0
    with TestClient(create_app(settings), base_url="http://127.0.0.1:8000") as client:
        headers = {**ACCEPT, "Authorization": f"Bearer {text}"}
        told = client.post("/mcp", json=call("ask", question=QUESTION), headers=headers)
        found = told.json()["result"]
        assert found["isError"]
        assert "budget of today is spent; come again tomorrow" in found["content"][0]["text"]
        counted = client.get("/healthz")
        assert counted.status_code == 200


def test_the_tools_are_loaded_when_they_are_first_asked_for(settings: Settings) -> None:
    app = create_app(settings)
    with TestClient(app, base_url="http://127.0.0.1:8000") as client:
        assert not app.state.tools._app.done()
        assert client.post("/mcp", json=LIST, headers=ACCEPT).status_code == 200
        assert app.state.tools._app.done()


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_a_client_that_leaves_ends_its_question(settings: Settings, version: str) -> None:
    silent = socket.create_server(("127.0.0.1", 0))
    model = {
        "llm.model": "openai:silent",
        "llm.base_url": f"http://127.0.0.1:{silent.getsockname()[1]}/v1",
        "roles.reader": "llm",
        "index.directory": str(settings.index.directory),
    }
    with listening(parse_settings(model)) as address, silent:
        headers = {**ACCEPT, "MCP-Protocol-Version": version}
        asked = call("ask", question=QUESTION)
        if version > "2026":
            headers |= {"Mcp-Method": "tools/call", "Mcp-Name": "ask"}
            asked["params"]["_meta"] = {
                "io.modelcontextprotocol/protocolVersion": version,
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
            }
        host, _, port = address.removeprefix("http://").partition("/")[0].partition(":")
        body = json.dumps(asked)
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        silent.settimeout(60)
        with socket.create_connection((host, int(port))) as client:
            client.sendall(
                f"POST /mcp HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n{head}\r\n{body}".encode()
            )
            connection, _ = silent.accept()  # the model is being asked
        with connection:
            connection.settimeout(20)
            while connection.recv(65536):  # the request, then the end: nobody waits for a reply
                pass
