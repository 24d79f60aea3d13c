"""The tools at /mcp of the server, used by the SDK's own client with the keys of the server."""

import asyncio
import json
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any

import httpx2
import pytest
import uvicorn
from fastapi.testclient import TestClient
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from tests.serving.http.conftest import ADDRESS, FILES, open_client

from fathom.config import parse_settings
from fathom.index.engines import EmbeddedIndex
from fathom.serving import mcp_resources
from fathom.serving.http import mcp as tools
from fathom.serving.http.app import create_app
from fathom.serving.http.keys import Key, Keys, create_key_store
from fathom.serving.http.server import FathomServer
from fathom.settings import Settings

QUESTION = "Where is bitumen emulsion stored?"
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ACCEPT = {"Accept": "application/json, text/event-stream"}


def make_call(name: str, **arguments: Any) -> dict[str, Any]:
    parameters = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters}


@contextmanager
def listen(settings: Settings) -> Iterator[str]:
    """Run the real server in a thread and yield its address."""
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
    with listen(settings) as place:
        yield place


@pytest.fixture
def keys(settings: Settings) -> Iterator[Keys]:
    """Yield the keys of the server, closed after the test, as Python 3.13 reports open ones."""
    with closing(create_key_store(EmbeddedIndex(settings.index.directory))) as keys:
        yield keys


def use_client(address: str, key: str, body: Callable[[Client], Awaitable[None]]) -> None:
    async def run() -> None:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as wire,
            Client(streamable_http_client(address, http_client=wire)) as client,
        ):
            await body(client)

    asyncio.run(run())


def test_the_client_of_the_sdk_uses_the_server_with_its_key(keys: Keys, address: str) -> None:
    _, key = keys.add(Key(id="", name="agent"))

    async def body(client: Client) -> None:
        reply = await client.call_tool("ask", {"question": QUESTION})
        assert not reply.is_error
        assert reply.structured_content is not None
        assert "Depot North, bay 5" in reply.structured_content["answers"][0]["answer"]
        state = await client.call_tool("status", {})
        assert state.structured_content is not None
        assert state.structured_content["documents"] == len(FILES)

    use_client(address, key, body)


def test_keys_and_host_names_are_those_of_the_server(settings: Settings, keys: Keys) -> None:
    _, reads = keys.add(Key(id="", name="agent"))
    _, adds = keys.add(Key(id="", name="loader", scopes=frozenset({"ingest"})))
    with open_client(create_app(settings)) as client:

        def get_status(**headers: str) -> int:
            all_headers = {**ACCEPT, **headers}
            return int(client.post("/mcp", json=LIST, headers=all_headers).status_code)

        assert get_status(Authorization=f"Bearer {reads}") == 200
        assert get_status() == 401
        assert get_status(Authorization="Bearer fth_0_nonsense") == 401
        assert get_status(Authorization=f"Bearer {adds}") == 403
        assert get_status(Authorization=f"Bearer {reads}", Origin="http://evil.example") == 403
    with open_client(create_app(settings)) as client:
        # A stranger's name is refused where a browser could be made to use it: without keys.
        for key in keys.list_keys():
            keys.revoke(key.id)
        assert client.post("/mcp", json=LIST, headers=ACCEPT).status_code == 401
        keys.open_door()
        assert client.post("/mcp", json=LIST, headers=ACCEPT).status_code == 200
        stranger = {**ACCEPT, "Host": "evil.example"}
        assert client.post("/mcp", json=LIST, headers=stranger).status_code == 421


def test_the_client_of_the_sdk_shows_why_the_server_refuses_a_key(keys: Keys, address: str) -> None:
    _, slow = keys.add(Key(id="", name="slow", per_minute=1))
    refusals: list[MCPError] = []

    async def body(client: Client) -> None:
        for _ in range(2):
            try:
                await client.call_tool("status", {})
            except MCPError as error:
                refusals.append(error)

    use_client(address, slow, body)
    for refused in refusals:
        assert refused.error.message.startswith("more than 1 requests a minute; ask again after")
        assert refused.error.data["type"] == "urn:fathom:problem:too_many_requests"
        assert refused.error.data["retry_after"] >= 1
    assert refusals


