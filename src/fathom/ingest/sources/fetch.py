"""Fetching from web addresses, and never from a private network unless its host was named.

An attacker who chooses an address could make this machine ask hosts that only it can reach: itself,
its network, the metadata service of a cloud. So a host is looked up once, all its addresses must be
public, the connection goes to one of these addresses, and each redirection is checked in the same
way.
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
"""The ports that may be asked by default."""
MOST_REDIRECTS = 3
"""The largest number of redirections of one fetch."""
MOST_URL_CHARS = 2_000
"""The largest length of an address in characters."""
SECONDS = 30.0
"""The longest time in seconds for one fetch with all its redirections."""
PIECE = 1 << 16
"""The number of bytes that one read asks for."""
_UNICAST = ipaddress.ip_network("2000::/3")
"""The IPv6 addresses that are assigned to hosts in the Internet."""
_DOCUMENTATION = ipaddress.ip_network("3fff::/20")
"""Addresses for examples (RFC 9637), which Python does not exclude yet."""
_REDIRECTIONS = frozenset({301, 302, 303, 307, 308})
IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


PRIVATE_HINT = "; a server of one's own network needs --allow-private"


class AddressRefusal(Exception):
    """The refusal to fetch an address; its text is the reason."""


class ContentRefusal(AddressRefusal):
    """The refusal to read the content of an address; its text is the reason."""


class FetchFailure(Exception):
    """The failure of a fetch.

    Attributes:
        host: The host that gave no reply.
        reason: The reason, without the address.
    """

    def __init__(self, host: str, reason: str) -> None:
        super().__init__(reason)
        self.host, self.reason = host, reason


@dataclass(frozen=True, slots=True, kw_only=True)
class WebReply:
    """The head of a reply.

    Attributes:
        url: The address that replied, after all redirections.
        status: The HTTP status.
        headers: The headers, by their names in small letters.
    """

    url: str
    status: int
    headers: Mapping[str, str]

    @property
    def media_type(self) -> str:
        """The media type of the content in small letters; empty if the reply names none."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


def resolve_host(host: str, port: int) -> list[str]:
    """Return all IP addresses of a host.

    Raises:
        OSError: If the host cannot be looked up.
    """
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in entries]


