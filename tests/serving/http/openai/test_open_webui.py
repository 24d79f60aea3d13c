"""The real Open WebUI asks the real application, through its own API and in a browser.

It is large and wants an environment of its own: `pip install open-webui`, and its program on the
path or named by FATHOM_OPEN_WEBUI.
"""

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Page, expect
from tests.serving.http.browser import browser, explain_absence
from tests.serving.http.openai.conftest import ANSWER, QUESTION

PROGRAM = os.environ.get("FATHOM_OPEN_WEBUI") or shutil.which("open-webui") or ""
MODEL = "fathom-naive"
FOLLOWED = (
    "What is the monthly pay of an apprentice in the first year?",
    "And in the third year?",
)
PATIENCE_S = 300
"""It loads hundreds of packages."""
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not PROGRAM, reason="open-webui is not installed; name its program by FATHOM_OPEN_WEBUI"
    ),
]
SETTINGS = {
    "WEBUI_AUTH": "False",
    "WEBUI_SECRET_KEY": "a key for the tests that is long enough",
    "OPENAI_API_KEY": "none",
    "ENABLE_OLLAMA_API": "False",
    "ENABLE_VERSION_UPDATE_CHECK": "False",
    "OFFLINE_MODE": "True",
    "HF_HUB_OFFLINE": "1",
    "RAG_EMBEDDING_ENGINE": "openai",  # else it wants a model of the hub
    "BYPASS_EMBEDDING_AND_RETRIEVAL": "True",
    "ANONYMIZED_TELEMETRY": "False",
    "DO_NOT_TRACK": "1",
}


class OpenWebUI:
    """The HTTP API of Open WebUI for its only user."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._token = ""

    def call(self, path: str, body: object = None) -> str:
        """Return the reply to a request; one with a body is posted."""
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._token}"}
        data = None if body is None else json.dumps(body).encode()
        with urlopen(Request(f"{self.address}{path}", data, headers), timeout=120) as reply:
            return str(reply.read().decode())

    def sign_in(self) -> None:
        """Sign in as the only user, who needs no account."""
        session = self.call("/api/v1/auths/signin", {"email": "", "password": ""})
        self._token = json.loads(session)["token"]


def find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def open_webui(address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenWebUI]:
    home, port = tmp_path_factory.mktemp("open-webui"), find_free_port()
    process = subprocess.Popen(
        [PROGRAM, "serve", "--host", "127.0.0.1", "--port", str(port)],
        env={
            **os.environ,
            **SETTINGS,
            "DATA_DIR": str(home),
            "OPENAI_API_BASE_URL": f"{address}v1",
        },
        cwd=home,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    webui = OpenWebUI(f"http://127.0.0.1:{port}")
    try:
        begun = time.monotonic()
        while True:
            assert process.poll() is None, "open-webui ended"
            assert time.monotonic() - begun < PATIENCE_S, "open-webui did not start"
            try:
                webui.sign_in()
                break
            except (URLError, OSError):
                time.sleep(1)
        yield webui
    finally:
        process.terminate()
        process.wait(60)


def list_traces(address: str) -> list[Any]:
    with urlopen(f"{address}api/v1/traces?limit=1000", timeout=60) as reply:
        traces_found: list[Any] = json.load(reply)["traces"]
    return traces_found


def make_messages(*turns: str) -> list[dict[str, str]]:
    return [
        {"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(turns)
    ]


def test_it_offers_strategies_and_efforts(open_webui: OpenWebUI) -> None:
    listed = json.loads(open_webui.call("/api/models"))["data"]
    names = {model["id"]: model["name"] for model in listed}
    assert names[MODEL] == "Fathom naive"
    assert "fathom-anchor-high" in names


@pytest.mark.parametrize("stream", [False, True])
def test_its_api_returns_the_answer(open_webui: OpenWebUI, stream: bool) -> None:
    body = {"model": MODEL, "messages": make_messages(QUESTION), "stream": stream}
    assert ANSWER in open_webui.call("/api/chat/completions", body)


def test_its_titles_tags_and_follow_ups_cost_nothing(open_webui: OpenWebUI, address: str) -> None:
    before = len(list_traces(address))
    for task, key in (("title", "title"), ("tags", "tags"), ("follow_up", "follow_ups")):
        body = {
            "model": MODEL,
            "messages": make_messages(QUESTION, f"{ANSWER} [1]"),
            "chat_id": "x",
        }
        payload = json.loads(open_webui.call(f"/api/v1/tasks/{task}/completions", body))
        assert key in json.loads(payload["choices"][0]["message"]["content"])
        assert payload["usage"]["total_tokens"] == 0
    queries = {"model": MODEL, "messages": make_messages(QUESTION), "type": "web_search"}
    payload = json.loads(open_webui.call("/api/v1/tasks/queries/completions", queries))
    assert json.loads(payload["choices"][0]["message"]["content"]) == {"queries": [QUESTION]}
    assert len(list_traces(address)) == before


@pytest.mark.skipif(bool(explain_absence()), reason=explain_absence())
def test_a_chat_in_the_browser_keeps_sources_steps_and_title(
    open_webui: OpenWebUI, address: str, tmp_path: Path
) -> None:
    before = len(list_traces(address))
    with browser() as chromium:
        page = chromium.new_page(viewport={"width": 1280, "height": 900})
        _chat(page, f"{open_webui.address}/?models={MODEL}")
        chat_id = page.url.rsplit("/", 1)[1]
        page.screenshot(path=os.environ.get("FATHOM_SCREENSHOT") or tmp_path / "open-webui.png")
        link = page.locator("a", has_text="Apprentice").last.get_attribute("href")
        assert link is not None
        assert link.startswith(f"{address}#/documents/")
        page.goto(link)
        expect(page.get_by_text("1,130").first).to_be_visible()
    chat = _wait_for_chat(open_webui, chat_id)
    assert "apprentice" in chat["title"]
    messages_stored = chat["chat"]["history"]["messages"].values()
    answers = [message for message in messages_stored if message["role"] == "assistant"]
    assert len(answers) == 2
    for answer in answers:
        assert answer["statusHistory"][-1]["done"]
        assert {source["source"]["url"] for source in answer["sources"]} == {
            answer["sources"][0]["source"]["url"]
        }
        assert answer["sources"][0]["source"]["url"].startswith(f"{address}#/documents/")
    assert len(list_traces(address)) == before + 2


def _chat(page: Page, address: str) -> None:
    """Ask two questions."""
    page.goto(address)
    ask = page.locator("#chat-input")
    ask.wait_for(timeout=120_000)
    news = page.get_by_text("Okay, Let's Go!")
    if news.is_visible():
        news.click()
    for at, question in enumerate(FOLLOWED, start=1):
        ask.click()
        page.keyboard.type(question)
        page.keyboard.press("Enter")
        expect(page.get_by_text("1 Source")).to_have_count(at, timeout=120_000)
    page.wait_for_url("**/c/**")
    expect(page.get_by_text("1,130").first).to_be_visible()
    expect(page.get_by_text("Understood as:").first).to_be_visible()


def _wait_for_chat(open_webui: OpenWebUI, chat_id: str) -> dict[str, Any]:
    """Return the chat, once its background tasks are done."""
    chat: dict[str, Any] = {}
    for _ in range(120):
        chat = json.loads(open_webui.call(f"/api/v1/chats/{chat_id}"))
        if chat["title"] != "New Chat" and chat["meta"].get("tags"):
            break
        time.sleep(0.5)
    return chat
