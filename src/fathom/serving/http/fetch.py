"""The fetching of files from public web addresses that users of this server name."""

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from fathom.ingest.sources.fetch import (
    PORTS,
    SECONDS,
    AddressRefusal,
    FetchFailure,
    GuardedFetcher,
    WayOut,
    WebReply,
    get_port,
    is_public,
    open_connection,
    parse_url,
    resolve_host,
)
from fathom.serving.http.problems import Problem

MOST_AT_ONCE = 4
"""The number of fetches at the same time."""
_ENDINGS = {
    "text/html": ".html",
    "application/pdf": ".pdf",
    "text/markdown": ".md",
    "application/json": ".json",
}
"""The endings of files whose names have none, by media type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedFile:
    """A fetched file and its name."""

    name: str
    content: bytes


class Fetcher:
    """A fetcher of files from public addresses."""

    def __init__(
        self,
        *,
        most_bytes: int,
        ports: frozenset[int] = PORTS,
        resolve: Callable[[str, int], Sequence[str]] = resolve_host,
        connect: Callable[[str, int, float], socket.socket] = open_connection,
        seconds: float = SECONDS,
    ) -> None:
        """Create the fetcher. Nothing is fetched yet.

        Args:
            most_bytes: The size above which a file is refused.
            ports: The allowed ports.
            resolve: Returns the addresses of a host.
            connect: Connects to one of them.
            seconds: The time for one fetch, however its bytes are spread over it.
        """
        self._fetcher = GuardedFetcher(
            most_bytes=most_bytes,
            ports=ports,
            network=WayOut(resolve=resolve, connect=connect),
            seconds=seconds,
        )

    def fetch(self, url: str) -> FetchedFile:
        """Fetch the file at an address.

        Raises:
            Problem: 422 if the address is not allowed, or gives no file; 502 if it cannot be
                reached.
        """
        content = BytesIO()
        try:
            reply = self._fetcher.fetch(url, content)
        except AddressRefusal as refusal:
            detail = f"the address is not fetched: {refusal}"
            raise Problem(422, "url_refused", detail) from None
        except FetchFailure as failure:
            raise _build_unreachable_problem(failure.host, failure.reason) from None
        if reply.status != 200:
            host = str(urlsplit(reply.url).hostname)
            raise _build_unreachable_problem(host, f"status {reply.status}")
        return FetchedFile(name=_name_file(reply), content=content.getvalue())


def check_public_address(url: str, resolve: Callable[[str, int], Sequence[str]]) -> None:
    """Check that an address may be fetched for a user of this server.

    Args:
        url: The address.
        resolve: Returns the addresses of a host.

    Raises:
        Problem: 422 if the address is not allowed; 502 if its host is unknown.
    """
    try:
        parts = parse_url(url, PORTS)
        addresses = resolve(str(parts.hostname), get_port(parts))
    except AddressRefusal as refusal:
        raise Problem(422, "url_refused", f"the address is not fetched: {refusal}") from None
    except (OSError, UnicodeError) as error:
        detail = f"the host of the address is not found: {type(error).__name__}"
        raise Problem(502, "url_unreachable", detail, next="check the address") from None
    if not addresses or not all(map(is_public, addresses)):
        detail = "the address is not fetched: its host has an address that is not public"
        raise Problem(422, "url_refused", detail)


def _name_file(reply: WebReply) -> str:
    parts = urlsplit(reply.url)
    name = unquote(PurePosixPath(parts.path).name) or str(parts.hostname)
    if not PurePosixPath(parts.path).suffix:
        name += _ENDINGS.get(reply.media_type, ".txt")
    return name


def _build_unreachable_problem(host: str, reason: str) -> Problem:
    detail = f"{host} gives no file: {reason}"
    return Problem(502, "url_unreachable", detail, next="check the address")
