"""A resolver by which an S3 client connects only to addresses that were checked.

The client follows redirections, so each new host is checked too.
"""

import asyncio
import os
import socket
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from aiohttp.abc import AbstractResolver, ResolveResult
from typing_extensions import override

from fathom.ingest.sources.fetch import AddressGuard, WayOut, get_port


class GuardedResolver(AbstractResolver):
    """A resolver that returns only addresses that may be reached, and opens sockets only for them.

    The sockets are checked as well, because a host that is an IP address is never looked up.
    """

    def __init__(self, guard: AddressGuard) -> None:
        """Create the resolver; nothing is looked up yet, and the guard checks each address."""
        self._guard = guard
        self._checked: set[tuple[str, int]] = set()

    @override
    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        loop = asyncio.get_running_loop()
        addresses = await loop.run_in_executor(None, self._guard.resolve, host, port)
        self._checked.update((address, port) for address in addresses)
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in addresses
        ]

    def open_socket(self, target: Any) -> socket.socket:  # noqa: ANN401 - an entry of `getaddrinfo`
        """Return a socket for an address, after checking one that this resolver did not return.

        Args:
            target: The address, as an entry of the list that `socket.getaddrinfo` returns.

        Raises:
            AddressRefusal: If the address may not be reached.
        """
        family, kind, protocol, _, place = target
        if place[:2] not in self._checked:
            self._guard.resolve(*place[:2])
        return socket.socket(family, kind, protocol)

    @override
    async def close(self) -> None:
        """Do nothing: no connection is held."""


def guard_bucket(bucket: str, network: WayOut) -> AddressGuard:
    """Return the guard that checks the addresses for the client of a bucket.

    Hosts that the operator configured may be private: the endpoint, also with the name of the
    bucket before it, and the proxies of the environment.
    """
    endpoint = find_endpoint()
    urls = (endpoint, endpoint.replace("://", f"://{bucket}."), *getproxies().values())
    return AddressGuard(named=frozenset(_list_hosts(urls)), network=network)


def _list_hosts(urls: Iterable[str]) -> Iterable[tuple[str, int]]:
    """Yield the hosts and ports of URLs, which may lack a scheme; URLs without a host give none."""
    for url in urls:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.hostname:
            yield parts.hostname, get_port(parts)


def find_endpoint() -> str:
    """Return the URL of the S3 server in the environment or the AWS profile; empty for Amazon's."""
    import botocore.session

    session = botocore.session.get_session()
    profile = session.get_scoped_config()
    services = session.full_config.get("services", {}).get(profile.get("services"), {})
    candidates = (
        os.environ.get("AWS_ENDPOINT_URL_S3"),
        os.environ.get("AWS_ENDPOINT_URL"),
        services.get("s3", {}).get("endpoint_url"),
        profile.get("endpoint_url"),
    )
    return next(filter(None, candidates), "")
