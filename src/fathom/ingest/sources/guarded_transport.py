"""A transport by which a WebDAV client connects only to addresses that were checked."""

import httpx
from typing_extensions import override

from fathom.ingest.sources.fetch import AddressGuard, find_proxy


class GuardedTransport(httpx.HTTPTransport):
    """A transport that looks up and checks the address of the host for each request.

    The library gets the checked address in place of the host, because a second lookup could give
    another address (DNS rebinding). The header and the check of the certificate keep the host.
    """

    def __init__(self, guard: AddressGuard) -> None:
        """Create the transport; no connection is opened yet."""
        super().__init__()
        self._guard = guard

    @override
    def handle_request(self, request: httpx.Request) -> httpx.Response:
        host = request.url.raw_host.decode("ascii").strip("[]")
        address = self._guard.resolve(host, get_port(request.url))[0]
        checked = httpx.Request(
            request.method,
            request.url.copy_with(host=address),
            headers=request.headers,
            stream=request.stream,
            extensions={**request.extensions, "sni_hostname": host},
        )
        return super().handle_request(checked)


def get_port(url: httpx.URL) -> int:
    """Return the port of a URL; that of its scheme if the URL names none."""
    return url.port or (443 if url.scheme == "https" else 80)


def open_transport(url: httpx.URL, guard: AddressGuard) -> httpx.BaseTransport:
    """Return the transport to a server.

    If the environment names a proxy for the server, the transport goes through it without a guard:
    the operator chose the proxy, and the proxy looks the host up.
    """
    proxy = find_proxy(url.scheme, url.host)
    return httpx.HTTPTransport(proxy=proxy) if proxy else GuardedTransport(guard)
