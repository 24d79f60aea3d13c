"""Fetching from addresses of the web, never from an inner network that nobody named.

Whoever can make a machine fetch an address can ask in its name for whatever it alone reaches: this
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
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import IO, Any
from urllib.parse import SplitResult, urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

from typing_extensions import override

PORTS = frozenset({80, 443})
MOST_REDIRECTS = 3
MOST_URL_CHARS = 2_000
SECONDS = 30.0
"""The time for one fetch, with all its redirections."""
PIECE = 1 << 16
"""The bytes of one read."""
_UNICAST = ipaddress.ip_network("2000::/3")
"""All IPv6 addresses that are given out for the Internet."""
_DOCUMENTATION = ipaddress.ip_network("3fff::/20")
"""Addresses for examples (RFC 9637), which Python does not exclude yet."""
_REDIRECTIONS = frozenset({301, 302, 303, 307, 308})
IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


PRIVATE_HINT = "; a server of one's own network needs --allow-private"


class AddressRefusal(Exception):
    """An address that is not fetched; says why."""


class ContentRefusal(AddressRefusal):
    """An address whose content is not read; says why."""


class FetchFailure(Exception):
    """An address from which nothing comes; says why, without the address."""

    def __init__(self, host: str, reason: str) -> None:
        super().__init__(reason)
        self.host, self.reason = host, reason


@dataclass(frozen=True, slots=True, kw_only=True)
class WebReply:
    """The head of a reply.

    Attributes:
        url: The address that replied, after all redirections.
        headers: The headers, by their names in small letters.
    """

    url: str
    status: int
    headers: Mapping[str, str]

    @property
    def media_type(self) -> str:
        """The media type of the content, in small letters; empty if there is none."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


def resolve_host(host: str, port: int) -> list[str]:
    """Return all addresses of a host."""
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in entries]


