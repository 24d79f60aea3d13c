"""The socket at which a server accepts connections, and the common options of servers."""

import socket
from collections.abc import Mapping
from typing import Any

from fathom.errors import UsageError

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
UVICORN_OPTIONS: Mapping[str, Any] = {
    "log_level": "warning",
    "access_log": False,
    "server_header": False,
    "timeout_graceful_shutdown": 5,  # seconds for open requests and streams
}


def format_address(host: str, listener: socket.socket) -> str:
    """Return the URL of a server, without a path."""
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{listener.getsockname()[1]}"


def listen(host: str, port: int, *, backlog: int | None = None) -> socket.socket:
    """Listen at an address; at an IPv6 address also for IPv4, if the machine can.

    Accepted connections send each write at once (`TCP_NODELAY`).

    Args:
        host: A name or an address.
        port: The port; 0 takes any free one.
        backlog: The number of connections that the kernel queues until they are accepted.

    Raises:
        UsageError: If the address cannot be listened at.
    """
    is_six = ":" in host
    family = socket.AF_INET6 if is_six else socket.AF_INET
    serves_both = is_six and socket.has_dualstack_ipv6()
    try:
        listener = socket.create_server(
            (host, port), family=family, backlog=backlog, dualstack_ipv6=serves_both
        )
    except OSError as error:
        # The rest of the message would repeat the address.
        reason, _, _ = (error.strerror or str(error)).partition(" (while")
        raise UsageError(
            f"cannot listen at {host}:{port}: {reason}; choose another with --host and --port"
        ) from None
    # Connections inherit this option. asyncio sets it only for sockets that name their protocol,
    # which this one does not. Without it a kept connection waits 40 ms for the rest of each reply.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
