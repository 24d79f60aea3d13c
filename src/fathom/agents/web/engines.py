"""SearXNG, Tavily and Brave, each told by how it is asked and where its replies have the pages."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2
from pydantic import SecretStr

from fathom.agents.web.search import WebFailed, WebPage
from fathom.errors import UsageError
from fathom.llm.endpoint import check_url, key_in
from fathom.llm.providers.http_limits import ReplyTooLarge, byte_limit

Ask = Callable[[str, int], Mapping[str, Any]]
"""The parts of a request for a query and a number of results, as httpx names them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebProvider:
    """How one kind of engine is asked and understood.

    Attributes:
        base_url: Empty where everyone has a server of their own.
        key_env: The variable its key is usually in; empty when it needs none.
        header: Which header holds the key, after the given words.
        pages: Where the list of pages stands in a reply.
        texts: Under which names a page has its text.
    """

    base_url: str
    key_env: str
    path: str
    ask: Ask
    header: tuple[str, str] = ("Authorization", "Bearer ")
    pages: tuple[str, ...] = ("results",)
    texts: tuple[str, ...] = ("content",)


PROVIDERS: Mapping[str, WebProvider] = {
    "searxng": WebProvider(
        base_url="",
        key_env="",
        path="/search",
        ask=lambda query, _: {"method": "GET", "params": {"q": query, "format": "json"}},
    ),
    "tavily": WebProvider(
        base_url="https://api.tavily.com",
        key_env="TAVILY_API_KEY",
        path="/search",
        ask=lambda query, k: {"method": "POST", "json": {"query": query, "max_results": k}},
    ),
    "brave": WebProvider(
        base_url="https://api.search.brave.com",
        key_env="BRAVE_API_KEY",
        path="/res/v1/web/search",
        ask=lambda query, k: {"method": "GET", "params": {"q": query, "count": k}},
        header=("X-Subscription-Token", ""),
        pages=("web", "results"),
        texts=("description", "extra_snippets"),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpEngine:
    """A `WebEngine` over HTTP; follows no redirect, and opens no page that it finds.

    Attributes:
        most_bytes: A longer reply is not read to its end, and counts as none.
    """

    name: str
    provider: WebProvider
    base_url: str
    key: SecretStr | None = field(default=None, repr=False)
    most_bytes: int = 512 << 10

    async def search(self, query: str, *, k: int) -> list[WebPage]:
        """See `WebEngine.search`."""
        try:
            status, body = await self._reply(query, k)
        except (httpx2.HTTPError, httpx2.InvalidURL, ReplyTooLarge) as error:
            kind = type(error).__name__
            raise WebFailed(f"{self.name} at {self.base_url} gave no reply ({kind})") from None
        if status != httpx2.codes.OK:
            raise WebFailed(f"{self.name} at {self.base_url} said {status}; {self._hint(status)}")
        try:
            return pages_in(json.loads(body), self.provider)
        except (ValueError, RecursionError):
            raise WebFailed(
                f"{self.name} at {self.base_url} sent something else than JSON"
            ) from None

    async def _reply(self, query: str, k: int) -> tuple[int, bytes]:
        prefix = self.provider.header
        headers = {"Accept": "application/json", "User-Agent": "fathom"}
        if self.key is not None:
            headers[prefix[0]] = prefix[1] + self.key.get_secret_value()
        # The time is bounded by whoever asks, as a whole.
        client = httpx2.AsyncClient(event_hooks=byte_limit(self.most_bytes), timeout=None)
        async with client:
            url = self.base_url.rstrip("/") + self.provider.path
            reply = await client.request(
                url=url, headers=headers, follow_redirects=False, **self.provider.ask(query, k)
            )
            return reply.status_code, reply.content

    def _hint(self, status: int) -> str:
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
    """The engine called `name`, checked as far as it can be without a socket.

    Args:
        name: `searxng`, `tavily` or `brave`.
        base_url: Where it is; the provider's own by default.
        key_env: Name of the variable that holds the key. With a `base_url` of one's own, no key
            is sent unless this names one.
        offline: Refuse: offline means no socket at all.
        most_bytes: See `HttpEngine`.
        environment: Where keys are.

    Raises:
        UsageError: For an unknown name, a missing address or key, or when offline; one line.
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
    variable = key_env or ("" if base_url else provider.key_env)
    return HttpEngine(
        name=name,
        provider=provider,
        base_url=base_url or provider.base_url,
        key=key_in(variable, name, environment) if variable else None,
        most_bytes=most_bytes,
    )


def pages_in(reply: object, provider: WebProvider) -> list[WebPage]:
    """The pages of a reply; what does not look like one is left out."""
    found = reply
    for name in provider.pages:
        found = found.get(name) if isinstance(found, dict) else None
    entries = found if isinstance(found, list) else []
    return [_page(entry, provider) for entry in entries if isinstance(entry, dict)]


def _page(entry: Mapping[str, object], provider: WebProvider) -> WebPage:
    texts = [line for name in provider.texts for line in _lines(entry.get(name))]
    url, title = (next(iter(_lines(entry.get(name))), "") for name in ("url", "title"))
    return WebPage(url=url, title=title, text=" ".join(texts))


def _lines(value: object) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [each for each in values if isinstance(each, str)]
