import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.factories import engine_at, index_fees
from tests.scripted_server import (
    Act,
    ReceivedRequest,
    ScriptedServer,
    echoes_the_key,
    find_closed_url,
    floods,
    raw,
    resets,
    stalls,
    status,
)

from fathom.agents.web.engines import PROVIDERS, HttpEngine, load_web_engine, parse_pages
from fathom.agents.web.search import WebFailure, WebPage
from fathom.errors import UsageError

CANARY = "canary-web-7d1f"
KEYS = {"TAVILY_API_KEY": CANARY, "BRAVE_API_KEY": CANARY}
RESULT = {"url": "https://a", "title": "A", "content": "Forty crowns.", "description": "Forty"}
BODIES = {
    "searxng": {"results": [RESULT]},
    "tavily": {"results": [RESULT]},
    "brave": {"web": {"results": [{**RESULT, "extra_snippets": ["crowns."]}]}},
}
JSON = {"Content-Type": "application/json"}


def search_web(
    name: str, *acts: Act, **more: Any
) -> tuple[list[WebPage] | str, list[ReceivedRequest]]:
    """Return the pages or the reason for having none, and the requests of the server."""

    async def run_search() -> tuple[list[WebPage] | str, list[ReceivedRequest]]:
        async with ScriptedServer(*acts) as server:
            engine = HttpEngine(
                name=name,
                provider=PROVIDERS[name],
                base_url=server.base_url.removesuffix("/v1"),
                **more,
            )
            try:
                async with asyncio.timeout(5):
                    return await engine.search("what is it?", k=3), server.requests
            except WebFailure as failed:
                return str(failed).replace(engine.base_url, "URL"), server.requests
            finally:
                await asyncio.wait_for(server.wait_until_idle(), 2)

    return asyncio.run(run_search())


@pytest.mark.parametrize("name", sorted(PROVIDERS))
def test_each_engine_is_asked_in_its_format(name: str) -> None:
    pages, (request,) = search_web(name, raw(json.dumps(BODIES[name]), headers=JSON))
    assert isinstance(pages, list)
    assert [(page.url, page.title) for page in pages] == [("https://a", "A")]
    assert pages[0].text == "Forty crowns."
    expected = {
        "searxng": ("/search?q=what+is+it%3F&format=json", {}),
        "tavily": ("/search", {"query": "what is it?", "max_results": 3}),
        "brave": ("/res/v1/web/search?q=what+is+it%3F&count=3", {}),
    }
    assert (request.path.replace("%20", "+"), request.body) == expected[name]


@pytest.mark.parametrize(
    ("name", "header", "value"),
    [("tavily", "authorization", f"Bearer {CANARY}"), ("brave", "x-subscription-token", CANARY)],
)
def test_the_key_is_sent_in_its_header_and_nowhere_else(name: str, header: str, value: str) -> None:
    key = load_web_engine(name, environment=KEYS).key
    why, (request,) = search_web(name, echoes_the_key(401), key=key)
    assert request.headers[header] == value
    assert why == f"{name} at URL said 401; check its key"
    assert CANARY not in request.path
    assert CANARY not in repr(load_web_engine(name, environment=KEYS))


@pytest.mark.parametrize(
    ("act", "why"),
    [
        (status(500), "searxng at URL said 500; try again later"),
        (status(403), "searxng at URL said 403; allow the format json in its settings.yml"),
        (raw("", code=302, headers={"Location": "http://127.0.0.1:9/"}), "said 302"),
        (raw("<html>"), "searxng at URL sent something other than JSON"),
        (raw("[" * 100_000), "searxng at URL sent something other than JSON"),
        (resets(), "searxng at URL gave no reply (ReadError)"),
        (floods(), "searxng at URL gave no reply (ReplyTooLarge)"),
        (raw("x", headers={"Content-Encoding": "gzip"}), "gave no reply (ReplyTooLarge)"),
    ],
)
def test_every_reply_becomes_pages_or_a_one_line_error(act: Act, why: str) -> None:
    requests, pages = search_web("searxng", act, most_bytes=200_000)
    assert isinstance(requests, str)
    assert why in requests
    assert len(pages) == 1  # no redirect is followed


def test_an_unreachable_server_is_a_one_line_error() -> None:
    url = find_closed_url()
    engine = load_web_engine("searxng", base_url=url)
    with pytest.raises(WebFailure, match="gave no reply"):
        asyncio.run(engine.search("q", k=1))


def test_a_cancelled_search_leaves_no_connection() -> None:
    async def cancel_search() -> None:
        async with ScriptedServer(stalls()) as server:
            engine = load_web_engine("searxng", base_url=server.base_url)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await engine.search("q", k=1)
            await asyncio.wait_for(server.wait_until_idle(), 2)

    asyncio.run(cancel_search())


@pytest.mark.parametrize(
    "reply",
    [None, 7, [], {}, {"results": None}, {"results": "x"}, {"results": [1, None, "x"]}],
)
def test_replies_without_pages_give_none(reply: object) -> None:
    assert parse_pages(reply, PROVIDERS["searxng"]) == []


def test_a_page_of_wrong_types_has_empty_fields() -> None:
    odd = {"results": [{"url": 7, "title": ["A"], "content": {"x": 1}}]}
    assert parse_pages(odd, PROVIDERS["tavily"]) == [WebPage(url="", title="A", text="")]


@pytest.mark.parametrize(
    ("name", "more", "why"),
    [
        ("google", {}, "web.provider 'google': choose one of searxng, tavily, brave"),
        ("searxng", {}, "web.provider searxng needs web.base_url, the address of your server"),
        (
            "searxng",
            {"base_url": "x"},
            "base_url 'x' is not an address; write it as http://host:port",
        ),
        ("searxng", {"base_url": "http://u:p@x"}, "base_url holds a user name or password"),
        ("tavily", {}, "tavily needs a key; run: export TAVILY_API_KEY=..."),
        ("brave", {"key_env": "MINE"}, "brave needs a key; run: export MINE=..."),
        ("brave", {"offline": True}, "web.provider brave needs a socket and --offline allows none"),
    ],
)
def test_unusable_settings_are_refused_before_any_connection(
    name: str, more: Any, why: str
) -> None:
    with pytest.raises(UsageError) as refused:
        load_web_engine(name, environment={}, **more)
    assert str(refused.value).startswith(why)
    assert refused.value.exit_code == 2


def test_a_key_is_sent_only_to_its_own_server() -> None:
    engine = load_web_engine("tavily", base_url="http://localhost:1", environment=KEYS)
    assert engine.key is None


def test_offline_mode_refuses_every_strategy(tmp_path: Path) -> None:
    web = {"provider": "searxng", "base_url": find_closed_url()}
    with (
        engine_at(index_fees(tmp_path), web=web, offline=True) as engine,
        pytest.raises(UsageError, match="--offline"),
    ):
        engine.ask("q?", strategy="naive")