def open_connection(address: str, port: int, seconds: float) -> socket.socket:
    """Open a connection to an IP address, which the caller has checked.

    Raises:
        OSError: If the address does not answer within the time in seconds.
    """
    return socket.create_connection((address, port), timeout=seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class WayOut:
    """The functions that look up hosts and connect to them; tests put others in their place.

    Attributes:
        resolve: The function that returns the IP addresses of a host and a port.
        connect: The function that connects to an address and a port within a time in seconds.
    """

    resolve: Callable[[str, int], Sequence[str]] = resolve_host
    connect: Callable[[str, int, float], socket.socket] = open_connection


class _TimedConnection(io.RawIOBase):
    """A connection for `http.client` with one deadline for all reads and writes.

    The timeout of a socket alone starts anew with each byte that comes.
    """

    def __init__(self, connection: socket.socket, end: float) -> None:
        """Use an open connection; `end` is the deadline on the monotonic clock."""
        self._connection, self._end = connection, end

    def makefile(self, _: str) -> io.BufferedReader:
        """Return a reader of the reply."""
        # Not this object itself: `http.client` closes it before the reply is read.
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
    """Set the timeout of a connection so that its next wait ends at a deadline.

    Args:
        connection: The connection.
        end: The deadline on the monotonic clock.

    Raises:
        TimeoutError: If the deadline has passed.
    """
    seconds = end - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    connection.settimeout(seconds)


class GuardedFetcher:
    """A fetcher of files from public addresses and from at most one host that may be private."""

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
            most_bytes: The largest size of a file in bytes.
            ports: The ports that may be asked.
            network: The functions that look up hosts and connect; by default those of the system.
            seconds: The longest time for one fetch with all its redirections.
            private_host: The only host that may have private addresses; empty for none.
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
            target: The file to which the content of a reply with status 200 is written.
            headers: Further headers of the request.
            is_allowed: A function that tells whether a redirection to an address is followed.
            is_wanted: A function that tells from the head of a reply with status 200 whether its
                content is read.

        Returns:
            The head of the last reply, whatever its status.

        Raises:
            AddressRefusal: If the address, or one to which it redirects, may not be asked.
            ContentRefusal: If the content is too large or compressed; `target` then may hold a part
                of it.
            FetchFailure: If the address cannot be reached, or the reply breaks off or takes too
                long.
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
            # `UnicodeError` comes from a host that is no valid name.
            except (OSError, UnicodeError, http.client.HTTPException) as error:
                raise FetchFailure(host, type(error).__name__) from None
            if not is_allowed(url):
                raise AddressRefusal("it is redirected to an address outside")
        raise AddressRefusal(f"more than {MOST_REDIRECTS} redirections")

    def _send_request(
        self, parts: SplitResult, headers: Mapping[str, str], end: float
    ) -> tuple[http.client.HTTPResponse, socket.socket]:
        """Send a request to a checked address; return the reply and its open socket.

        The caller closes the socket after it has read the content.
        """
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
            # After an error the socket is closed; otherwise the caller gets it open.
            stack.pop_all()
        return reply, raw

    def _read_content(self, response: http.client.HTTPResponse, target: IO[bytes]) -> None:
        """Write the content of a reply to a file.

        Raises:
            ContentRefusal: If it is compressed or too large.
            http.client.IncompleteRead: If it breaks off.
        """
        # Compression was not asked for, and a small compressed reply can unpack to fill any disk.
        if response.getheader("content-encoding", "identity").lower() != "identity":
            raise ContentRefusal("its content is compressed although nobody asked for that")
        read = 0
        while piece := response.read(PIECE):
            read += len(piece)
            if read > self._most_bytes:
                raise ContentRefusal(f"it holds more than {self._most_bytes >> 20} MB")
            target.write(piece)
        if response.length:  # the library reports no error if a reply breaks off
            raise http.client.IncompleteRead(b"", response.length)


def connect_guarded(
    host: str, port: int, end: float, network: WayOut, *, private_host: str = ""
) -> socket.socket:
    """Connect to a host if all its addresses may be reached.

    The connection goes to a checked address, not to the host: a second lookup could give another
    address (DNS rebinding).

    Args:
        host: The host.
        port: Its port.
        end: The deadline on the monotonic clock.
        network: The functions that look up hosts and connect to them.
        private_host: The only host that may have private addresses; empty for none.

    Raises:
        AddressRefusal: If one of the addresses is private, or there is none.
        OSError: If the host cannot be reached.
    """
    is_named = bool(private_host) and host == private_host
    addresses = network.resolve(host, port)
    if not _may_be_reached(addresses, is_named=is_named):
        raise AddressRefusal("its host has an address that is not public")
    return network.connect(addresses[0], port, max(0.1, end - time.monotonic()))


def _may_be_reached(addresses: Sequence[str], *, is_named: bool) -> bool:
    """Return whether a host may be reached: all its addresses are public, or it was named."""
    return bool(addresses) and (is_named or all(map(is_public, addresses)))


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressGuard:
    """A check of the addresses to which the client of a source connects.

    Attributes:
        named: The hosts with their ports that may have private addresses.
        network: The functions that look up hosts and connect to them.
        hint: What a user can do after a refusal, for the end of its message.
    """

    named: frozenset[tuple[str, int]] = frozenset()
    network: WayOut = field(default_factory=WayOut)
    hint: str = ""

    def resolve(self, host: str, port: int) -> Sequence[str]:
        """Return the addresses of a host if all of them may be reached.

        Raises:
            AddressRefusal: If one of them may not; the message names the host.
            OSError: If the host cannot be looked up.
        """
        addresses = self.network.resolve(host, port)
        if not _may_be_reached(addresses, is_named=(host, port) in self.named):
            raise AddressRefusal(f"{host} has an address that is not public{self.hint}")
        return addresses

    def connect(self, host: str, port: int, seconds: float) -> socket.socket:
        """Connect to a host, within a time in seconds, if all its addresses may be reached.

        Raises:
            AddressRefusal: If one of the addresses may not be reached.
            OSError: If the host cannot be reached.
        """
        return self.network.connect(self.resolve(host, port)[0], port, seconds)


def guard_host(host: str, port: int, network: WayOut | None, *, is_named: bool) -> AddressGuard:
    """Return the guard of a client that asks one server.

    Args:
        host: The host.
        port: Its port.
        network: The functions that look up hosts and connect; by default those of the system.
        is_named: Whether the host may have private addresses.
    """
    named = frozenset({(host, port)} if is_named else ())
    return AddressGuard(named=named, network=network or WayOut(), hint=PRIVATE_HINT)


def _read_head(url: str, response: http.client.HTTPResponse) -> WebReply:
    """Return the head of a reply that came from an address."""
    headers = {name.lower(): value for name, value in response.getheaders()}
    return WebReply(url=url, status=response.status, headers=headers)


def is_public(address: str) -> bool:
    """Return whether an IP address is public, and also the IPv4 addresses that it may contain."""
    try:
        parsed: IPAddress = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return all(map(_is_global, (parsed, *_extract_inner_addresses(parsed))))


def _is_global(address: IPAddress) -> bool:
    """Return whether a parsed address belongs to a single host in the Internet."""
    if isinstance(address, ipaddress.IPv6Address) and (
        address not in _UNICAST or address in _DOCUMENTATION
    ):
        return False
    return address.is_global and not (
        address.is_multicast or address.is_reserved or address.is_unspecified
    )


def _extract_inner_addresses(address: IPAddress) -> list[IPAddress]:
    """Return the IPv4 addresses in a 6to4 or Teredo address, to which a gateway would forward."""
    if isinstance(address, ipaddress.IPv4Address):
        return []
    candidates = (address.sixtofour, *(address.teredo or ()))
    return [candidate for candidate in candidates if candidate is not None]


def parse_url(url: str, ports: frozenset[int]) -> SplitResult:
    """Return the parts of a web address that may be fetched as far as its text tells.

    Raises:
        AddressRefusal: If it is malformed, has a user name or password, or another port or scheme.
    """
    # Parsers disagree on backslashes, blanks and letters beyond ASCII: the host that is checked and
    # the host that is connected to could be two.
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
    """Return the URL of the proxy that the environment names for a host; empty if it names none."""
    proxies = getproxies()
    proxy = "" if proxy_bypass(host) else proxies.get(scheme) or proxies.get("all", "")
    return f"http://{proxy}" if proxy and "://" not in proxy else proxy


def get_port(parts: SplitResult) -> int:
    """Return the port of an address; that of its scheme if it names none.

    Raises:
        ValueError: If it is no number from 0 to 65535.
    """
    return parts.port or (443 if parts.scheme == "https" else 80)