def open_connection(address: str, port: int, seconds: float) -> socket.socket:
    """Open a connection to an address that was checked."""
    return socket.create_connection((address, port), timeout=seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class WayOut:
    """The ways out of this machine.

    Attributes:
        resolve: Returns the addresses of a host.
        connect: Connects to one of them.
    """

    resolve: Callable[[str, int], Sequence[str]] = resolve_host
    connect: Callable[[str, int, float], socket.socket] = open_connection


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


class GuardedFetcher:
    """A fetcher of files from public addresses, and from one private host if it was named."""

    def __init__(
        self,
        *,
        most_bytes: int,
        ports: frozenset[int] = PORTS,
        network: WayOut | None = None,
        seconds: float = SECONDS,
        private_host: str = "",
    ) -> None:
        """Create the fetcher. Nothing is fetched yet.

        Args:
            most_bytes: The size above which a file is refused.
            ports: The allowed ports.
            network: The ways out of this machine.
            seconds: The time for one fetch, however its bytes are spread over it.
            private_host: The only host whose addresses need not be public.
        """
        self._seconds = seconds
        self._most_bytes = most_bytes
        self._ports = ports
        self._network = network or WayOut()
        self._private_host = private_host

    def fetch(
        self,
        url: str,
        target: IO[bytes],
        *,
        headers: Mapping[str, str] | None = None,
        is_allowed: Callable[[str], bool] = lambda _url: True,
        is_wanted: Callable[[WebReply], bool] = lambda _reply: True,
    ) -> WebReply:
        """Fetch the file at an address.

        Args:
            url: The address.
            target: Takes the content of a reply with status 200.
            headers: Further headers of the request.
            is_allowed: Returns whether an address to which another one redirects may be asked.
            is_wanted: Returns whether the content of a reply is to be read.

        Raises:
            AddressRefusal: If the address is not allowed.
            ContentRefusal: If it gives too large a file, or a compressed one.
            FetchFailure: If it cannot be reached.
        """
        end = time.monotonic() + self._seconds
        for _ in range(MOST_REDIRECTS + 1):
            parts = parse_url(url, self._ports)
            host = str(parts.hostname)
            try:
                response, connection = self._send_request(parts, headers or {}, end)
                with connection:
                    if response.status not in _REDIRECTIONS:
                        reply = _read_head(url, response)
                        if response.status == 200 and is_wanted(reply):
                            self._read_content(response, target)
                        return reply
                    url = urljoin(url, response.getheader("location", ""))
            except TimeoutError:
                raise FetchFailure(host, f"took longer than {self._seconds:g} s") from None
            # A host that no name can have is a UnicodeError.
            except (OSError, UnicodeError, http.client.HTTPException) as error:
                raise FetchFailure(host, type(error).__name__) from None
            if not is_allowed(url):
                raise AddressRefusal("it is redirected to an address outside")
        raise AddressRefusal(f"more than {MOST_REDIRECTS} redirections")

    def _send_request(
        self, parts: SplitResult, headers: Mapping[str, str], end: float
    ) -> tuple[http.client.HTTPResponse, socket.socket]:
        host, port = str(parts.hostname), get_port(parts)
        raw = connect_guarded(host, port, end, self._network, private_host=self._private_host)
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
            fixed = {"Host": parts.netloc, "Accept": "*/*"}
            connection.request("GET", target, headers={**fixed, **headers})
            reply = connection.getresponse()
            # The socket outlives this block only if the request went well.
            stack.pop_all()
        return reply, raw

    def _read_content(self, response: http.client.HTTPResponse, target: IO[bytes]) -> None:
        # None was asked for; a small compressed reply can hold more than any disk.
        if response.getheader("content-encoding", "identity").lower() != "identity":
            raise ContentRefusal("its content is compressed although nobody asked for that")
        read = 0
        while piece := response.read(PIECE):
            read += len(piece)
            if read > self._most_bytes:
                raise ContentRefusal(f"it holds more than {self._most_bytes >> 20} MB")
            target.write(piece)
        if response.length:  # the library takes a reply that breaks off for a whole one
            raise http.client.IncompleteRead(b"", response.length)


def connect_guarded(
    host: str, port: int, end: float, network: WayOut, *, private_host: str = ""
) -> socket.socket:
    """Connect to a host all of whose addresses may be reached.

    The connection goes to a checked address, not to the host: a second lookup could give another
    one (DNS rebinding).

    Args:
        host: The host.
        port: Its port.
        end: The instant of the monotonic clock at which the attempt ends.
        network: The ways out of this machine.
        private_host: The only host whose addresses need not be public.

    Raises:
        AddressRefusal: If one of its addresses may not.
        OSError: If it cannot be reached.
    """
    is_named = bool(private_host) and host == private_host
    addresses = network.resolve(host, port)
    if not _may_be_reached(addresses, is_named=is_named):
        raise AddressRefusal("its host has an address that is not public")
    return network.connect(addresses[0], port, max(0.1, end - time.monotonic()))


def _may_be_reached(addresses: Sequence[str], *, is_named: bool) -> bool:
    """Return whether all addresses of a host may be reached; those of a named one may always."""
    return bool(addresses) and (is_named or all(map(is_public, addresses)))


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressGuard:
    """The choice of the addresses to which the client of a source connects.

    Attributes:
        named: The hosts, with their ports, whose addresses need not be public.
        network: The ways out of this machine.
        hint: The next step after a refusal.
    """

    named: frozenset[tuple[str, int]] = frozenset()
    network: WayOut = field(default_factory=WayOut)
    hint: str = ""

    def resolve(self, host: str, port: int) -> Sequence[str]:
        """Return the addresses of a host, all of which may be reached.

        Raises:
            AddressRefusal: If one of them may not; names the host.
            OSError: If the host has none.
        """
        addresses = self.network.resolve(host, port)
        if not _may_be_reached(addresses, is_named=(host, port) in self.named):
            raise AddressRefusal(f"{host} has an address that is not public{self.hint}")
        return addresses

    def connect(self, host: str, port: int, seconds: float) -> socket.socket:
        """Connect to a host all of whose addresses may be reached.

        Raises:
            AddressRefusal: If one of them may not.
            OSError: If it cannot be reached.
        """
        return self.network.connect(self.resolve(host, port)[0], port, seconds)


def guard_host(host: str, port: int, network: WayOut | None, *, is_named: bool) -> AddressGuard:
    """Return the guard of a client that asks one server.

    Args:
        host: The host.
        port: Its port.
        network: The ways out of this machine; by default those of the system.
        is_named: Whether its addresses need not be public.
    """
    named = frozenset({(host, port)} if is_named else ())
    return AddressGuard(named=named, network=network or WayOut(), hint=PRIVATE_HINT)


def _read_head(url: str, response: http.client.HTTPResponse) -> WebReply:
    headers = {name.lower(): value for name, value in response.getheaders()}
    return WebReply(url=url, status=response.status, headers=headers)


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


def parse_url(url: str, ports: frozenset[int]) -> SplitResult:
    """Return the parts of an address that may be fetched.

    Raises:
        AddressRefusal: If it may not.
    """
    # Parsers disagree on backslashes, blanks and other scripts; one could be checked as one host
    # and connected to as another.
    is_plain = url.isascii() and url.isprintable() and " " not in url and "\\" not in url
    if not is_plain or len(url) > MOST_URL_CHARS:
        raise AddressRefusal("it is not a plain ASCII address")
    try:
        parts = urlsplit(url)
        port = get_port(parts)
    except ValueError:
        raise AddressRefusal("it is not a valid address") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise AddressRefusal("only http and https are fetched")
    if parts.username is not None or parts.password is not None:
        raise AddressRefusal("it contains a user name or a password")
    if port not in ports:
        raise AddressRefusal(f"port {port} is not allowed")
    return parts


def find_proxy(scheme: str, host: str) -> str:
    """Return the address of the proxy that the environment names for a host; empty for none."""
    proxies = getproxies()
    proxy = "" if proxy_bypass(host) else proxies.get(scheme) or proxies.get("all", "")
    return f"http://{proxy}" if proxy and "://" not in proxy else proxy


def get_port(parts: SplitResult) -> int:
    """Return the port of an address.

    Raises:
        ValueError: If it is no number of a port.
    """
    return parts.port or (443 if parts.scheme == "https" else 80)
