"""The web search engines SearXNG, Tavily and Brave: how to ask them and parse their replies."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2
from pydantic import SecretStr

from fathom.agents.web.search import WebFailure, WebPage
from fathom.errors import UsageError
from fathom.llm.endpoint import check_url, read_key
from fathom.llm.providers.http_limits import ReplyTooLarge, limit_bytes

BuildRequest = Callable[[str, int], Mapping[str, Any]]
"""A function that builds httpx request arguments from a query and a number of results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebProvider:
    """The format of the requests and replies of one engine.

    Attributes:
        base_url: The address; empty if every user runs a server of their own.
        key_env: The variable that usually holds the key; empty if the engine needs none.
        build_request: The function that builds the method and parameters of a request.
        header: The name of the header with the key, and the text before the key in it.
        pages: The nested JSON keys of the list of pages in a reply.
        texts: The JSON keys of the texts of a page.
    """

    base_url: str
    key_env: str
    path: str
    build_request: BuildRequest
    header: tuple[str, str] = ("Authorization", "Bearer ")
    pages: tuple[str, ...] = ("results",)
    texts: tuple[str, ...] = ("content",)


PROVIDERS: Mapping[str, WebProvider] = {
    "searxng": WebProvider(
        base_url="",
        key_env="",
        path="/search",
        build_request=lambda query, _: {"method": "GET", "params": {"q": query, "format": "json"}},
    ),
    "tavily": WebProvider(
        base_url="https://api.tavily.com",
        key_env="TAVILY_API_KEY",
        path="/search",
        build_request=lambda query, k: {
            "method": "POST",
            "json": {"query": query, "max_results": k},
        },
    ),
    "brave": WebProvider(
        base_url="https://api.search.brave.com",
        key_env="BRAVE_API_KEY",
        path="/res/v1/web/search",
        build_request=lambda query, k: {"method": "GET", "params": {"q": query, "count": k}},
        header=("X-Subscription-Token", ""),
        pages=("web", "results"),
        texts=("description", "extra_snippets"),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpEngine:
    """A `WebEngine` over HTTP; it follows no redirects and opens none of the pages.

    Attributes:
        most_bytes: The largest reply in bytes; a longer one is cut off and counts as a failure.
    """

    name: str
    provider: WebProvider
    base_url: str
    key: SecretStr | None = field(default=None, repr=False)
    most_bytes: int = 512 << 10

    async def search(self, query: str, *, k: int) -> list[WebPage]:
        """Ask the engine and parse the pages of its reply."""
        try:
            status, body = await self._fetch_reply(query, k)
        except (httpx2.HTTPError, httpx2.InvalidURL, ReplyTooLarge) as error:
            kind = type(error).__name__
            raise WebFailure(f"{self.name} at {self.base_url} gave no reply ({kind})") from None
        if status != httpx2.codes.OK:
            raise WebFailure(
                f"{self.name} at {self.base_url} said {status}; {self._choose_hint(status)}"
            )
        try:
            return parse_pages(json.loads(body), self.provider)
        # Deeply nested JSON ends in a `RecursionError`.
        except (ValueError, RecursionError):
            raise WebFailure(
                f"{self.name} at {self.base_url} sent something other than JSON"
            ) from None

    async def _fetch_reply(self, query: str, k: int) -> tuple[int, bytes]:
        """Return the status and the body of the reply to a query."""
        prefix = self.provider.header
        headers = {"Accept": "application/json", "User-Agent": "fathom"}
        if self.key is not None:
            headers[prefix[0]] = prefix[1] + self.key.get_secret_value()
        # No timeout per operation: `WebSearch` bounds the time of the whole search.
        client = httpx2.AsyncClient(event_hooks=limit_bytes(self.most_bytes), timeout=None)
        async with client:
            url = self.base_url.rstrip("/") + self.provider.path
            reply = await client.request(
                # A redirect could lead to an address inside the network, or take the key elsewhere.
                url=url,
                headers=headers,
                follow_redirects=False,
                **self.provider.build_request(query, k),
            )
            return reply.status_code, reply.content

    def _choose_hint(self, status: int) -> str:
        """Return what the user can do about an engine's refusal."""
        # SearXNG refuses its JSON format with 403 until its settings allow it.
        if status in {401, 403} and self.name == "searxng":
            return "allow the format json in its settings.yml"
        return "check its key" if status in {401, 403} else "try again later"


def load_web_engine(
    name: str,
    *,
    base_url: str | None = None,
    key_env: str | None = None,
    offline: bool = False,
    most_bytes: int = 512 << 10,
    environment: Mapping[str, str] = os.environ,
) -> HttpEngine:
    """Build the engine called `name`; checks the settings without opening a socket.

    Args:
        name: `searxng`, `tavily` or `brave`.
        base_url: The address of the engine; the provider's own by default.
        key_env: The name of the environment variable with the key; the provider's own by default.
            With a `base_url`, a key is sent only if this is given.
        offline: Whether no socket may be opened; the call is then refused.
        most_bytes: The largest reply in bytes.
        environment: The environment variables.

    Raises:
        UsageError: If the name is unknown, if the address or the key is missing, or when offline;
            one line.
    """
    provider = PROVIDERS.get(name)
    if provider is None:
        raise UsageError(f"web.provider {name!r}: choose one of {', '.join(PROVIDERS)}")
    if offline:
        raise UsageError(f"web.provider {name} needs a socket and --offline allows none; drop one")
    if base_url is not None:
        check_url(base_url, example="http://host:port")
    elif not provider.base_url:
        raise UsageError(f"web.provider {name} needs web.base_url, the address of your server")
    # The provider's key must not be sent to another server that the user has configured.
    variable = key_env or ("" if base_url else provider.key_env)
    return HttpEngine(
        name=name,
        provider=provider,
        base_url=base_url or provider.base_url,
        key=read_key(variable, name, environment) if variable else None,
        most_bytes=most_bytes,
    )


def parse_pages(reply: object, provider: WebProvider) -> list[WebPage]:
    """Return the pages of a reply; entries that do not look like pages are left out."""
    value = reply
    for name in provider.pages:
        value = value.get(name) if isinstance(value, dict) else None
    entries = value if isinstance(value, list) else []
    return [_parse_page(entry, provider) for entry in entries if isinstance(entry, dict)]


def _parse_page(entry: Mapping[str, object], provider: WebProvider) -> WebPage:
    """Return an entry of a reply as a page; what is missing becomes empty."""
    texts = [text for name in provider.texts for text in _list_texts(entry.get(name))]
    url, title = (next(iter(_list_texts(entry.get(name))), "") for name in ("url", "title"))
    return WebPage(url=url, title=title, text=" ".join(texts))


def _list_texts(value: object) -> list[str]:
    """Return the texts of a value that is a text or a list of texts."""
    values = value if isinstance(value, list) else [value]
    return [text for text in values if isinstance(text, str)]