def test_each_key_sees_its_own_workspace(settings: Settings, keys: Keys) -> None:
    _, secret = keys.add(Key(id="", name="own"))
    _, other = keys.add(Key(id="", name="other", workspace="elsewhere"))
    with open_client(create_app(settings)) as client:

        def get_reply(key: str, name: str, **arguments: Any) -> dict[str, Any]:
            headers = {**ACCEPT, "Authorization": f"Bearer {key}"}
            response = client.post("/mcp", json=make_call(name, **arguments), headers=headers)
            rpc_result: dict[str, Any] = response.json()["result"]
            return rpc_result

        listed = get_reply(secret, "list_documents")["structuredContent"]["documents"]
        assert len(listed) == len(FILES)
        for name, arguments in (
            ("list_documents", {}),
            ("get_document", {"id": listed[0]["id"]}),
            ("get_document", {"id": listed[0]["path"]}),
            ("search", {"query": "emulsion"}),
            ("grep", {"text": "Depot"}),
            ("get_outline", {"id": listed[0]["id"]}),
            ("ask", {"question": QUESTION}),
        ):
            refused = get_reply(other, name, **arguments)
            assert refused["isError"], name
            assert "Depot" not in json.dumps(refused)

    async def look(client: Client) -> None:
        assert (await client.list_resources()).resources == []
        with pytest.raises(MCPError):
            await client.read_resource(f"fathom://documents/{listed[0]['id']}")

    with listen(settings) as address:
        use_client(address, other, look)


def test_a_question_is_charged_to_its_key(settings: Settings, keys: Keys) -> None:
    poor_key, text = keys.add(Key(id="", name="poor", tokens_per_day=0))
    assert poor_key.tokens_per_day == 0
    with open_client(create_app(settings)) as client:
        headers = {**ACCEPT, "Authorization": f"Bearer {text}"}
        response = client.post("/mcp", json=make_call("ask", question=QUESTION), headers=headers)
        rpc_result = response.json()["result"]
        assert rpc_result["isError"]
        assert "budget of today is spent; ask again tomorrow" in rpc_result["content"][0]["text"]
        counted = client.get("/healthz")
        assert counted.status_code == 200


def test_a_search_waits_for_a_turn_as_questions_do(settings: Settings) -> None:
    app = create_app(settings)
    admission = app.state.asking.admission
    with open_client(app) as client:
        call = make_call("search", query=["bitumen", "harbour"])
        assert not client.post("/mcp", json=call, headers=ACCEPT).json()["result"]["isError"]
        admission.running, admission.most_waiting = admission.most_running, 0
        refused = client.post("/mcp", json=call, headers=ACCEPT).json()["result"]
        admission.running, admission.most_waiting = 0, 256
    assert refused["isError"]
    assert "ask again after the time of Retry-After" in refused["content"][0]["text"]


def test_the_tools_are_loaded_at_their_first_use(settings: Settings) -> None:
    app = create_app(settings)
    with open_client(app) as client:
        assert not app.state.tools._app.done()
        assert client.post("/mcp", json=LIST, headers=ACCEPT).status_code == 200
        assert app.state.tools._app.done()


def test_a_list_of_documents_keeps_no_other_request_waiting(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    list_page = mcp_resources._list_page
    begun, leave = threading.Event(), threading.Event()

    def list_slowly(*arguments: Any) -> Any:
        begun.set()
        leave.wait(30)
        return list_page(*arguments)

    monkeypatch.setattr(mcp_resources, "_list_page", list_slowly)
    listing = {**LIST, "method": "resources/list"}
    with ThreadPoolExecutor(1) as thread:
        listed = thread.submit(httpx2.post, address, json=listing, headers=ACCEPT, timeout=60)
        assert begun.wait(30)
        try:
            health = httpx2.get(f"{address.removesuffix('/mcp')}/healthz", timeout=10)
        finally:
            leave.set()
        assert health.status_code == 200
        assert len(listed.result().json()["result"]["resources"]) == len(FILES)


def test_a_stream_whose_client_leaves_is_no_error(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        listen(settings) as address,
        httpx2.stream("GET", address, headers=ACCEPT, timeout=60) as reply,
    ):
        assert reply.headers["content-type"].startswith("text/event-stream")
    assert caplog.text == ""


def test_tools_that_cannot_be_loaded_are_reported_to_each_request(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise ImportError("another version of the package")

    monkeypatch.setattr(tools, "_create_app", fail)
    app = create_app(settings)
    with TestClient(app, base_url=ADDRESS, raise_server_exceptions=False) as client:
        for _ in range(2):
            reply = client.post("/mcp", json=LIST, headers=ACCEPT)
            title = reply.json()["error"]["data"]["title"]
            assert (reply.status_code, title) == (500, "bug")


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_a_client_that_disconnects_ends_its_question(settings: Settings, version: str) -> None:
    silent = socket.create_server(("127.0.0.1", 0))
    model = {
        "llm.model": "openai:silent",
        "llm.base_url": f"http://127.0.0.1:{silent.getsockname()[1]}/v1",
        "roles.reader": "llm",
        "index.directory": str(settings.index.directory),
    }
    with listen(parse_settings(model)) as address, silent:
        headers = {**ACCEPT, "MCP-Protocol-Version": version}
        request = make_call("ask", question=QUESTION)
        if version > "2026":
            headers |= {"Mcp-Method": "tools/call", "Mcp-Name": "ask"}
            request["params"]["_meta"] = {
                "io.modelcontextprotocol/protocolVersion": version,
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
            }
        host, _, port = address.removeprefix("http://").partition("/")[0].partition(":")
        body = json.dumps(request)
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
