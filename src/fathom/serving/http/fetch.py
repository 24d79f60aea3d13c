"""Fetching a file from a public address of the web, never from an inner network.

Whoever can make a server fetch an address can ask in its name for whatever it alone reaches: this
machine, the network around it, the metadata of a cloud. So a host is looked up once, all of its
addresses must be public, the connection goes to exactly such an address, and each redirection is
checked anew.
"""

import http.client
import io
import ipaddress
import socket
import ssl
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

from typing_extensions import override

from fathom.serving.http.problems import Problem

PORTS = frozenset({80, 443})
MOST_REDIRECTS = 3
MOST_URL_CHARS = 2_000
SECONDS = 30.0
"""The time for one fetch, with all its redirections."""
MOST_AT_ONCE = 4
"""The number of fetches at the same time."""
PIECE = 1 << 16
"""The bytes of one read."""
_UNICAST = ipaddress.ip_network("2000::/3")
"""All IPv6 addresses that are given out for the Internet."""
_DOCUMENTATION = ipaddress.ip_network("3fff::/20")
"""Addresses for examples (RFC 9637), which Python does not exclude yet."""
_ENDINGS = {
    "text/html": ".html",
    "application/pdf": ".pdf",
    "text/markdown": ".md",
    "application/json": ".json",
}
"""The endings of files whose names have none, by media type."""
IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedFile:
    """A fetched file and its name."""

    name: str
    content: bytes


def resolve_host(host: str, port: int) -> list[str]:
    """Return all addresses of a host."""
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in entries]


def open_connection(address: str, port: int, seconds: float) -> socket.socket:
    """Open a connection to an address that was checked."""
    return socket.create_connection((address, port), timeout=seconds)


class _TimedConnection(io.RawIOBase):
    """A connection as `http.client` uses it, whose waits all end at one instant.

    The timeout of a socket alone would start anew with each byte.
    """

    def __init__(self, connection: socket.socket, end: float) -> None:
        self._connection, self._end = connection, end

    def makefile(self, _: str) -> io.BufferedReader:
        """Return a reader of the reply."""
        # A reader of its own: `http.client` closes the connection before it has read the reply.
        return io.BufferedReader(_TimedConnection(self._connection, self._end))

    def sendall(self, content: Any) -> None:  # noqa: ANN401 - any bytes
        """Send the request."""
        set_timeout(self._connection, self._end)
        self._connection.sendall(content)

    @override
    def readable(self) -> bool:
        return True

    @override
    def readinto(self, buffer: Any) -> int:
        set_timeout(self._connection, self._end)
        return self._connection.recv_into(buffer)


