"""A file fetched from an address of the web, never from anywhere inside.

Who can make a server fetch an address can ask in its name whatever it alone reaches: this machine,
the network around it, the metadata of a cloud. So an address is looked up once, everything that it
stands for must be public, that very address is connected to, and each redirection is a new one.
"""

import http.client
import ipaddress
import socket
import ssl
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

from fathom.serving.http.problems import Problem

PORTS = frozenset({80, 443})
MOST_REDIRECTS = 3
MOST_URL_CHARS = 2_000
SECONDS = 30.0
PIECE = 1 << 16
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_ENDINGS = {
    "text/html": ".html",
    "application/pdf": ".pdf",
    "text/markdown": ".md",
    "application/json": ".json",
}
"""Of a file whose name has none."""
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """A file and what it is called."""

    name: str
    content: bytes


def looked_up(host: str, port: int) -> list[str]:
    """All addresses of a name."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(each[4][0]) for each in found]


def connected(address: str, port: int, seconds: float) -> socket.socket:
    """A connection to an address that was checked."""
    return socket.create_connection((address, port), timeout=seconds)


class Fetcher:
    """Fetches files from public addresses."""

    def __init__(
        self,
        *,
        most_bytes: int,
        ports: frozenset[int] = PORTS,
        resolve: Callable[[str, int], Sequence[str]] = looked_up,
        connect: Callable[[str, int, float], socket.socket] = connected,
    ) -> None:
        """Nothing is fetched yet.

        Args:
            most_bytes: A larger file is refused.
            ports: Other ones are not asked.
            resolve: Gives the addresses of a name.
            connect: Connects to one of them.
        """
        self._most_bytes = most_bytes
        self._ports = ports
        self._resolve = resolve
        self._connect = connect

    def fetch(self, url: str) -> Fetched:
        """The file at an address.

        Raises:
            Problem: 422 if the address may not be asked, or what it gives is no file; 502 if it
                cannot be reached.
        """
        end = time.monotonic() + SECONDS
        for _ in range(MOST_REDIRECTS + 1):
            parts = _checked(url, self._ports)
            try:
                reply, connection = self._asked(parts, end)
                with connection:
                    if reply.status in {301, 302, 303, 307, 308}:
                        url = urljoin(url, reply.getheader("location", ""))
                        continue
                    return self._read(parts, reply, end)
            except (OSError, http.client.HTTPException) as error:
                raise _unreachable(parts, type(error).__name__) from None
        raise _refused(f"more than {MOST_REDIRECTS} redirections")

    def _asked(
        self, parts: SplitResult, end: float
    ) -> tuple[http.client.HTTPResponse, socket.socket]:
        host, port = str(parts.hostname), _port(parts)
        given = self._resolve(host, port)
        if not given or not all(is_public(each) for each in given):
            raise _refused("it stands for an address that is not public")
        raw = self._connect(given[0], port, max(0.1, end - time.monotonic()))
        with ExitStack() as opened:
            opened.push(raw)
            if parts.scheme == "https":
                raw = opened.enter_context(
                    ssl.create_default_context().wrap_socket(raw, server_hostname=host)
                )
            connection = http.client.HTTPConnection(host, port)
            connection.sock = raw
            path = parts.path or "/"
            target = f"{path}?{parts.query}" if parts.query else path
            connection.request("GET", target, headers={"Host": parts.netloc, "Accept": "*/*"})
            reply = connection.getresponse()
            opened.pop_all()
        return reply, raw

    def _read(self, parts: SplitResult, reply: http.client.HTTPResponse, end: float) -> Fetched:
        if reply.status != 200:
            raise _unreachable(parts, f"status {reply.status}")
        content = bytearray()
        while piece := reply.read(PIECE):
            content += piece
            if len(content) > self._most_bytes:
                raise _refused(f"it holds more than {self._most_bytes >> 20} MB")
            if time.monotonic() > end:  # a drop now and then is within each wait, but not in all
                raise _unreachable(parts, f"took longer than {SECONDS:g} s")
        name = unquote(PurePosixPath(parts.path).name) or str(parts.hostname)
        kind = reply.getheader("content-type", "").partition(";")[0].strip().lower()
        if not PurePosixPath(parts.path).suffix:
            name += _ENDINGS.get(kind, ".txt")
        return Fetched(name=name, content=bytes(content))


def is_public(address: str) -> bool:
    """Whether an address belongs to anybody on the internet, and hides none that does not."""
    try:
        found: Address = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return all(
        each.is_global and not (each.is_multicast or each.is_reserved or each.is_unspecified)
        for each in (found, *_hidden(found))
    )


def _hidden(address: Address) -> list[Address]:
    """The addresses that stand inside another one."""
    if isinstance(address, ipaddress.IPv4Address):
        return []
    inside: list[Address | None] = [address.ipv4_mapped, address.sixtofour]
    inside += [*(address.teredo or ())]
    if address in _NAT64:
        inside.append(ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF))
    return [each for each in inside if each is not None]


def _checked(url: str, ports: frozenset[int]) -> SplitResult:
    is_plain = url.isascii() and url.isprintable() and " " not in url and "\\" not in url
    if not is_plain or len(url) > MOST_URL_CHARS:
        raise _refused("it is no plain address")
    try:
        parts = urlsplit(url)
        port = _port(parts)
    except ValueError:
        raise _refused("it is no address") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise _refused("only http and https are fetched")
    if parts.username is not None or parts.password is not None:
        raise _refused("it holds a name or a password")
    if port not in ports:
        raise _refused(f"port {port} is not asked")
    return parts


def _port(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)


def _refused(why: str) -> Problem:
    return Problem(422, "url_refused", f"the address is not fetched: {why}")


def _unreachable(parts: SplitResult, why: str) -> Problem:
    told = f"{parts.hostname} gives no file: {why}"
    return Problem(502, "url_unreachable", told, next="see whether the address is right")
