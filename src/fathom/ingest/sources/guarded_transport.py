"""The way of a WebDAV client to its server, which leads to checked addresses only."""

import httpx
from typing_extensions import override

from fathom.ingest.sources.fetch import AddressGuard, find_proxy


class GuardedTransport(httpx.HTTPTransport):
    """A transport that connects to an address which was checked for this request.

    A second lookup by the library could give another address (DNS rebinding), so the library gets
    the address in place of the host. The host stays in the header and in the check of the
    certificate.
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
    """Return the port of an address."""
    return url.port or (443 if url.scheme == "https" else 80)


def open_transport(url: httpx.URL, guard: AddressGuard) -> httpx.BaseTransport:
    """Return the transport to a server: through the proxy of the environment if there is one.

    The operator named the proxy, and it alone looks the host up.
    """
    proxy = find_proxy(url.scheme, url.host)
    return httpx.HTTPTransport(proxy=proxy) if proxy else GuardedTransport(guard)