def set_timeout(connection: socket.socket, end: float) -> None:
    """Let the next wait of a connection end at an instant of the monotonic clock.

    Raises:
        TimeoutError: If the instant is over.
    """
    seconds = end - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    connection.settimeout(seconds)


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
        self._seconds = seconds
        self._most_bytes = most_bytes
        self._ports = ports
        self._resolve = resolve
        self._connect = connect

    def fetch(self, url: str) -> FetchedFile:
        """Fetch the file at an address.

        Raises:
            Problem: 422 if the address is not allowed, or gives no file; 502 if it cannot be
                reached.
        """
        end = time.monotonic() + self._seconds
        for _ in range(MOST_REDIRECTS + 1):
            parts = _parse_url(url, self._ports)
            try:
                reply, connection = self._send_request(parts, end)
                with connection:
                    if reply.status in {301, 302, 303, 307, 308}:
                        url = urljoin(url, reply.getheader("location", ""))
                        continue
                    return self._read_file(parts, reply)
            except TimeoutError:
                reason = f"took longer than {self._seconds:g} s"
                raise _build_unreachable_problem(parts, reason) from None
            except (OSError, http.client.HTTPException) as error:
                raise _build_unreachable_problem(parts, type(error).__name__) from None
        raise _build_refusal(f"more than {MOST_REDIRECTS} redirections")

    def _send_request(
        self, parts: SplitResult, end: float
    ) -> tuple[http.client.HTTPResponse, socket.socket]:
        host, port = str(parts.hostname), _get_port(parts)
        addresses = self._resolve(host, port)
        if not addresses or not all(is_public(address) for address in addresses):
            raise _build_refusal("its host has an address that is not public")
        # The checked address, not the host: a second lookup could give another one (DNS rebinding).
        raw = self._connect(addresses[0], port, max(0.1, end - time.monotonic()))
        with ExitStack() as stack:
            stack.push(raw)
            if parts.scheme == "https":
                set_timeout(raw, end)
                raw = stack.enter_context(
                    ssl.create_default_context().wrap_socket(raw, server_hostname=host)
                )
            connection = http.client.HTTPConnection(host, port)
            connection.sock = _TimedConnection(raw, end)
            path = parts.path or "/"
            target = f"{path}?{parts.query}" if parts.query else path
            connection.request("GET", target, headers={"Host": parts.netloc, "Accept": "*/*"})
            reply = connection.getresponse()
            # The socket outlives this block only if the request went well.
            stack.pop_all()
        return reply, raw

    def _read_file(self, parts: SplitResult, reply: http.client.HTTPResponse) -> FetchedFile:
        if reply.status != 200:
            raise _build_unreachable_problem(parts, f"status {reply.status}")
        content = bytearray()
        while piece := reply.read(PIECE):
            content += piece
            if len(content) > self._most_bytes:
                raise _build_refusal(f"it holds more than {self._most_bytes >> 20} MB")
        name = unquote(PurePosixPath(parts.path).name) or str(parts.hostname)
        kind = reply.getheader("content-type", "").partition(";")[0].strip().lower()
        if not PurePosixPath(parts.path).suffix:
            name += _ENDINGS.get(kind, ".txt")
        return FetchedFile(name=name, content=bytes(content))


def is_public(address: str) -> bool:
    """Return whether an address is public, and so are the addresses inside it."""
    try:
        parsed: IPAddress = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return all(map(_is_global, (parsed, *_extract_inner_addresses(parsed))))


def _is_global(address: IPAddress) -> bool:
    if isinstance(address, ipaddress.IPv6Address) and (
        address not in _UNICAST or address in _DOCUMENTATION
    ):
        return False
    return address.is_global and not (
        address.is_multicast or address.is_reserved or address.is_unspecified
    )


def _extract_inner_addresses(address: IPAddress) -> list[IPAddress]:
    """Return the addresses to which a gateway would forward an IPv6 address."""
    if isinstance(address, ipaddress.IPv4Address):
        return []
    candidates = (address.sixtofour, *(address.teredo or ()))
    return [candidate for candidate in candidates if candidate is not None]


def _parse_url(url: str, ports: frozenset[int]) -> SplitResult:
    # Parsers disagree on backslashes, blanks and other scripts; one could be checked as one host
    # and connected to as another.
    is_plain = url.isascii() and url.isprintable() and " " not in url and "\\" not in url
    if not is_plain or len(url) > MOST_URL_CHARS:
        raise _build_refusal("it is not a plain ASCII address")
    try:
        parts = urlsplit(url)
        port = _get_port(parts)
    except ValueError:
        raise _build_refusal("it is not a valid address") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise _build_refusal("only http and https are fetched")
    if parts.username is not None or parts.password is not None:
        raise _build_refusal("it contains a user name or a password")
    if port not in ports:
        raise _build_refusal(f"port {port} is not allowed")
    return parts


def _get_port(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)


def _build_refusal(reason: str) -> Problem:
    return Problem(422, "url_refused", f"the address is not fetched: {reason}")


def _build_unreachable_problem(parts: SplitResult, reason: str) -> Problem:
    detail = f"{parts.hostname} gives no file: {reason}"
    return Problem(502, "url_unreachable", detail, next="check the address")
